/** The results of `bench:peers`: their files, and their figures as documents quote them. */

import type { Machine } from "./machine.ts";

/** Median and quartiles over the turns of a run. */
export interface Spread {
  readonly q1: number;
  readonly median: number;
  readonly q3: number;
}

/** Figures of one server by name: `rate` is per second, `cpu_us` of one request, `kb_each` of one idle connection. */
export type Figures = Readonly<Record<string, Spread>>;

export interface Measure {
  /** What is measured, such as "read a task". */
  readonly title: string;
  readonly relay: Figures;
  readonly peer: Figures;
  /** Relay's rate or median latency divided by the peer's, of neighbouring turns. */
  readonly ratio: Spread;
}

/** One file in `bench/results`: a run beside one peer. */
export interface Results {
  readonly peer: string;
  readonly measured_at: string;
  readonly machine: Machine;
  readonly versions: Readonly<Record<string, string>>;
  /** Load average over one minute when the run began and ended; the bench itself adds to the second. */
  readonly load_average: { readonly before: number; readonly after: number };
  /** How both were measured: turns, seconds of each, connections, and what each server was told. */
  readonly settings: Readonly<Record<string, string | number>>;
  readonly measures: Readonly<Record<string, Measure>>;
}

export const PEERS = ["pocketbase", "nchan"] as const;
export type Peer = (typeof PEERS)[number];

/** Median and quartiles; an even count takes the mean of the values in the middle. */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (part: number) => {
    const index = (sorted.length - 1) * part;
    const low = sorted[Math.floor(index)]!;
    const value = low + (sorted[Math.ceil(index)]! - low) * (index % 1);
    return Number(value.toPrecision(4));
  };
  return { q1: at(0.25), median: at(0.5), q3: at(0.75) };
}

/** A figure as documents show it: whole from 100 on, otherwise with two significant digits or more. */
export function shown(value: number): string {
  if (value >= 100) return Math.round(value).toLocaleString("en");
  if (value < 1) return value.toPrecision(2);
  return value.toFixed(value >= 10 ? 1 : 2);
}

const ratio = ({ q1, median, q3 }: Spread) => `${shown(median)}× (${shown(q1)} to ${shown(q3)})`;
const pair = (of: Figures, ...names: string[]) => names.map((name) => shown(of[name]!.median));

/** The table of one run in Markdown. `docs/performance.md` has it as it is. */
export function tableOf({ peer, measures }: Results): string {
  const requests = Object.values(measures).some(({ relay }) => relay.rate !== undefined);
  const head = requests
    ? ["", "Relay/s", `${peer}/s`, "Relay / peer", "p50 / p99 ms", "the peer's", "CPU µs, both"]
    : ["", "p50 / p99 ms", `${peer}'s`, "Relay / peer", "KB each", "the peer's", "RSS MB, both"];
  const rows = Object.values(measures).map(({ title, relay, peer: other, ratio: of }) => {
    const latencies = [relay, other].map((one) => pair(one, "p50_ms", "p99_ms").join(" / "));
    const both = (name: string) => [relay, other].flatMap((one) => pair(one, name));
    return requests
      ? [title, ...both("rate"), ratio(of), ...latencies, both("cpu_us").join(" / ")]
      : [title, ...latencies, ratio(of), ...both("kb_each"), both("rss_mb").join(" / ")];
  });
  const lines = [head, head.map(() => "---"), ...rows];
  return lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

/** The unit of each figure. */
const UNITS: Readonly<Record<string, string>> = {
  rate: "/s",
  p50_ms: "ms",
  p99_ms: "ms",
  cpu_us: "µs",
  kb_each: "KB",
  rss_mb: "MB",
};

/** Every figure that a text about these results may quote, with its unit and a space between: "3.81 ×", "3.8 ×", "4 ×". */
export function figuresOf(results: Results): Set<string> {
  const figures = new Set<string>();
  const add = ({ q1, median, q3 }: Spread, unit: string) => {
    for (const value of [q1, median, q3]) {
      const whole = Math.round(value).toLocaleString("en");
      for (const text of [shown(value), value.toFixed(1), whole]) figures.add(`${text} ${unit}`);
    }
  };
  for (const { relay, peer, ratio: of } of Object.values(results.measures)) {
    add(of, "×");
    for (const [name, spread] of [...Object.entries(relay), ...Object.entries(peer)]) {
      add(spread, UNITS[name]!);
    }
  }
  return figures;
}

/** The files of a peer in `bench/results`, by kind. */
export const fileOf = (peer: Peer, kind: "json" | "svg"): string =>
  new URL(`../results/${peer}.${kind}`, import.meta.url).pathname;
