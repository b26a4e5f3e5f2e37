/** `bun run demo`: a person and an agent use Relay over HTTP, step by step, in one terminal. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs, styleText } from "node:util";
import { type Client, createClient } from "../src/client/client.ts";
import { RelayError } from "../src/client/error.ts";
import { proxyOptions } from "../src/loopback.ts";
import type { StreamEvent } from "../src/model/event.ts";
import type { Question } from "../src/model/question.ts";

const HELP = `Usage: bun run demo [--url <address>] [--yes]

A person and an agent exchange a task and a question through Relay.

  --url <address>  a running server, such as http://127.0.0.1:3000 (or set RELAY_URL);
                   by default, the demo starts one with a temporary store
  --yes            answer the question automatically
  --help           show this text
`;

/** Milliseconds in which the server must have started. */
const START = 60_000;

/** Ends the demo with a one-line message. */
class DemoFault extends Error {}

type Role = "person" | "agent" | "event";
const COLOUR = { person: "cyan", agent: "yellow", event: "dim" } as const;

function say(role: Role, text: string): void {
  const name = role.padEnd(8);
  const coloured = process.stdout.isTTY && !process.env.NO_COLOR;
  process.stdout.write(`${coloured ? styleText(COLOUR[role], name) : name}${text}\n`);
}

/** Clean-up steps, run at every exit, latest first. */
const undo: (() => Promise<unknown>)[] = [];

let ending = false;

/** Cleans up, then exits; only the first call counts. */
async function end(code: number, fault?: string): Promise<void> {
  if (ending) return;
  ending = true;
  if (fault) process.stderr.write(`demo: ${fault}\n`);
  for (let step = undo.pop(); step; step = undo.pop()) {
    await Promise.race([step().catch(() => {}), Bun.sleep(5_000)]);
  }
  process.exit(code);
}

