/** Quiet hours, by the wall clock of the person's time zone (§19.1.3). */

import type { QuietHours } from "../model/channel.ts";

/** Formats that are cached: making one takes longer than everything else here. */
const KEPT = 100;
const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(time_zone: string): Intl.DateTimeFormat {
  const kept = formats.get(time_zone);
  if (kept) return kept;
  const options = { timeZone: time_zone, hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
  const format = new Intl.DateTimeFormat("en", options as Intl.DateTimeFormatOptions);
  if (formats.size >= KEPT) formats.delete(formats.keys().next().value!);
  formats.set(time_zone, format);
  return format;
}

/**
 * True from `from` to just before `to`, across midnight if `from` is later. An hour that the clocks
 * repeat counts twice, and one that they skip does not count. `now`: epoch seconds.
 */
export function isQuiet({ from, to, time_zone }: QuietHours, now: number): boolean {
  const time = formatOf(time_zone).format(now * 1000);
  return from < to ? from <= time && time < to : from <= time || time < to;
}
