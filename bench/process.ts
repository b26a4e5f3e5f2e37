/** Relay as a process, and requests that prepare a bench. */

import { join } from "node:path";
import { fileURLToPath } from "node:url";

const MAIN = fileURLToPath(new URL("../src/main.ts", import.meta.url));

/**
 * Relay as people run it, on a store in `folder` and with more variables in `env`; `options` are
 * Bun's. The process is added to `children`.
 */
export async function startRelay(
  folder: string,
  children: Bun.Subprocess[],
  { env = {}, options = [] }: { env?: Record<string, string>; options?: readonly string[] } = {},
) {
  const child = Bun.spawn([process.execPath, ...options, MAIN], {
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
