/** Finds the process that holds the write lock of an embedded store, by the list of locks of Linux. */

import { readdirSync, readFileSync, statSync } from "node:fs";

/** A process as an operator finds it. */
export interface LockHolder {
  readonly pid: number;
  /** The name of its program, such as `relay` or `sqlite3`. */
  readonly command: string;
  /** `stopped`: by a signal such as SIGSTOP, or by a debugger. */
  readonly state: "stopped" | "waiting for the disk" | "running";
  /** The systemd service or the container that it belongs to; null if none is known. */
  readonly unit: string | null;
}

/** The byte of the `-shm` file that a writer locks (https://sqlite.org/walformat.html, WAL locks). */
const WRITE_LOCK = 120;

/**
 * The process that holds the write lock of the file at `path`. Null if none does, if it cannot be seen from here, as
 * from another container, and on other systems than Linux.
 */
export function findLockHolder(path: string): LockHolder | null {
  try {
    const pid = pidOfWriter(readFileSync("/proc/locks", "latin1"), statSync(`${path}-shm`));
    return pid === null ? null : describeProcess(pid);
  } catch {
    return null;
  }
}

/** Lines such as `1: POSIX  ADVISORY  WRITE 4711 08:01:131 120 120`; a lock that waits has `->` before its kind. */
const LINE = /^\d+: POSIX +\w+ +WRITE +(\d+) +([0-9a-f]+):([0-9a-f]+):(\d+) +(\d+) +(\d+|EOF)$/gm;

function pidOfWriter(locks: string, { dev, ino }: { dev: number; ino: number }): number | null {
  const found = [...locks.matchAll(LINE)]
    .filter(([, , , , inode, from, to]) => {
      const last = to === "EOF" ? Number.POSITIVE_INFINITY : Number(to);
      return Number(inode) === ino && Number(from) <= WRITE_LOCK && WRITE_LOCK <= last;
    })
    .map(([, pid, major, minor]) => ({ pid: Number(pid), device: `${major}:${minor}` }));
  // Some file systems have one number of the device here and another one for `stat`.
  const same = found.filter(({ device }) => device === deviceOf(dev));
  const [only, another] = same.length > 0 ? same : found;
  return only && !another && only.pid > 0 ? only.pid : null;
}

/** The number of a device as the list of locks writes it. */
function deviceOf(dev: number): string {
  const bits = BigInt(dev);
  const major = ((bits >> 8n) & 0xfffn) | ((bits >> 32n) & 0xfffff000n);
  const minor = (bits & 0xffn) | ((bits >> 12n) & 0xffffff00n);
  const hex = (number: bigint) => number.toString(16).padStart(2, "0");
  return `${hex(major)}:${hex(minor)}`;
}

/** The last part of a control group that a service manager or a container engine made. */
const UNIT = /\/([^/\n]+\.service|(?:docker|libpod|crio|cri-containerd)-[0-9a-f]{12})[^/\n]*$/m;

function describeProcess(pid: number): LockHolder {
  const of = (file: string) => readFileSync(`/proc/${pid}/${file}`, "latin1").trim();
  // The letter after the name, which may itself have parentheses; one for each thread.
  const states = readdirSync(`/proc/${pid}/task`).map(
    (task) => /\) (\S)[^)]*$/.exec(of(`task/${task}/stat`))?.[1] ?? "",
  );
  const stopped = states.every((state) => /[Tt]/.test(state));
  const waits = states.includes("D");
  return {
    pid,
    command: of("comm"),
    state: stopped ? "stopped" : waits ? "waiting for the disk" : "running",
    unit: UNIT.exec(of("cgroup"))?.[1] ?? null,
  };
}
