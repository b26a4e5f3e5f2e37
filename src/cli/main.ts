/** The executable: `relay serve` is the server, the other commands are clients of one. */

import { homedir, hostname } from "node:os";
import { systemTimers } from "../client/timers.ts";
import { systemClock } from "../clock.ts";
import { openBrowser } from "./browser.ts";
import { createOutput } from "./output.ts";
import { runCommand } from "./program.ts";

const words = process.argv.slice(2);
const interrupted = new AbortController();

// The server handles signals itself, and `run` passes them on to its command.
if (words[0] !== "serve" && words[0] !== "run") {
  const stop = (code: number) => () => {
    // If the first signal does not end the command, the second does.
    if (interrupted.signal.aborted) process.exit(code);
    interrupted.abort(new Error("interrupted"));
  };
  process.on("SIGINT", stop(130));
  process.on("SIGTERM", stop(143));
  // The end of a hook without an answer permits the tool in Gemini CLI. `nohup` has to work for the others.
  if (words[0] === "hook") process.on("SIGHUP", stop(129));
  // Otherwise it would end the process with the exit code for no.
  process.stderr.on("error", () => {});
}

/** Whether the line that is typed begins with y. */
async function confirm(question: string): Promise<boolean> {
  process.stderr.write(`${question} [y/N] `);
  // Reading cannot be cancelled.
  interrupted.signal.addEventListener("abort", () => process.exit(130));
  for await (const line of console) return /^\s*y/i.test(line);
  return false;
}

/** Cancelled, it no longer keeps the process alive, even if the writer never closes the pipe. */
async function readInput(signal?: AbortSignal, { fatal } = { fatal: false }): Promise<string> {
  signal?.throwIfAborted();
  const reader = Bun.stdin.stream().getReader();
  signal?.addEventListener("abort", () => void reader.cancel().catch(() => {}));
  const decoder = new TextDecoder("utf-8", { fatal });
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    text += decoder.decode(value, { stream: true });
  }
  signal?.throwIfAborted();
  return text + decoder.decode();
}

process.exitCode = await runCommand(
  {
    env: process.env,
    platform: process.platform,
    home: homedir(),
    host: hostname(),
    ...createOutput(process.stdout),
    err: (text) => void process.stderr.write(text),
    is_terminal: process.stdout.isTTY === true,
    err_is_terminal: process.stderr.isTTY === true,
    input: readInput,
    confirm: process.stdin.isTTY && process.stderr.isTTY ? confirm : null,
    signal: interrupted.signal,
    now: systemClock.now,
    timers: systemTimers,
    open: (url) => openBrowser(process.platform, process.env, url),
  },
  words,
);
