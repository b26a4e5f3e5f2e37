/** `relay run` runs a command as if started directly, and its task shows the progress. */

import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import type { Observe } from "../../src/cli/child.ts";
import { createLastLine, type RunChild, run, timeText } from "../../src/cli/run.ts";
import { systemClock } from "../../src/clock.ts";
import { startTestApp } from "../support/app.ts";
import { startFront } from "../support/cli.ts";
import { createPair } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { tempFolder } from "../support/temp.ts";
import { until } from "../support/until.ts";

const app = await startTestApp();
const MAIN = new URL("../../src/cli/main.ts", import.meta.url).pathname;
const bytes = (text: string) => new TextEncoder().encode(text);

async function createWorker(url = app.url) {
  const { person, agent } = await createPair(app.url);
  const env = { RELAY_URL: url, RELAY_KEY: agent.secret };
  const task = async () => (await person.send("GET /v1/tasks")).body.tasks[0];
  /** `relay run` as a separate process, without a terminal unless it is given one. */
  const spawn = (words: readonly string[], terminal?: Bun.Terminal) =>
    Bun.spawn([process.execPath, MAIN, "run", ...words], {
      env: { ...env, PATH: process.env.PATH ?? "", HOME: tempFolder(), TERM: "xterm" },
      ...(terminal ? { terminal } : { stdin: "pipe", stdout: "pipe", stderr: "pipe" }),
    });
  return { env, task, spawn };
}

const textOf = (stream: unknown) => new Response(stream as ReadableStream).text();

test("output, input and the exit code pass through, and the task ends with the command", async () => {
  const { spawn, task } = await createWorker();
  const script = 'read line; printf "\\033[32m$line\\033[0m\\r\\n"; echo wrong >&2; exit 7';
  const child = spawn(["--title", "Build", "--", "sh", "-c", script]);
  const stdin = child.stdin as Bun.FileSink;
  stdin.write("typed\n");
  stdin.end();
  expect(await Promise.all([textOf(child.stdout), textOf(child.stderr), child.exited])).toEqual([
    "\u001b[32mtyped\u001b[0m\r\n",
    "wrong\n",
    7,
  ]);
  const { title, status, status_note } = await task();
  expect([title, status]).toEqual(["Build", "cancelled"]);
  expect(status_note).toMatch(/^Exit code 7 after \d+ s: (wrong|typed)$/);
});

test("relay run passes 100 MB unharmed and leaves the command's own options to it", async () => {
  const { spawn, task } = await createWorker();
  const child = spawn(["sh", "-c", "yes relay | head -c 104857600; echo 100%", "--title"]);
  const hash = createHash("sha256");
  let length = 0;
  for await (const piece of child.stdout as ReadableStream<Uint8Array>) {
    length += piece.length;
    hash.update(piece);
  }
  expect([await child.exited, length]).toEqual([0, 104_857_605]);
  const wanted = createHash("sha256");
  const lines = Buffer.from("relay\n".repeat(1_000_000));
  let left = 104_857_600;
  for (; left > lines.length; left -= lines.length) wanted.update(lines);
  wanted.update(lines.subarray(0, left));
  wanted.update("100%\n");
  expect(hash.digest("hex")).toBe(wanted.digest("hex"));
  expect(await task()).toMatchObject({ status: "done", progress: 100 });
});

test("background processes that the command leaves do not delay the end of relay run", async () => {
  const { spawn } = await createWorker();
  const silent = spawn(["--", "sh", "-c", "sleep 300 & echo $!"]);
  const noisy = spawn(["--", "sh", "-c", "{ while :; do echo x; sleep 0.02; done; } & echo hi"]);
  const [pid, printed] = await Promise.all([textOf(silent.stdout), textOf(noisy.stdout)]);
  process.kill(Number(pid));
  expect(printed).toContain("hi\n");
  expect(await Promise.all([silent.exited, noisy.exited])).toEqual([0, 0]);
});

test("signals reach the command, and one that ends it shows in the exit code", async () => {
  const { spawn } = await createWorker();
  const script = "trap 'echo caught; exit 5' TERM; echo ready; while :; do sleep 0.05; done";
  const child = spawn(["--", "sh", "-c", script]);
  const reader = (child.stdout as ReadableStream<Uint8Array>).getReader();
  expect(new TextDecoder().decode((await reader.read()).value)).toBe("ready\n");
  child.kill("SIGTERM");
  expect(new TextDecoder().decode((await reader.read()).value)).toBe("caught\n");
  expect(await child.exited).toBe(5);
  expect(await spawn(["--", "sh", "-c", "kill -9 $$"]).exited).toBe(137);
  // A reader that stops early, like `head`.
  const piped = spawn(["--", "yes"]);
  const once = (piped.stdout as ReadableStream<Uint8Array>).getReader();
  await once.read();
  await once.cancel();
  expect([await piped.exited, await textOf(piped.stderr)]).toEqual([141, ""]);
});

