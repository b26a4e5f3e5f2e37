/** PocketBase for `bench:peers`: built from its Go module, with every commit synced. */

import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Child } from "../process.ts";
import { within } from "../within.ts";

const SOURCE = fileURLToPath(new URL("pocketbase", import.meta.url));
/** Milliseconds that a build may take, which downloads the modules the first time. */
const BUILD_TIMEOUT = 240_000;
/** Seconds in which it must have started. */
const START = 60;

export interface PocketBase extends Child {
  readonly version: string;
  /** The version of SQLite in it. */
  readonly sqlite: string;
  readonly journal_mode: string;
  readonly synchronous: number;
  readonly users: readonly { readonly id: string; readonly token: string }[];
}

/** Builds PocketBase into `file`; returns why it cannot be measured, or undefined if it can. */
export async function buildPocketBase(file: string): Promise<string | undefined> {
  const go = Bun.which("go");
  if (!go) return "go is not on the PATH";
  // Without C, as its own releases are built.
  const build = Bun.spawn([go, "build", "-o", file, "."], {
    cwd: SOURCE,
    env: { ...process.env, CGO_ENABLED: "0" },
    stdio: ["ignore", "ignore", "pipe"],
    timeout: BUILD_TIMEOUT,
  });
  const errors = await new Response(build.stderr).text();
  if ((await build.exited) === 0 && existsSync(file)) return undefined;
  return `go build failed: ${errors.trim().split("\n").at(-1)}`;
}

/** Starts it on an empty folder; throws unless its writer syncs every commit. */
export async function startPocketBase(
  binary: string,
  folder: string,
  children: Bun.Subprocess[],
): Promise<PocketBase> {
  const child = Bun.spawn([binary, "serve", "--http", "127.0.0.1:0", "--dir", folder], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.push(child);
  const line = await within(START, "the start of PocketBase", firstLineOf(child.stdout));
  const started = JSON.parse(line) as Omit<PocketBase, "pid" | "send">;
  if (started.synchronous !== 2) throw new Error("PocketBase does not sync every commit");
  return { ...started, pid: child.pid, send() {} };
}

async function firstLineOf(output: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let out = "";
  for await (const chunk of output) {
    out += decoder.decode(chunk, { stream: true });
    if (out.includes("\n")) return out.slice(0, out.indexOf("\n"));
  }
  throw new Error(`PocketBase did not start: ${out}`);
}
