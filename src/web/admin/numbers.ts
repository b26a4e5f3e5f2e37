/** Formats numbers, and makes the scales of axes. */

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const exact = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const rough = new Intl.NumberFormat("en", { maximumSignificantDigits: 2 });

/** `1,234`; from 100,000 on `123.4K`. */
export const count = (value: number): string =>
  value < 100_000 ? whole.format(value) : short.format(value);

/** `12.3 MB`, in powers of 1,000. */
export function bytes(value: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let at = 0;
  for (; value >= 1_000 && at < units.length - 1; at++) value /= 1_000;
  return `${exact.format(value)} ${units[at]}`;
}

/** `0.25 ms`, `1.5 s`, `2 min`, `3 h`, `4 d`. */
export function formatSeconds(seconds: number): string {
  if (seconds < 0.9995) return `${rough.format(seconds * 1_000)} ms`;
  if (seconds < 120) return `${rough.format(seconds)} s`;
  if (seconds < 7_200) return `${whole.format(seconds / 60)} min`;
  if (seconds < 172_800) return `${whole.format(seconds / 3_600)} h`;
  return `${whole.format(seconds / 86_400)} d`;
}

/** `0.4%`, `12%`. */
export const percent = (part: number): string =>
  `${(part < 1 ? rough : whole).format(part * 100)}%`;

/** `1 key`, `2 keys`. */
export const plural = (value: number, one: string, more = `${one}s`): string =>
  `${count(value)} ${value === 1 ? one : more}`;

/**
 * A scale: the position of a value as a share of the height, and the marks at top, middle and foot.
 */
export interface Scale {
  readonly at: (value: number) => number;
  readonly marks: readonly [top: number, half: number, foot: number];
}

/**
 * Linear scale from 0 to the next of 1, 2, 4 or 10 times a power of ten, so that the middle mark is
 * round too.
 */
export function evenScale(most: number, least: number): Scale {
  const wanted = Math.max(most, least);
  const power = 10 ** Math.floor(Math.log10(wanted));
  const top = power * [1, 2, 4, 10].find((step) => step * power >= wanted * (1 - 1e-9))!;
  return { at: (value) => value / top, marks: [top, top / 2, 0] };
}

/** Logarithmic scale from `foot` on, so that one long response does not hide the others. */
export function tenfoldScale(most: number, foot: number): Scale {
  const steps = Math.ceil(Math.log10(Math.max(most / foot, 10)) / 2 - 1e-9) * 2;
  return {
    at: (value) => Math.max(0, Math.log10(value / foot) / steps),
    marks: [foot * 10 ** steps, foot * 10 ** (steps / 2), foot],
  };
}
