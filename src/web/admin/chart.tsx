/** A time series chart in plain SVG; the pointer or the keyboard selects a minute. */

import { type PointerEvent, useState } from "react";
import { classes } from "../ui/classes.ts";
import { timeOf } from "../ui/time.ts";
import type { Scale } from "./numbers.ts";

/** Lines differ in stroke as well as in colour. */
const COLORS = {
  accent: { line: "stroke-accent", area: "fill-accent/15", swatch: "bg-accent", dash: undefined },
  warn: { line: "stroke-warn", area: "fill-warn/15", swatch: "bg-warn", dash: "5 3" },
  danger: { line: "stroke-danger", area: "fill-danger/15", swatch: "bg-danger", dash: "2 2" },
} as const;

interface Line {
  readonly name: string;
  readonly color: keyof typeof COLORS;
  /** One value for each time; null where there is none. */
  readonly values: readonly (number | null)[];
}

interface ChartProps {
  readonly title: string;
  readonly format: (value: number) => string;
  readonly times: readonly number[];
  readonly lines: readonly Line[];
  /** Makes the vertical axis for values up to `most`. */
  readonly scale: (most: number) => Scale;
  /** Fills the area below the first line. */
  readonly filled?: boolean;
  /** True: the last values are current, and labelled "now". */
  readonly live?: boolean;
}

/** Size of the SVG's view box; the drawing is stretched to fit. */
const WIDTH = 600;
const HEIGHT = 150;

export function Chart({ title, format, times, lines, scale, filled, live }: ChartProps) {
  const [chosen, setChosen] = useState<number | null>(null);
  const last = times.length - 1;
  const at = Math.min(chosen ?? last, last);
  const most = Math.max(0, ...lines.flatMap(({ values }) => values.map((v) => v ?? 0)));
  const { at: heightOf, marks } = scale(most);
  const x = (i: number) => (last > 0 ? (i / last) * WIDTH : WIDTH);
  const y = (value: number) => HEIGHT - heightOf(value) * HEIGHT;
  const follow = ({ clientX, currentTarget }: PointerEvent) => {
    const { left, width } = currentTarget.getBoundingClientRect();
    setChosen(Math.round(((clientX - left) / width) * last));
  };
  const said = lines
    .map(({ name, values }) => `${name} ${values[at] == null ? "no data" : format(values[at])}`)
    .join(", ");

  return (
    <figure>
      <figcaption className="mb-3 flex flex-wrap items-baseline gap-x-5 gap-y-1">
        <span className="font-semibold">{title}</span>
        <span className="text-faint text-sm tabular-nums">
          {chosen === null && live ? "now" : times.length > 0 && timeOf(times[at]!)}
        </span>
        <span className="flex flex-wrap gap-x-4 text-sm">
          {lines.map(({ name, color, values }) => (
            <span key={name} className="inline-flex items-center gap-1.5 tabular-nums">
              <span
                aria-hidden
                className={classes(
                  "size-2.5 forced-color-adjust-none rounded-full",
                  COLORS[color].swatch,
                )}
              />
              <span className="text-soft">{name}</span>
              <span className="font-medium">{values[at] == null ? "–" : format(values[at])}</span>
            </span>
          ))}
        </span>
      </figcaption>
      <div className="grid grid-cols-[3.75rem_minmax(0,1fr)] gap-x-2">
        <div aria-hidden className="relative text-right text-faint text-xs tabular-nums">
          {marks.map((mark, i) => (
            <span
              key={mark}
              className="absolute right-0 -translate-y-1/2"
              style={{ top: `${i * 50}%` }}
            >
              {format(mark)}
            </span>
          ))}
        </div>
        <div
          className="relative h-36 rounded-md has-focus-visible:outline-2 has-focus-visible:outline-accent has-focus-visible:outline-offset-4"
          onPointerMove={follow}
          onPointerDown={follow}
          onPointerLeave={() => setChosen(null)}
        >
          <svg
            aria-hidden
            viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
            preserveAspectRatio="none"
            className="absolute inset-0 size-full overflow-visible"
          >
            {[0, 0.5, 1].map((part) => (
              <path
                key={part}
                d={`M0 ${HEIGHT * part}H${WIDTH}`}
                className="stroke-line"
                vectorEffect="non-scaling-stroke"
              />
            ))}
            {filled && (
              <path d={area(lines[0]!.values, x, y)} className={COLORS[lines[0]!.color].area} />
            )}
            {lines.map(({ name, color, values }) => (
              <g
                key={name}
                className={classes("fill-none", COLORS[color].line)}
                strokeLinejoin="round"
                strokeLinecap="round"
              >
                <path
                  d={path(values, x, y)}
                  strokeWidth={1.75}
                  strokeDasharray={COLORS[color].dash}
                  vectorEffect="non-scaling-stroke"
                />
                <path d={dots(values, x, y)} strokeWidth={6} vectorEffect="non-scaling-stroke" />
              </g>
            ))}
            {chosen !== null && (
              <path
                d={`M${x(at)} 0V${HEIGHT}`}
                className="stroke-edge"
                vectorEffect="non-scaling-stroke"
              />
            )}
          </svg>
          <input
            type="range"
            min={0}
            max={Math.max(0, last)}
            value={at}
            onChange={({ target }) => setChosen(Number(target.value))}
            onBlur={() => setChosen(null)}
            aria-label={`${title} by minute`}
            aria-valuetext={times.length > 0 ? `${timeOf(times[at]!)}: ${said}` : "no data yet"}
            className="absolute inset-0 size-full cursor-crosshair opacity-0"
          />
        </div>
        <span />
        <div
          aria-hidden
          className="mt-1.5 grid grid-cols-3 text-faint text-xs tabular-nums *:last:text-right"
        >
          <span>{times.length > 1 && timeOf(times[0]!)}</span>
          <span className="text-center">{times.length > 2 && timeOf(times[last >> 1]!)}</span>
          <span>{times.length > 0 && timeOf(times[last]!)}</span>
        </div>
      </div>
    </figure>
  );
}

type Coordinate = (value: number) => number;

/** A line, interrupted where there is no value. */
function path(values: readonly (number | null)[], x: Coordinate, y: Coordinate): string {
  let drawing = false;
  return values
    .map((value, i) => {
      const step = value === null ? "" : `${drawing ? "L" : "M"}${pointOf(i, value, x, y)}`;
      drawing = value !== null;
      return step;
    })
    .join("");
}

/** Dots for values without a neighbour, which a line would not show. */
function dots(values: readonly (number | null)[], x: Coordinate, y: Coordinate): string {
  return values
    .map((value, i) =>
      value === null || (values[i - 1] ?? values[i + 1] ?? null) !== null
        ? ""
        : `M${pointOf(i, value, x, y)}h0.01`,
    )
    .join("");
}

const pointOf = (i: number, value: number, x: Coordinate, y: Coordinate): string =>
  `${x(i).toFixed(1)} ${y(value).toFixed(1)}`;

function area(values: readonly (number | null)[], x: Coordinate, y: Coordinate): string {
  const points = values.map((value, i) => `L${pointOf(i, value ?? 0, x, y)}`);
  return `M${x(0).toFixed(1)} ${HEIGHT}${points.join("")}V${HEIGHT}Z`;
}
