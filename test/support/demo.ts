/** `bun run demo` as a process. */

import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { tempFolder } from "./temp.ts";
import { until } from "./until.ts";

const DEMO = fileURLToPath(new URL("../../scripts/demo.ts", import.meta.url));

interface Run {
  readonly args?: readonly string[];
  readonly env?: Record<string, string>;
  /** Lines typed once the demo asks for the answer. */
  readonly typed?: readonly string[];
  /** Sent once the demo asks for the answer. */
  readonly signal?: NodeJS.Signals;
}

/** Runs the demo to its end; `left` has the names of what it left in its temporary folder. */
export async function runDemo({ args = [], env = {}, typed, signal }: Run) {
  const temp = tempFolder();
  const child = Bun.spawn([process.execPath, DEMO, ...args], {
    env: { PATH: process.env.PATH ?? "", TMPDIR: temp, ...env },
    stdin: typed || signal ? "pipe" : "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const errors = child.stderr.text();
  let out = "";
  const decoder = new TextDecoder();
  const read = (async () => {
    for await (const chunk of child.stdout) out += decoder.decode(chunk, { stream: true });
  })();
  if (typed || signal) {
    await until(() => out.includes("type the answer"));
    if (signal) child.kill(signal);
    for (const line of typed ?? []) child.stdin!.write(`${line}\n`);
    child.stdin!.flush();
  }
  const code = await child.exited;
  await read;
  return { code, out, errors: await errors, left: readdirSync(temp) };
}

/** The lines of one role, in order; lines of different roles interleave freely. */
export function linesOf(role: string, out: string): string[] {
  return out
    .split("\n")
    .filter((line) => line.startsWith(`${role} `))
    .map((line) => line.slice(8));
}
