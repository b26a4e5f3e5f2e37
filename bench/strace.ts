/** Slows down the disk of a Relay process with strace. */

import { readFileSync } from "node:fs";

export const STRACE = Bun.which("strace");

/**
 * The command under which every sync of a file takes `ms` longer. With `--seccomp-bpf` the other
 * system calls do not stop the process; `-f` follows its threads.
 */
export function slowedBy(ms: number): string[] {
  const inject = `inject=fdatasync,fsync:delay_enter=${ms * 1_000}`;
  const what = ["-e", "trace=fdatasync,fsync", ...(ms > 0 ? ["-e", inject] : [])];
  return [STRACE!, "-f", "-qq", "--seccomp-bpf", ...what, "-o", "/dev/null"];
}

/** The process that strace started, which uses the processor. */
export function tracedBy(pid: number): number {
  const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, "latin1").split(" ");
  if (!child) throw new Error("strace has no child");
  return Number(child);
}
