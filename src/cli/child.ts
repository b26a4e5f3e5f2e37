/** Runs a command as if it had been started directly: terminal, output, signals and exit code. */

import { writeSync } from "node:fs";
import { constants } from "node:os";
import { Fault, type Io } from "./io.ts";

/**
 * Seconds of a round of reading after the command has ended, while processes that it started may hold its pipes open.
 * After two rounds without a byte, the output of the command is complete.
 */
const SILENCE = 0.15;
/** Rounds and bytes, at most, if those processes go on printing: more than pipes hold. */
const [LEFT_ROUNDS, LEFT_BYTES] = [8, 4 * 1024 * 1024];
/** Seconds that the terminal is read after the command has ended, while other processes hold it open. */
const LAST_OUTPUT = 1;

interface Reader {
  read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>;
  cancel(): Promise<void>;
}

/** Signals that are passed on to the command. */
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"] as const;

type ChildIo = Pick<Io, "env" | "timers">;

/** Called with each piece of output, in order. */
export type Observe = (bytes: Uint8Array) => void;

/**
 * Runs the command to its end, with a terminal of its own if this process has one, else with pipes. Returns its exit
 * code; like a shell, 128 plus the number of the signal that ended it. Throws a {@link Fault} if it cannot be started.
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
  // The terminal itself sends Ctrl-C to the command.
  const stop = passSignals(child, process.stdin.isTTY ? ["SIGINT", "SIGQUIT"] : []);
  let passed_bytes = 0;
  let writes = 0;
  const pass = async (from: Reader, to: NodeJS.WriteStream) => {
    // The callback of each write has the error too.
    to.on("error", () => {});
    for (;;) {
      const { done, value } = await from.read();
      if (done || value === undefined) return;
      passed_bytes += value.length;
      observe(value);
      writes++;
      const is_written = await write(to, value);
      writes--;
      if (is_written) continue;
      // What the command would get without us in between: its own pipes are sockets, which fail in another way.
      child.kill("SIGPIPE");
      return;
    }
  };
  const readers: readonly Reader[] = [child.stdout.getReader(), child.stderr.getReader()];
  const passed = Promise.all([
    pass(readers[0]!, process.stdout),
    pass(readers[1]!, process.stderr),
  ]);
  await child.exited;
  // What the command printed is in the pipes by now and is read without a pause, unless our reader is slow. What
  // comes later is from processes that it left behind, and is lost.
  const most = passed_bytes + LEFT_BYTES;
  let quiet = 0;
  for (let rounds = 0; quiet < 2 && rounds < LEFT_ROUNDS && passed_bytes <= most; ) {
    const before = passed_bytes;
    if (await within(io, SILENCE, passed)) break;
    if (writes > 0) continue;
    rounds++;
    // On a busy machine, one timer may fire before a pipe is read.
    quiet = passed_bytes === before ? quiet + 1 : 0;
  }
  await Promise.all(readers.map((reader) => reader.cancel()));
  stop();
  return codeOf(child);
}

/** Resolves to true if the work ends within `seconds`. */
async function within(
  { timers }: ChildIo,
  seconds: number,
  work: Promise<unknown>,
): Promise<boolean> {
  const silent = Promise.withResolvers<boolean>();
  const cancel = timers.after(seconds, () => silent.resolve(false));
  return await Promise.race([work.then(() => true), silent.promise]).finally(cancel);
}

/** Waits until the stream accepts more; false once its reader is gone. */
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
  leaveOutputAsItIs();
  stdin.on("data", type);
  stdin.resume();
  try {
    await child.exited;
    // Its last output is on its way; a process that it left behind may hold the terminal.
    await within(io, LAST_OUTPUT, ended.promise);
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

/**
 * Turns off the terminal's processing of output: the command's own terminal has already made LF into CR LF, and ours
 * would add another CR. Leaving raw mode turns it on again. Without `stty`, the extra CR stays.
 */
function leaveOutputAsItIs(): void {
  try {
    Bun.spawnSync(["stty", "-opost"], { stdin: "inherit", stdout: "ignore", stderr: "ignore" });
  } catch {}
}

/** Writes to the terminal. One that accepts no more blocks the command, as it would directly. */
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
  const names = process.platform === "win32" ? (["SIGINT"] as const) : SIGNALS;
  const pass = (name: NodeJS.Signals) => {
    if (!ignored.includes(name)) child.kill(name);
  };
  for (const name of names) process.on(name, pass);
  return () => {
    for (const name of names) process.off(name, pass);
  };
}

const codeOf = ({ exitCode, signalCode }: Bun.Subprocess): number =>
  signalCode === null ? (exitCode ?? 1) : 128 + constants.signals[signalCode as NodeJS.Signals];
