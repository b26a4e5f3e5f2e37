/** A command that runs as if it had been started directly: terminal, output, signals and exit code. */

import { writeSync } from "node:fs";
import { constants } from "node:os";
import { Fault, type Io } from "./io.ts";

/** Seconds without output after the end of a command, while others still hold its output open. */
const SILENCE = 1;

/** Passed on to the command. */
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"] as const;

type ChildIo = Pick<Io, "env" | "timers">;

/** Gets each piece of output, in the order in which it came. */
export type Observe = (bytes: Uint8Array) => void;

/**
 * Runs the command to its end, and gives its exit code; 128 and the number of the signal that ended it, as
 * shells have it. At a terminal it gets one of its own, else pipes. Throws a {@link Fault} if it cannot be started.
 */
export async function runChild(
  io: ChildIo,
  command: readonly string[],
  observe: Observe,
): Promise<number> {
  const { stdin, stdout, stderr, platform } = process;
  const has_terminal = stdin.isTTY && stdout.isTTY && stderr.isTTY && platform !== "win32";
  return await (has_terminal ? atTerminal : byPipes)(io, command, observe);
}

function start<Options extends Bun.Spawn.SpawnOptions<"inherit", "pipe", "pipe">>(
  io: ChildIo,
  command: readonly string[],
  options: Options,
) {
  try {
    return Bun.spawn([...command], { ...options, env: io.env });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = code === "EACCES" ? "is not a program that you may run" : "cannot be found";
    throw new Fault(`${command[0]} ${why}: check the command`);
  }
}

async function byPipes(io: ChildIo, command: readonly string[], observe: Observe): Promise<number> {
  const child = start(io, command, { stdin: "inherit", stdout: "pipe", stderr: "pipe" });
  // Ctrl-C at a terminal reaches the command without help.
  const stop = passSignals(child, process.stdin.isTTY ? ["SIGINT", "SIGQUIT"] : []);
  let pieces = 0;
  const pass = async (from: ReadableStream<Uint8Array>, to: NodeJS.WriteStream) => {
    // Its callback has the error too.
    to.on("error", () => {});
    for await (const bytes of from) {
      pieces++;
      observe(bytes);
      if (await write(to, bytes)) continue;
      // As the command would learn it directly: its own pipes are sockets, which give another error.
      child.kill("SIGPIPE");
      return;
    }
  };
  const passed = Promise.all([
    pass(child.stdout, process.stdout),
    pass(child.stderr, process.stderr),
  ]);
  await child.exited;
  for (let before = -1; before !== pieces; ) {
    before = pieces;
    if (await within(io, passed)) break;
  }
  stop();
  return codeOf(child);
}

/** Whether the work ends within {@link SILENCE}. */
async function within({ timers }: ChildIo, work: Promise<unknown>): Promise<boolean> {
  const silent = Promise.withResolvers<boolean>();
  const cancel = timers.after(SILENCE, () => silent.resolve(false));
  return await Promise.race([work.then(() => true), silent.promise]).finally(cancel);
}

/** Waits until the reader takes more; false once it is gone. */
function write(to: NodeJS.WriteStream, bytes: Uint8Array): Promise<boolean> {
  return new Promise((resolve) => {
    to.write(bytes, (error) => resolve(!error));
  });
}

async function atTerminal(
  io: ChildIo,
  command: readonly string[],
  observe: Observe,
): Promise<number> {
  const { stdin, stdout } = process;
  const ended = Promise.withResolvers<void>();
  const child = start(io, command, {
    terminal: {
      cols: stdout.columns,
      rows: stdout.rows,
      name: io.env.TERM ?? "xterm",
      data: (_: Bun.Terminal, bytes: Uint8Array) => {
        observe(bytes);
        writeAll(bytes);
      },
      exit: () => ended.resolve(),
    },
  } as never);
  const { terminal } = child as unknown as { terminal: Bun.Terminal };
  const resize = () => terminal.resize(stdout.columns, stdout.rows);
  const type = (bytes: Uint8Array) => void terminal.write(bytes as Uint8Array<ArrayBuffer>);
  const stop = passSignals(child, []);
  stdout.on("resize", resize);
  stdin.setRawMode(true);
  stdin.on("data", type);
  stdin.resume();
  try {
    await child.exited;
    // What it printed last is on its way; a process that it left behind may keep the terminal.
    await within(io, ended.promise);
  } finally {
    stdin.setRawMode(false);
    stdin.off("data", type);
    stdin.pause();
    stdout.off("resize", resize);
    stop();
    terminal.close();
  }
  return codeOf(child);
}

/** A terminal that takes no more holds the command up, as it would directly. */
function writeAll(bytes: Uint8Array): void {
  for (let sent = 0; sent < bytes.length; ) {
    try {
      sent += writeSync(1, bytes, sent);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") return;
      Bun.sleepSync(1);
    }
  }
}

function passSignals(child: Bun.Subprocess, ignored: readonly NodeJS.Signals[]): () => void {
  const handlers = SIGNALS.filter((name) => process.platform !== "win32" || name === "SIGINT").map(
    (name) => {
      const handler = () => {
        if (!ignored.includes(name)) child.kill(name);
      };
      process.on(name, handler);
      return [name, handler] as const;
    },
  );
  return () => {
    for (const [name, handler] of handlers) process.off(name, handler);
  };
}

const codeOf = ({ exitCode, signalCode }: Bun.Subprocess): number =>
  signalCode === null ? (exitCode ?? 1) : 128 + constants.signals[signalCode as NodeJS.Signals];
