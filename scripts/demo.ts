/** `bun run demo`: a person and an agent at work over HTTP, step by step, in one terminal. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs, styleText } from "node:util";
import type { Account } from "../src/model/account.ts";
import type { Key } from "../src/model/key.ts";
import type { Question } from "../src/model/question.ts";
import type { Task } from "../src/model/task.ts";

const HELP = `Usage: bun run demo [--url <address>] [--yes]

A person and an agent exchange a task and a question through Relay.

  --url <address>  a server that runs, such as http://127.0.0.1:3000; also RELAY_URL.
                   Without it the demo starts one on a temporary store.
  --yes            answers the question by itself
  --help           shows this text
`;

/** Ends the demo with one line for the person who runs it. */
class DemoFault extends Error {}

type Role = "person" | "agent" | "event";
const COLOUR = { person: "cyan", agent: "yellow", event: "dim" } as const;

function say(role: Role, text: string): void {
  const name = role.padEnd(8);
  const coloured = process.stdout.isTTY && !process.env.NO_COLOR;
  process.stdout.write(`${coloured ? styleText(COLOUR[role], name) : name}${text}\n`);
}

/** What is to be undone at the end, however it comes; the last one first. */
const undo: (() => Promise<unknown>)[] = [];

let ending = false;

/** Undoes, then ends the process; only the first cause counts. */
async function end(code: number, fault?: string): Promise<void> {
  if (ending) return;
  ending = true;
  if (fault) process.stderr.write(`demo: ${fault}\n`);
  for (let step = undo.pop(); step; step = undo.pop()) {
    await Promise.race([step().catch(() => {}), Bun.sleep(5_000)]);
  }
  process.exit(code);
}

