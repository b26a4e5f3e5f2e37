/** The machine that a bench runs on, as far as its figures depend on it. */

import { closeSync, fdatasyncSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { cpus, loadavg, release, totalmem } from "node:os";
import { join } from "node:path";
import { type Spread, spreadOf } from "./results.ts";

export interface Machine {
  readonly cores: number;
  readonly cpu: string;
  readonly memory_gib: number;
  readonly kernel: string;
  /** File system and device of the folder with the stores. */
  readonly disk: string;
  /** Milliseconds to append 4 KiB to a file there and to sync it. */
  readonly sync_ms: Spread;
}

const SYNCS = 100;

/** Looks at the machine; the stores will be in `folder`. */
export function machineOf(folder: string): Machine {
  return {
    cores: cpus().length,
    cpu: cpus()[0]?.model ?? "unknown",
    memory_gib: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    disk: diskOf(folder),
    sync_ms: syncTimeOf(folder),
  };
}

/** Load average over one minute. */
export const loadAverage = (): number => Number(loadavg()[0]!.toFixed(2));

function diskOf(folder: string): string {
  const mounts = readFileSync("/proc/mounts", "utf8")
    .split("\n")
    .map((line) => line.split(" "))
    .filter(([, at]) => at === "/" || (at && `${folder}/`.startsWith(`${at}/`)));
  const [device, , system] = mounts.reduce((a, b) => (b[1]!.length >= a[1]!.length ? b : a));
  return `${system} on ${device}${kindOf(device!.replace("/dev/", ""))}`;
}

/** What the kernel says about a device; a virtual disk is often called rotational. */
function kindOf(name: string): string {
  try {
    const text = readFileSync(`/sys/class/block/${name}/queue/rotational`, "utf8");
    return text.trim() === "1" ? ", rotational by its driver" : ", not rotational";
  } catch {
    return "";
  }
}

function syncTimeOf(folder: string): Spread {
  const path = join(folder, "sync");
  const file = openSync(path, "w");
  const block = Buffer.alloc(4_096, 1);
  const ms: number[] = [];
  for (let i = 0; i < SYNCS; i++) {
    const from = performance.now();
    writeSync(file, block);
    fdatasyncSync(file);
    ms.push(performance.now() - from);
  }
  closeSync(file);
  rmSync(path);
  return spreadOf(ms);
}
