/**
 * How values are spread over sizes, and how a whole falls into parts. Bars and swatches keep their
 * colours where the system chooses all others, or they would not be seen.
 */

import { classes } from "../ui/classes.ts";
import type { Distribution } from "./api.ts";
import { count } from "./numbers.ts";

interface SpreadProps {
  readonly title: string;
  readonly of: Distribution;
  readonly format: (bound: number) => string;
}

/** One bar for each bucket between the first and the last that has anything. */
export function Spread({ title, of: { bounds, counts }, format }: SpreadProps) {
  const most = Math.max(1, ...counts);
  const total = counts.reduce((sum, one) => sum + one, 0);
  const first = counts.findIndex((one) => one > 0);
  const last = counts.findLastIndex((one) => one > 0);
  const shown = counts.map((_, i) => i).filter((i) => first >= 0 && i >= first && i <= last);
  const name = (i: number) =>
    i < bounds.length ? `up to ${format(bounds[i]!)}` : `over ${format(bounds.at(-1)!)}`;
  return (
    <figure>
      <figcaption className="mb-2">
        <span className="font-medium">{title}</span>
        <span className="block text-faint text-sm">
          {total === 0
            ? "None yet."
            : `Half ${name(reach(counts, total / 2))}, 99 of 100 ${name(reach(counts, total * 0.99))}.`}
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

/** The bucket in which so many are reached. */
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

export interface Share {
  readonly name: string;
  readonly value: number;
  readonly look: keyof typeof PARTS;
}

/** A bar of parts, and what each of them is. */
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
          .map(({ name, value, look }) => (
            <span
              key={name}
              className={classes("min-w-0.5", PARTS[look])}
              style={{ flexGrow: value }}
            />
          ))}
      </div>
      <ul className="mt-2.5 flex flex-wrap gap-x-4 gap-y-1 text-sm">
        {parts.map(({ name, value, look }) => (
          <li key={name} className="inline-flex items-center gap-1.5 tabular-nums">
            <span
              aria-hidden
              className={classes("size-2.5 forced-color-adjust-none rounded-full", PARTS[look])}
            />
            <span className="text-soft">{name}</span>
            <span className="font-medium">{count(value)}</span>
          </li>
        ))}
      </ul>
    </figure>
  );
}
