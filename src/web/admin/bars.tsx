/**
 * Histograms, and bars of shares. Bars and swatches keep their colours in forced-colors mode, where
 * they would otherwise be invisible.
 */

import { classes } from "../ui/classes.ts";
import type { Distribution } from "./api.ts";
import { count } from "./numbers.ts";

interface SpreadProps {
  readonly title: string;
  readonly of: Distribution;
  readonly format: (bound: number) => string;
}

/** A histogram: one bar for each bucket between the first and the last that are not empty. */
export function Spread({ title, of: { bounds, counts }, format }: SpreadProps) {
  const most = Math.max(1, ...counts);
  const total = counts.reduce((sum, one) => sum + one, 0);
  const first = counts.findIndex((one) => one > 0);
  const last = counts.findLastIndex((one) => one > 0);
  const shown = counts.map((_, i) => i).filter((i) => first >= 0 && i >= first && i <= last);
  const name = (i: number) =>
    i < bounds.length ? `≤ ${format(bounds[i]!)}` : `> ${format(bounds.at(-1)!)}`;
  return (
    <figure>
      <figcaption className="mb-2">
        <span className="font-medium">{title}</span>
        <span className="block text-faint text-sm">
          {total === 0
            ? "No data yet"
            : `p50 ${name(reach(counts, total / 2))}, p99 ${name(reach(counts, total * 0.99))}`}
        </span>
      </figcaption>
      <ul className="space-y-1">
        {shown.map((i) => (
          <li
            key={name(i)}
            className="grid grid-cols-[6.5rem_minmax(0,1fr)_4rem] items-center gap-3 text-sm tabular-nums"
          >
            <span className="text-soft">{name(i)}</span>
            <span
              aria-hidden
              className="h-2.5 forced-color-adjust-none overflow-hidden rounded-full bg-sunken"
            >
              <span
                className="block h-full origin-left rounded-full bg-accent"
                style={{ transform: `scaleX(${counts[i]! / most})` }}
              />
            </span>
            <span className="text-right">{count(counts[i]!)}</span>
          </li>
        ))}
      </ul>
    </figure>
  );
}

/** Index of the bucket at which the cumulative count reaches `wanted`. */
function reach(counts: readonly number[], wanted: number): number {
  let below = 0;
  return counts.findIndex((one) => {
    below += one;
    return below >= wanted;
  });
}

const PARTS = {
  accent: "bg-accent",
  ok: "bg-ok",
  warn: "bg-warn",
  danger: "bg-danger",
  plain: "bg-edge",
} as const;

interface Share {
  readonly name: string;
  readonly value: number;
  readonly color: keyof typeof PARTS;
}

/** A bar divided into parts, with a legend. */
export function Shares({ title, parts }: { title: string; parts: readonly Share[] }) {
  const total = parts.reduce((sum, { value }) => sum + value, 0);
  return (
    <figure>
      <figcaption className="mb-2 flex items-baseline justify-between gap-3">
        <span className="font-medium">{title}</span>
        <span className="tabular-nums">{count(total)}</span>
      </figcaption>
      <div
        aria-hidden
        className="flex h-2.5 forced-color-adjust-none gap-0.5 overflow-hidden rounded-full bg-sunken"
      >
        {parts
          .filter(({ value }) => value > 0)
          .map(({ name, value, color }) => (
            <span
              key={name}
              className={classes("min-w-0.5", PARTS[color])}
              style={{ flexGrow: value }}
            />
          ))}
      </div>
      <ul className="mt-2.5 flex flex-wrap gap-x-4 gap-y-1 text-sm">
        {parts.map(({ name, value, color }) => (
          <li key={name} className="inline-flex items-center gap-1.5 tabular-nums">
            <span
              aria-hidden
              className={classes("size-2.5 forced-color-adjust-none rounded-full", PARTS[color])}
            />
            <span className="text-soft">{name}</span>
            <span className="font-medium">{count(value)}</span>
          </li>
        ))}
      </ul>
    </figure>
  );
}
