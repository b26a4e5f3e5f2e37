/** The executable: `relay serve` is the server, the other commands are clients of one. */

import { homedir, hostname } from "node:os";
import { readBounded } from "../bounded-read.ts";
import { systemTimers } from "../client/timers.ts";
import { systemClock } from "../clock.ts";
import { type Io, OutputFault } from "./io.ts";
import { runCommand } from "./program.ts";

const { argv, env, platform } = process;
const words = argv.slice(2);
const interrupted = new AbortController();

/** Commands that may be given up while the disk has not answered yet. */
const OF_STORE: ReadonlySet<string | undefined> = new Set(["backup", "restore", "migrate"]);
/** Seconds from the outcome of a command to the end of its process. */
const END_WITHIN = 2;

// The server handles signals itself, and `run` passes them on to its command.
if (words[0] !== "serve" && words[0] !== "run") {
  const stop = (code: number) => () => {
    // If the first signal does not end the command, the second does.
    if (interrupted.signal.aborted) process.exit(code);
    interrupted.abort(new Error("interrupted"));
  };
  process.on("SIGINT", stop(130));
  process.on("SIGTERM", stop(143));
  // Gemini CLI runs the tool if its hook ends without an answer. Other commands must work under `nohup`.
  if (words[0] === "hook") process.on("SIGHUP", stop(129));
  // An unhandled error would end the process with the exit code for no.
  process.stderr.on("error", () => {});
}

/** Asks at the terminal; true if the line that is typed begins with y. */
async function confirm(question: string): Promise<boolean> {
  process.stderr.write(`${question} [y/N] `);
  // Reading cannot be cancelled.
  interrupted.signal.addEventListener("abort", () => process.exit(130));
  for await (const line of console) return /^\s*y/i.test(line);
  return false;
}

/** Reads standard input. Once cancelled, it does not keep the process alive, even if the pipe stays open. */
const readInput: Io["input"] = async ({ most, signal, fatal = false }) => {
  signal?.throwIfAborted();
  const reader = Bun.stdin.stream().getReader();
  signal?.addEventListener("abort", () => void reader.cancel().catch(() => {}));
  const chunks = async function* () {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  };
  const bytes = await readBounded(chunks(), most, "standard input").finally(() =>
    reader.cancel().catch(() => {}),
  );
  signal?.throwIfAborted();
  return new TextDecoder("utf-8", { fatal }).decode(bytes);
};

/** `Io.out` and `Io.flush` of standard output. */
function createOutput() {
  // The callback of each write has the error too.
  process.stdout.on("error", () => {});
  let written: Promise<unknown> = Promise.resolve();
  let failure: NodeJS.ErrnoException | undefined;
  return {
    out(text: string): void {
      const { promise, resolve } = Promise.withResolvers<void>();
      process.stdout.write(text, (error) => {
        failure ??= error ?? undefined;
        resolve();
      });
      written = Promise.all([written, promise]);
    },

    async flush(): Promise<void> {
      await written;
      const error = failure;
      failure = undefined;
      if (error) throw new OutputFault(error);
    },
  };
}

/** False when the person is not at this machine (SSH), or no program can open an address. */
function openBrowser(url: string): boolean {
  const is_desktop = platform === "win32" || platform === "darwin";
  const has_screen = is_desktop || env.DISPLAY || env.WAYLAND_DISPLAY;
  if (env.SSH_CONNECTION || env.SSH_TTY || !has_screen) return false;
  const command =
    platform === "win32"
      ? ["rundll32", "url.dll,FileProtocolHandler", url]
      : [platform === "darwin" ? "open" : "xdg-open", url];
  try {
    Bun.spawn(command, { stdin: "ignore", stdout: "ignore", stderr: "ignore" }).unref();
    return true;
  } catch {
    return false;
  }
}

const exit_code = await runCommand(
  {
    env,
    platform,
    home: homedir(),
    host: hostname(),
    ...createOutput(),
    out_is_terminal: process.stdout.isTTY === true,
    err: (text) => void process.stderr.write(text),
    err_is_terminal: process.stderr.isTTY === true,
    input: readInput,
    confirm: process.stdin.isTTY && process.stderr.isTTY ? confirm : null,
    signal: interrupted.signal,
    now: systemClock.now,
    timers: systemTimers,
    open: openBrowser,
  },
  words,
);
process.exitCode = exit_code;
// A disk that hangs keeps the process alive; an idle process ends before this.
if (OF_STORE.has(words[0])) systemClock.after(END_WITHIN, () => process.exit(exit_code));
