/** Measures two servers in turns, so that what else the machine does falls on both alike. */

import { readFileSync } from "node:fs";
import type { Load } from "./load.ts";

export const ROUNDS = 5;
/** Seconds of one turn, and of the one before that is not counted. */
const TURN = 1.2;
export const WARM_UP = 1;
/** Clock ticks of a second in `/proc`. */
const TICKS = 100;

/** Seconds of processor time that a process has used. */
function cpuOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "latin1")
    .replace(/^.*\) /, "")
    .split(" ");
  return (Number(fields[11]) + Number(fields[12])) / TICKS;
}

export interface Side {
  readonly pid: number;
  run(seconds: number): Promise<Load>;
  close(): void;
}

export interface Measured {
  readonly rate: number;
  readonly cpu_us: number;
  readonly p50: number;
  readonly p99: number;
}

export async function measure(side: Side): Promise<Measured> {
  const before = cpuOf(side.pid);
  const { count, seconds, ms } = await side.run(TURN);
  const cpu = cpuOf(side.pid) - before;
  ms.sort((a, b) => a - b);
  const at = (part: number) => ms[Math.floor(ms.length * part)]!;
  return { rate: count / seconds, cpu_us: (cpu * 1e6) / count, p50: at(0.5), p99: at(0.99) };
}

function median(of: readonly Measured[], field: keyof Measured): number {
  return of.map((one) => one[field]).sort((a, b) => a - b)[of.length >> 1]!;
}

export const count = (value: number) => Math.round(value).toLocaleString("en");
const ms = (of: readonly Measured[]) =>
  `${median(of, "p50").toFixed(2)} / ${median(of, "p99").toFixed(2)}`;

const COLUMNS = [24, 10, 10, 7, 16, 16, 14];
export function row(...cells: string[]): void {
  const padded = cells.map((cell, i) => (i === 0 ? cell.padEnd(24) : cell.padStart(COLUMNS[i]!)));
  process.stdout.write(`${padded.join("")}\n`);
}

/** Measures both sides, first the one that is the measure of the other, in turns and prints their medians. */
export async function compare(what: string, bare: Side, relay: Side): Promise<void> {
  await bare.run(WARM_UP);
  await relay.run(WARM_UP);
  const limit: Measured[] = [];
  const ours: Measured[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    limit.push(await measure(bare));
    ours.push(await measure(relay));
  }
  bare.close();
  relay.close();
  const ratios = limit.map(({ rate }, i) => ours[i]!.rate / rate).sort((a, b) => a - b);
  row(
    what,
    count(median(limit, "rate")),
    count(median(ours, "rate")),
    ratios[ROUNDS >> 1]!.toFixed(2),
    ms(limit),
    ms(ours),
    `${count(median(limit, "cpu_us"))} / ${count(median(ours, "cpu_us"))}`,
  );
}
