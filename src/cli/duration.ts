/** Durations and numbers as people type them. */

import { InvalidArgumentError } from "commander";

const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600 };

/** Parses `90s`, `10m`, `1h` or seconds; from `min` to `max` seconds. */
export const duration =
  (min: number, max: number) =>
  (text: string): number => {
    const [, digits, unit = "s"] = /^(\d{1,6})([smh])?$/.exec(text) ?? [];
    const seconds = Number(digits) * UNITS[unit]!;
    if (seconds >= min && seconds <= max) return seconds;
    const most = max < 3_600 ? `${max / 60} min` : `${max / 3_600} h`;
    throw new InvalidArgumentError(`It must be ${min} s to ${most}, such as 90s or 10m.`);
  };

/** Parses a whole number from 0 to 100. */
export function percent(text: string): number {
  if (/^(\d{1,2}|100)$/.test(text)) return Number(text);
  throw new InvalidArgumentError("It must be a number from 0 to 100.");
}

/** Parses a whole number from 1 to 9,999. */
export function count(text: string): number {
  if (/^[1-9]\d{0,3}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("It must be a number from 1 to 9999.");
}