/** Starts Relay on a temporary store and resolves to its address. */
async function startServer(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "relay-demo-"));
  undo.push(async () => rmSync(folder, { recursive: true, force: true }));
  const main = fileURLToPath(new URL("../src/main.ts", import.meta.url));
  const server = Bun.spawn([process.execPath, main], {
    // Nothing else of the environment: the demo must not touch the store that it may name.
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
  let out = "";
  for await (const chunk of server.stdout.pipeThrough(new TextDecoderStream())) {
    out += chunk;
    const url = /listening at (\S+)/.exec(out)?.[1];
    if (url) return url;
  }
  throw new DemoFault(`the server did not start: ${(await server.stderr.text()).trim()}`);
}

/** Requests with one credential. */
function client(url: string, credential?: string) {
  const open = async (request: `${string} /${string}`, body?: object): Promise<Response> => {
    const [method, path] = request.split(" ") as [string, string];
    const response = await fetch(url + path, {
      method,
      headers: {
        ...(credential && { authorization: `Bearer ${credential}` }),
        ...(body && { "content-type": "application/json" }),
        "x-agent-host": "demo",
      },
      ...(body && { body: JSON.stringify(body) }),
    }).catch(() => {
      throw new DemoFault(`no server answers at ${url}`);
    });
    if (response.ok) return response;
    const problem = (await response.json().catch(() => null)) as { detail?: string } | null;
    throw new DemoFault(`${request}: ${response.status} ${problem?.detail ?? "is not of Relay"}`);
  };
  const send = async <Body>(request: `${string} /${string}`, body?: object): Promise<Body> => {
    const response = await open(request, body);
    if (response.status === 204) return undefined as Body;
    return (await response.json().catch(() => {
      throw new DemoFault(`${request}: the answer is not of Relay`);
    })) as Body;
  };
  return { open, send };
}

interface StreamEvent {
  readonly name: string;
  readonly data: { readonly task?: Task; readonly unread?: number; readonly question?: Question };
}

/** Prints each event of the account as it comes; `next` resolves to the first that matches. */
function follow(stream: NonNullable<Response["body"]>) {
  const seen: StreamEvent[] = [];
  let changed = Promise.withResolvers<boolean>();
  const wake = (more: boolean) => {
    changed.resolve(more);
    if (more) changed = Promise.withResolvers();
  };
  const read = async () => {
    let rest = "";
    for await (const chunk of stream.pipeThrough(new TextDecoderStream())) {
      const frames = (rest + chunk).split("\n\n");
      rest = frames.pop()!;
      for (const frame of frames) {
        const [, name, data] = /^event: (\S+)\ndata: (.*)$/.exec(frame) ?? [];
        if (!name || !data) continue;
        const event = { name, data: JSON.parse(data) as StreamEvent["data"] };
        say("event", [name, ...describe(event)].join("  "));
        seen.push(event);
        wake(true);
      }
    }
  };
  void read()
    .catch(() => {})
    .then(() => wake(false));
  return async (matches: (event: StreamEvent) => boolean): Promise<StreamEvent> => {
    for (;;) {
      const { promise } = changed;
      const found = seen.find(matches);
      if (found) return found;
      if (!(await promise)) throw new DemoFault("the event stream ended early");
    }
  };
}

function describe({ data: { task, question, unread } }: StreamEvent): string[] {
  if (unread !== undefined) return [`${unread} unread`];
  if (question) return [question.status, ...(question.answer ? [`"${question.answer}"`] : [])];
  if (!task) return [];
  const progress = task.progress === null ? [] : [`${task.progress} %`];
  return [task.status, ...progress, ...(task.status_note ? [task.status_note] : [])];
}

/** The option that the person types, by its number or its label. */
async function typedAnswer({ options }: Question): Promise<string> {
  const lines = createInterface({ input: process.stdin });
  undo.push(async () => lines.close());
  const prompt = `types the answer, 1 to ${options.length}, then Enter:`;
  say("person", prompt);
  for await (const line of lines) {
    const typed = line.trim().toLowerCase();
    const chosen = options.find(
      (label, i) => typed === label.toLowerCase() || typed === `${i + 1}`,
    );
    if (chosen !== undefined) return chosen;
    say("person", prompt);
  }
  throw new DemoFault("standard input ended without an answer; --yes answers by itself");
}

/** The agent asks and sleeps until the person has answered. */
async function askAndWait(agent: ReturnType<typeof client>, body: object) {
  let question = await agent.send<Question>("POST /v1/questions?wait=50", body);
  while (question.status === "pending") {
    say("agent", "still waits");
    question = await agent.send<Question>(`GET /v1/questions/${question.id}?wait=50`);
  }
  return { question, at: performance.now() };
}

async function play(url: string, unattended: boolean): Promise<void> {
  process.stdout.write(`A person and an agent at ${url}\n\n`);

  say("person", "creates an account");
  const { account, token } = await client(url).send<{ account: Account; token: string }>(
    "POST /v1/accounts",
    {},
  );
  const person = client(url, token);
  // A server that goes on running keeps nothing of the demo.
  undo.push(() => person.send("DELETE /v1/account"));

  say("person", `creates a key for the agent of account ${account.id}`);
  const { key, secret } = await person.send<{ key: Key; secret: string }>("POST /v1/keys", {
    label: "Demo agent",
  });
  const agent = client(url, secret);

  say("person", "opens the event stream");
  const next = follow((await person.open("GET /v1/events")).body!);
  await next(({ name }) => name === "ready");

  say("agent", `starts a task with the key ${key.prefix}…${key.last4}`);
  const task = await agent.send<Task>("POST /v1/tasks", {
    title: "Release version 2",
    status: "in_progress",
  });
  const update = (patch: object) => agent.send<Task>(`PATCH /v1/tasks/${task.id}`, patch);
  for (const [progress, status_note] of [
    [20, "Builds the packages"],
    [60, "Runs the tests"],
  ] as const) {
    await Bun.sleep(300);
    say("agent", `reports ${progress} %`);
    await update({ progress, status_note });
  }

  const ask = {
    prompt: "All tests pass. Where shall I release it?",
    kind: "choice",
    options: ["Staging", "Production", "Nowhere"],
    task_id: task.id,
  };
  say("agent", `asks "${ask.prompt}" and waits`);
  const waiting = askAndWait(agent, ask);
  const replying = (async () => {
    const { question } = (await next(({ name }) => name === "question.created")).data;
    say("person", question!.options.map((label, i) => `${i + 1} ${label}`).join("   "));
    const answer = unattended ? question!.options[0]! : await typedAnswer(question!);
    // The agent is asleep by then.
    if (unattended) await Bun.sleep(300);
    say("person", `answers "${answer}"`);
    const at = performance.now();
    await person.send(`POST /v1/questions/${question!.id}/answer`, { answer });
    return at;
  })();
  const [{ question, at: returned_at }, sent_at] = await Promise.all([
    // A question that expires ends the demo though nobody has typed anything.
    waiting.then((asked) => {
      if (asked.question.status === "answered") return asked;
      throw new DemoFault(`the question is ${asked.question.status}`);
    }),
    replying,
  ]);
  const took = (returned_at - sent_at).toFixed(1);
  say("agent", `has the answer "${question.answer}", ${took} ms after it was sent`);

  say("agent", "finishes the task");
  await update({ status: "done", status_note: `Released to: ${question.answer}` });
  await next(({ data }) => data.task?.status === "done");

  say("person", "deletes the account");
  undo.pop();
  await person.send("DELETE /v1/account");
  await next(({ name }) => name === "account.deleted");
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

// Ctrl-C and a service manager's stop leave nothing behind either.
process.on("SIGINT", () => void end(130));
process.on("SIGTERM", () => void end(143));

try {
  const { url, yes, help } = readOptions();
  if (help) process.stdout.write(HELP);
  else await play(url ?? (await startServer()), yes);
  await end(0);
} catch (error) {
  const text = error instanceof DemoFault ? error.message : String(error);
  await end(1, text.split("\n")[0]);
}