test("the command gets a terminal of the same size, and Ctrl-C reaches it", async () => {
  const { spawn, task } = await createWorker();
  let shown = "";
  await using terminal = new Bun.Terminal({
    cols: 91,
    rows: 17,
    data: (_, piece) => {
      shown += new TextDecoder().decode(piece);
    },
  });
  const script =
    'test -t 0 && test -t 1 && test -t 2 && stty size; trap "echo stopped; exit 4" INT; read x; echo "got $x"; read y';
  const child = spawn(["--", "sh", "-c", script], terminal);
  await until(() => shown.includes("17 91"));
  terminal.write("hello\r");
  await until(() => shown.includes("got hello"));
  terminal.write("\u0003");
  expect(await child.exited).toBe(4);
  await until(() => shown.includes("stopped"));
  // The command's terminal has converted the line ends; the outer one leaves them as they are.
  expect(shown).toContain("17 91\r\n");
  expect(shown).not.toContain("\r\r\n");
  expect((await task()).status_note).toMatch(/^Exit code 4 after \d+ s: stopped$/);
});

test("a command that cannot be started is a fault, and its task is cancelled", async () => {
  const { spawn, task } = await createWorker();
  const missing = spawn(["--", "no-such-program"]);
  expect([await missing.exited, await textOf(missing.stderr)]).toEqual([
    3,
    "relay: no-such-program cannot be found: check the command\n",
  ]);
  expect(await task()).toMatchObject({ status: "cancelled" });
});

/** Runs in this process with output that the test supplies; `end` ends the command. */
async function createRun(url?: string) {
  const { env, task } = await createWorker(url);
  const clock = createTestClock();
  const ended = Promise.withResolvers<number>();
  let print: Observe = () => {};
  const runChild: RunChild = (_io, _command, observe) => {
    print = observe;
    return ended.promise;
  };
  let err = "";
  const io = {
    env,
    platform: "linux" as const,
    home: tempFolder(),
    host: "workbench",
    out: () => {},
    flush: async () => {},
    err: (text: string) => {
      err += text;
    },
    out_is_terminal: false,
    err_is_terminal: false,
    input: async () => "",
    confirm: null,
    signal: new AbortController().signal,
    now: systemClock.now,
    timers: { ...clock, jitter: () => 0.5 },
    open: () => false,
  };
  const code = run(io, ["make", "all"], {}, runChild);
  return {
    clock,
    task,
    code,
    print: (text: string) => print(bytes(text)),
    end: ended.resolve,
    err: () => err,
  };
}

test("the task shows the last line as its note and the percentage as its progress", async () => {
  const { clock, task, code, print, end } = await createRun();
  await until(async () => (await task())?.status === "in_progress" && clock.pendingIn(2) === 1);
  print("first\n\u001b[1mStep 3\u001b[0m  10%\r\u001b[KStep 3  42.7%");
  await clock.advance(2);
  await until(async () => (await task()).progress === 42);
  expect(await task()).toMatchObject({ title: "make all", status_note: "Step 3  42.7%" });
  await clock.skip(3_723);
  end(0);
  expect(await code).toBe(0);
  expect(await task()).toMatchObject({
    status: "done",
    progress: 100,
    status_note: "Exit code 0 after 1 h 2 min: Step 3  42.7%",
  });
});

test("a server that is away does not delay the command, and is then given up", async () => {
  const { clock, code, end, err } = await createRun("http://127.0.0.1:1");
  // The first attempt has failed, and the pause after it has begun.
  await until(() => clock.pendingIn(0.5) === 1);
  await clock.advance(100);
  end(6);
  await until(() => clock.pendingIn(15) >= 1);
  await clock.skip(16);
  expect(await code).toBe(6);
  expect(err()).toMatch(
    /^relay: the end of the command could not be reported: (no answer|The server cannot be reached)\n$/,
  );
  // Nothing remains that keeps the process alive or creates a task later.
  await until(() => clock.pending() === 0);
});

test("a server that comes back is told the end at once, with the task that it never got", async () => {
  await using front = startFront(app.url, { away: true });
  const { clock, task, code, print, end, err } = await createRun(front.url);
  await until(() => clock.pendingIn(0.5) === 1);
  await clock.skip(1);
  await until(() => clock.pendingIn(1) === 1);
  front.away = false;
  print("Finished");
  // Time stands still, so no pause passes.
  end(3);
  expect([await code, err()]).toEqual([3, ""]);
  expect(await task()).toMatchObject({
    status: "cancelled",
    status_note: "Exit code 3 after 1 s: Finished",
  });
});

test("the last line is found in any output", () => {
  const cases: [string[], string | null, number | null][] = [
    [[], null, null],
    [["\n\r\n"], null, null],
    [["one\ntwo\n\n"], "two", null],
    [["progress: 7", "5%"], "progress: 75%", 75],
    [["150% of 30 %"], "150% of 30 %", 30],
    // What a terminal shows of Ctrl-C and Ctrl-Z.
    [["one\n^C"], "one", null],
    [["two 5%^Z\r\n"], "two 5%", 5],
    [["^C^\\three ^C four"], "three ^C four", null],
    [["\u001b]0;title\u0007\u001b[31mred\u001b[0m"], "red", null],
    [["x".repeat(300)], `${"x".repeat(199)}…`, null],
    [["y".repeat(100_000), "\nend"], "end", null],
  ];
  for (const [pieces, text, percent] of cases) {
    const last = createLastLine();
    for (const piece of pieces) last.add(bytes(piece));
    expect(last.read()).toEqual({ text, percent });
  }
  expect([0.2, 61, 3_723].map(timeText)).toEqual(["0 s", "1 min 1 s", "1 h 2 min"]);
});
