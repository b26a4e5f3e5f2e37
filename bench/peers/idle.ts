/** Connections that only wait, and the memory of a process that holds them. */

import { readFileSync } from "node:fs";
import { cpuOf } from "../compare.ts";
import { within } from "../within.ts";

/** Connections opened at once. */
const AT_ONCE = 64;
/** Seconds in which a few must be open, and their streams begun. */
const OPEN = 30;
/** Milliseconds between two looks whether a process is idle, and seconds of processor time that it may use meanwhile. */
const LOOK = 500;
const IDLE = 0.02;
/** Looks until the process is taken as it is: a wait lasts 50 s. */
const LOOKS = 16;

export interface Idle {
  /** Throws if a connection ended, or a wait was answered. */
  check(): void;
  close(): void;
}

interface Requests {
  readonly port: number;
  readonly requests: readonly Uint8Array[];
  /** Whether each is a stream, which begins at once; a wait has no answer yet. */
  readonly streams: boolean;
}

/** Sends each request on its own connection. Resolves once all are sent and all streams have begun. */
export async function openIdle({ port, requests, streams }: Requests): Promise<Idle> {
  let fault: string | undefined;
  let closing = false;
  const open = async (request: Uint8Array) => {
    const begun = Promise.withResolvers<void>();
    const fail = (reason: string) => {
      if (!closing) fault ??= reason;
      begun.resolve();
    };
    const socket = await Bun.connect({
      hostname: "127.0.0.1",
      port,
      socket: {
        data(_, chunk) {
          const text = chunk.toString("latin1", 0, 200);
          const refused = text.startsWith("HTTP/") && !text.startsWith("HTTP/1.1 200");
          if (refused || !streams) fail(`an answer: ${text}`);
          begun.resolve();
        },
        close: () => fail("a connection ended"),
      },
    });
    socket.write(request);
    if (streams) await begun.promise;
    return socket;
  };
  const sockets: Bun.Socket[] = [];
  for (let from = 0; from < requests.length; from += AT_ONCE) {
    const some = Promise.all(requests.slice(from, from + AT_ONCE).map(open));
    sockets.push(...(await within(OPEN, `${AT_ONCE} connections`, some)));
  }
  return {
    check() {
      if (fault !== undefined) throw new Error(fault);
    },
    close() {
      closing = true;
      for (const socket of sockets) socket.terminate();
    },
  };
}

/** Resident memory of a process in KiB, once it is idle. */
export async function memoryAtRest(pid: number): Promise<number> {
  for (let looks = 0, used = Number.POSITIVE_INFINITY; used > IDLE && looks < LOOKS; looks++) {
    const before = cpuOf([pid]);
    await Bun.sleep(LOOK);
    used = cpuOf([pid]) - before;
  }
  const [, kib] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))!;
  return Number(kib);
}
