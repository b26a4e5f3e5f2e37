/** Runs `relay` commands in the test's own process. */

import type { Io } from "../../src/cli/io.ts";
import { runCommand } from "../../src/cli/program.ts";
import type { Clock } from "../../src/clock.ts";
import { tempFolder } from "./temp.ts";

/** A proxy before a server, which can make the server disappear; `await using` ends it. */
export function startFront(target: string, { away }: { away: boolean }) {
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) => {
      if (front.away) return new Response(null, { status: 503 });
      const { pathname, search } = new URL(request.url);
      return fetch(`${target}${pathname}${search}`, request);
    },
  });
  const front = {
    away,
    url: server.url.origin,
    [Symbol.asyncDispose]: () => server.stop(true),
  };
  return front;
}

interface Options extends Partial<Io> {
  readonly clock: Clock;
}

/** A user with a separate configuration folder; `env` contains no credential. */
export function createUser({ clock, ...given }: Options) {
  const home = given.home ?? tempFolder();
  const base = {
    env: {},
    platform: "linux" as const,
    home,
    flush: async () => {},
    host: "workbench",
    out_is_terminal: false,
    err_is_terminal: false,
    input: async () => "",
    confirm: null,
    now: clock.now,
    timers: { ...clock, jitter: () => 0.5 },
    open: () => false,
    ...given,
  };
  /** Starts a command; `out` and `err` hold its output so far. */
  const start = (words: readonly string[], more: Partial<Io> = {}) => {
    const interrupt = new AbortController();
    const printed = { out: "", err: "" };
    const io: Io = {
      signal: interrupt.signal,
      out: (text) => {
        printed.out += text;
      },
      err: (text) => {
        printed.err += text;
      },
      ...base,
      ...more,
    };
    const code = runCommand(io, words);
    return { printed, code, interrupt: () => interrupt.abort(new Error("interrupted")) };
  };
  /** Runs a command to its end. */
  const run = async (words: readonly string[], more?: Partial<Io>) => {
    const { printed, code } = start(words, more);
    return { code: await code, ...printed };
  };
  return { home, start, run };
}
