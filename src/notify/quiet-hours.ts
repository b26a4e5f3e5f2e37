/**
 * Whether it is quiet now, by the wall clock of the person's time zone (docs/interface.md 19.1.3).
 */

import type { QuietHours } from "../model/channel.ts";

/** Formats cached, at most: making one takes longer than everything else here. */
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
 * True from `from` to just before `to`, over midnight when `from` is the later one. Where the
 * clocks are set back the hour that comes twice counts twice, and one that is skipped not at all.
 * `now`: epoch seconds.
 */
export function isQuiet({ from, to, time_zone }: QuietHours, now: number): boolean {
  const time = formatOf(time_zone).format(now * 1000);
  return from < to ? from <= time && time < to : from <= time || time < to;
}
