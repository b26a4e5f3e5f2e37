/** Measures servers in turns, so that other load on the machine affects all of them equally. */

import { readFileSync } from "node:fs";
import type { Load } from "./load.ts";

export const ROUNDS = 5;
/** Seconds of one turn, and of the warm-up turn that is not counted. */
const TURN = 1.2;
export const WARM_UP = 1;
/** Clock ticks per second in `/proc`. */
const TICKS = 100;

/** Total processor time of these processes, in seconds. */
export function cpuOf(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + cpuOfOne(pid), 0);
}

function cpuOfOne(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "latin1")
    .replace(/^.*\) /, "")
    .split(" ");
  return (Number(fields[11]) + Number(fields[12])) / TICKS;
}

export interface Side {
  /** The server's processes. */
  readonly pids: readonly number[];
  /** The processes of the store, if it is a server of its own. */
  readonly store_pids?: readonly number[];
  run(seconds: number): Promise<Load>;
  close(): void;
}

export interface Measured {
  readonly rate: number;
  /** Processor time of one request, and that of the store's own server for it. */
  readonly cpu_us: number;
  readonly store_us: number;
  readonly p50: number;
  readonly p99: number;
}

/** One turn of one server. */
export async function measure(side: Side, turn = TURN): Promise<Measured> {
  const { pids, store_pids = [] } = side;
  const before = [cpuOf(pids), cpuOf(store_pids)] as const;
  const { count, seconds, ms } = await side.run(turn);
  const each = (from: number, to: number) => ((to - from) * 1e6) / count;
  const cpu_us = each(before[0], cpuOf(pids));
  const store_us = each(before[1], cpuOf(store_pids));
  return { rate: count / seconds, cpu_us, store_us, ...quantilesOf(ms) };
}

/** Milliseconds: the median and the 99th percentile. */
export function quantilesOf(ms: readonly number[]) {
  const sorted = ms.toSorted((a, b) => a - b);
  const at = (part: number) => sorted[Math.floor(sorted.length * part)] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99) };
}

/**
 * Warms each server up, then measures them in turns, every second round backwards; returns the turns of each.
 */
export async function measureInTurns(
  sides: readonly Side[],
  { rounds = ROUNDS, turn = TURN, warm_up = WARM_UP } = {},
): Promise<Measured[][]> {
  for (const side of sides) await side.run(warm_up);
  const measured = sides.map((): Measured[] => []);
  for (let round = 0; round < rounds; round++) {
    const order = [...sides.entries()];
    if (round % 2 === 1) order.reverse();
    for (const [i, side] of order) measured[i]!.push(await measure(side, turn));
  }
  return measured;
}

/** The median. Sorts `values`. */
export const middle = (values: number[]): number =>
  values.sort((a, b) => a - b)[values.length >> 1]!;

export function median(of: readonly Measured[], field: keyof Measured): number {
  return middle(of.map((one) => one[field]));
}

/** The median of the ratios of neighbouring turns, and the quartiles around it. */
export function ratiosOf(
  of: readonly Measured[],
  to: readonly Measured[],
  field: keyof Measured = "rate",
) {
  const sorted = of.map((one, i) => one[field] / to[i]![field]).sort((a, b) => a - b);
  const at = (part: number) => sorted[Math.round((sorted.length - 1) * part)]!;
  return { low: at(0.25), median: at(0.5), high: at(0.75) };
}

/** The median of the ratios of neighbouring turns. */
export const ratioOf = (of: readonly Measured[], to: readonly Measured[]) =>
  ratiosOf(of, to).median;

export const count = (value: number) => Math.round(value).toLocaleString("en");
export const quantiles = (of: readonly Measured[]) =>
  `${median(of, "p50").toFixed(2)} / ${median(of, "p99").toFixed(2)}`;

const COLUMNS = [24, 10, 10, 7, 16, 16, 14];
/** Prints one row of a table. */
export function row(...cells: string[]): void {
  rowOf(COLUMNS, cells);
}

/** Prints one row of a table with columns of these widths, the first one left-aligned. */
export function rowOf(widths: readonly number[], cells: readonly string[]): void {
  process.stdout.write(lineOf(widths, cells));
}

/** The text of such a row. */
export function lineOf(
  [first = 0, ...widths]: readonly number[],
  cells: readonly string[],
): string {
  const padded = cells.map((cell, i) =>
    i === 0 ? cell.padEnd(first) : cell.padStart(widths[i - 1]!),
  );
  return `${padded.join("")}\n`;
}

/** Measures both sides in turns and prints their medians; the first side is the reference for the other. */
export async function compare(what: string, bare: Side, relay: Side): Promise<void> {
  const [limit, ours] = (await measureInTurns([bare, relay])) as [Measured[], Measured[]];
  bare.close();
  relay.close();
  row(
    what,
    count(median(limit, "rate")),
    count(median(ours, "rate")),
    ratioOf(ours, limit).toFixed(2),
    quantiles(limit),
    quantiles(ours),
    `${count(median(limit, "cpu_us"))} / ${count(median(ours, "cpu_us"))}`,
  );
}
