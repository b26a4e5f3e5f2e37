/** Relay as a separate process, as people run it. */

import { afterAll } from "bun:test";
import { fileURLToPath } from "node:url";
import { until } from "./until.ts";

const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url));

const { PATH = "", BUN_RUNTIME_TRANSPILER_CACHE_PATH: cache } = process.env;
/** In a run of the suite, the executable that it built, which starts in half of the sources' CPU time. */
const { RELAY_TEST_EXECUTABLE: executable } = process.env;
const COMMAND = executable ? [executable, "serve"] : [process.execPath, MAIN];
/** What every process gets; the runner's cache of compiled sources saves a sixth of each start. */
const START_ENV = { PATH, ...(cache && { BUN_RUNTIME_TRANSPILER_CACHE_PATH: cache }) };

export interface RelayProcess {
  readonly url: string;
  readonly pid: number;
  /** Standard output so far. */
  output(): string;
  /** Standard error so far: the log. */
  log(): string;
  kill(signal?: NodeJS.Signals): void;
  /** Its exit code, once all that it printed has been read. */
  readonly exited: Promise<number>;
}

/** Starts it on a free port, behind the command `wrap`, and waits until it listens. */
export async function startProcess(
  env: Record<string, string>,
  wrap: readonly string[] = [],
): Promise<RelayProcess> {
  const child = Bun.spawn([...wrap, ...COMMAND], {
    env: { ...START_ENV, PORT: "0", RATE_LIMITS: "off", ...env },
    stdout: "pipe",
    stderr: "pipe",
  });
  afterAll(() => child.kill("SIGKILL"));
  let out = "";
  let log = "";
  const printed = Promise.all([
    collect(child.stdout, (text) => {
      out += text;
    }),
    collect(child.stderr, (text) => {
      log += text;
    }),
  ]);
  const exited = child.exited.then(async (code) => {
    await printed;
    return code;
  });
  const url = await Promise.race([
    until(() => /listening at (\S+)/.exec(out)?.[1]),
    exited.then((code) => {
      throw new Error(`it ended with ${code}: ${log}`);
    }),
  ]);
  return {
    url,
    pid: child.pid,
    output: () => out,
    log: () => log,
    kill: (signal = "SIGKILL") => child.kill(signal),
    exited,
  };
}

export interface TerminalProcess {
  /** What the terminal shows so far: standard output, and the log. */
  shown(): string;
  kill(signal?: NodeJS.Signals): void;
  readonly exited: Promise<number>;
}

/** Starts it on a free port at a terminal of 80 columns, and waits until `check` returns a truthy value. */
export async function startAtTerminal(
  env: Record<string, string>,
  check: (shown: string) => unknown,
): Promise<TerminalProcess> {
  let shown = "";
  const decoder = new TextDecoder();
  const child = Bun.spawn(COMMAND, {
    env: { ...START_ENV, PORT: "0", ...env },
    terminal: {
      cols: 80,
      data(_terminal, chunk) {
        shown += decoder.decode(chunk, { stream: true });
      },
    },
  });
  afterAll(() => child.kill("SIGKILL"));
  await until(() => {
    if (child.exitCode !== null) throw new Error(`it ended: ${shown}`);
    return check(shown);
  });
  return {
    shown: () => shown,
    kill: (signal = "SIGKILL") => child.kill(signal),
    exited: child.exited,
  };
}

/** Starts it where it cannot start; returns its exit code and output. */
export async function failToStart(env: Record<string, string>, wrap: readonly string[] = []) {
  const child = Bun.spawn([...wrap, ...COMMAND], {
    env: { ...START_ENV, PORT: "0", ...env },
    stdout: "pipe",
    stderr: "pipe",
  });
  const read = (stream: ReadableStream<Uint8Array>) => new Response(stream).text();
  const [out, err] = await Promise.all([read(child.stdout), read(child.stderr)]);
  // A busy machine starts slowly.
  const said = (out + err).replace(/^.*"waiting for the store".*\n/m, "").trim();
  return { code: await child.exited, said };
}

async function collect(stream: ReadableStream<Uint8Array>, take: (text: string) => void) {
  const decoder = new TextDecoder();
  for await (const chunk of stream) take(decoder.decode(chunk, { stream: true }));
}