/** Starts Relay on a temporary store. Resolves to its address. */
async function startServer(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "relay-demo-"));
  undo.push(async () => rmSync(folder, { recursive: true, force: true }));
  const main = fileURLToPath(new URL("../src/main.ts", import.meta.url));
  const server = Bun.spawn([process.execPath, main], {
    // The rest of the environment is left out: it may name a real store.
    env: {
      PATH: process.env.PATH ?? "",
      PORT: "0",
      DATABASE_URL: `file:${join(folder, "relay.db")}`,
      LOG_LEVEL: "warn",
    },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  undo.push(async () => server.kill("SIGKILL"));
  undo.push(() => {
    server.kill("SIGTERM");
    return server.exited;
  });
  const late = setTimeout(() => server.kill("SIGKILL"), START);
  let out = "";
  for await (const chunk of server.stdout.pipeThrough(new TextDecoderStream())) {
    out += chunk;
    const url = /listening at (\S+)/.exec(out)?.[1];
    if (!url) continue;
    clearTimeout(late);
    return url;
  }
  throw new DemoFault(`the server did not start: ${(await server.stderr.text()).trim()}`);
}

/** Prints each event of the account; `next` resolves to the first that matches, past ones included. */
function follow(person: Client) {
  const seen: StreamEvent[] = [];
  let changed = Promise.withResolvers<boolean>();
  const wake = (more: boolean) => {
    changed.resolve(more);
    if (more) changed = Promise.withResolvers();
  };
  const read = async () => {
    for await (const event of person.events()) {
      say("event", [event.name, ...describe(event)].join("  "));
      seen.push(event);
      wake(true);
    }
  };
  void read()
    .catch(() => {})
    .then(() => wake(false));
  return async <Name extends StreamEvent["name"]>(
    name: Name,
    matches: (event: Extract<StreamEvent, { name: Name }>) => boolean = () => true,
  ) => {
    for (;;) {
      const { promise } = changed;
      const found = seen
        .filter((event): event is Extract<StreamEvent, { name: Name }> => event.name === name)
        .find(matches);
      if (found) return found;
      if (!(await promise)) throw new DemoFault("the event stream ended early");
    }
  };
}

function describe({ data }: StreamEvent): string[] {
  if ("unread" in data) return [`${data.unread} unread`];
  if ("question" in data) {
    const { status, answer } = data.question;
    return [status, ...(answer === null ? [] : [`"${answer}"`])];
  }
  if (!("task" in data)) return [];
  const { status, progress, status_note } = data.task;
  return [status, progress === null ? "" : `${progress}%`, status_note ?? ""].filter(Boolean);
}

/** Asks the person to type an option's number or label. */
async function typedAnswer({ options }: Question): Promise<string> {
  const lines = createInterface({ input: process.stdin });
  undo.push(async () => lines.close());
  const prompt = `type the answer, 1 to ${options.length}, then Enter:`;
  say("person", prompt);
  for await (const line of lines) {
    const typed = line.trim().toLowerCase();
    const chosen = options.find(
      (label, i) => typed === label.toLowerCase() || typed === `${i + 1}`,
    );
    if (chosen !== undefined) return chosen;
    say("person", prompt);
  }
  throw new DemoFault("standard input ended without an answer; use --yes to answer automatically");
}

async function play(url: string, unattended: boolean): Promise<void> {
  process.stdout.write(`A person and an agent at ${url}\n\n`);
  const connect = (credential?: string) =>
    createClient({
      url,
      agent_host: "demo",
      fetch: (at, init) => fetch(at, { ...proxyOptions(at), ...init }),
      ...(credential && { credential }),
    });

  say("person", "creates an account");
  const { account, token } = await connect().accounts.create();
  const person = connect(token);
  // The demo leaves nothing behind on a server that keeps running.
  undo.push(() => person.accounts.delete());

  say("person", `creates a key for an agent in account ${account.id}`);
  const { key, secret } = await person.keys.create({ label: "Demo agent" });
  const agent = connect(secret);

  say("person", "opens the event stream");
  const next = follow(person);
  await next("ready");

  say("agent", `starts a task with the key ${key.prefix}…${key.last4}`);
  const task = await agent.tasks.create({ title: "Release version 2", status: "in_progress" });
  for (const [progress, status_note] of [
    [20, "Building the packages"],
    [60, "Running the tests"],
  ] as const) {
    await Bun.sleep(300);
    say("agent", `reports ${progress}%`);
    await agent.tasks.update(task.id, { progress, status_note });
  }

  const prompt = "All tests pass. Where should I release it?";
  say("agent", `asks "${prompt}" and waits`);
  const waiting = agent.questions
    .askAndWait({
      prompt,
      kind: "choice",
      options: ["Staging", "Production", "Nowhere"],
      task_id: task.id,
    })
    .then((question) => ({ question, at: performance.now() }));
  const replying = (async () => {
    const { question } = (await next("question.created")).data;
    say("person", question.options.map((label, i) => `${i + 1} ${label}`).join("   "));
    const answer = unattended ? question.options[0]! : await typedAnswer(question);
    // Let the agent begin to wait.
    if (unattended) await Bun.sleep(300);
    say("person", `answers "${answer}"`);
    const at = performance.now();
    await person.questions.answer(question.id, { answer });
    return at;
  })();
  const [{ question, at: returned_at }, sent_at] = await Promise.all([
    // If the question expires, the demo ends although nobody has typed anything.
    waiting.then((asked) => {
      if (asked.question.status === "answered") return asked;
      throw new DemoFault(`the question is ${asked.question.status}`);
    }),
    replying,
  ]);
  const took = (returned_at - sent_at).toFixed(1);
  say("agent", `gets the answer "${question.answer}" ${took} ms after it was sent`);

  say("agent", "finishes the task");
  const done = { status: "done", status_note: `Released to: ${question.answer}` } as const;
  await agent.tasks.update(task.id, done);
  await next("task.updated", ({ data }) => data.task.status === "done");

  say("person", "deletes the account");
  undo.pop();
  await person.accounts.delete();
  await next("account.deleted");
}

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        url: { type: "string", default: process.env.RELAY_URL || undefined },
        yes: { type: "boolean", default: false },
        help: { type: "boolean", default: false },
      },
    });
    const { url } = values;
    if (url !== undefined && !(/^https?:/.test(url) && URL.canParse(url))) {
      throw new DemoFault("--url must be an http(s) address");
    }
    return { ...values, url: url?.replace(/\/+$/, "") };
  } catch (error) {
    if (error instanceof DemoFault) throw error;
    throw new DemoFault(`${(error as Error).message.split(".")[0]}; --help shows the options`);
  }
}

// Ctrl-C, a closed terminal and SIGTERM clean up too.
process.on("SIGHUP", () => void end(129));
process.on("SIGINT", () => void end(130));
process.on("SIGTERM", () => void end(143));

/** Says in one line what went wrong. */
function messageOf(error: unknown): string {
  if (error instanceof DemoFault) return error.message;
  if (!(error instanceof RelayError)) return String(error).split("\n")[0]!;
  return error.code === "no_response" ? "no response from the server" : error.message;
}

try {
  const { url, yes, help } = readOptions();
  if (help) process.stdout.write(HELP);
  else await play(url ?? (await startServer()), yes);
  await end(0);
} catch (error) {
  await end(1, messageOf(error));
}
