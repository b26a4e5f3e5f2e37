/**
 * `bun run fuzz`: Schemathesis tries every route of the OpenAPI document with valid and invalid
 * data, as an account and as an agent. Needs Python 3. `bun run fuzz 30` takes about 30 minutes
 * instead of 4; further arguments go to Schemathesis (`bun run fuzz 4 --seed 5`).
 */

import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createPlace } from "../../bench/place.ts";
import { within } from "../../bench/within.ts";
import type { Question } from "../../src/model/question.ts";
import { type Agent, client, createAgent, createPerson, type Person } from "../support/client.ts";

const VERSION = "4.32.5";
/** Seconds for each of the two credentials, and less for routes that end them: four minutes in all. */
const BUDGET = (minutes() * 60 * 3) / 7;

const DELETE_ACCOUNT = "DELETE /v1/account";
const DELETE_KEY = "DELETE /v1/keys/{key_id}";

/** Milliseconds between two looks at the questions, and until one is answered. */
const PACE = 100;
const THINKING = 400;
/** Seconds for the start and the stop of the server, and minutes for an installation and for each part of the run. */
const SERVER = 60;
const PART = 10;

/** The first argument: about how many minutes the whole run takes. */
function minutes(): number {
  const [given = "4"] = process.argv.slice(2);
  if (!/^[1-9]\d{0,3}$/.test(given))
    throw new Error("usage: bun run fuzz [minutes] [options of st]");
  return Number(given);
}

const root = fileURLToPath(new URL("../../", import.meta.url));
const say = (text: string) => process.stdout.write(`${text}\n`);

async function run(command: string[], seconds = 0): Promise<boolean> {
  const child = Bun.spawn(command, {
    timeout: (PART * 60 + seconds) * 1000,
    cwd: folder,
    stdin: "ignore",
    stdout: "inherit",
    stderr: "inherit",
  });
  place.children.push(child);
  return (await child.exited) === 0;
}

/** Installs Schemathesis once; returns the path of its command. */
async function install(): Promise<string> {
  const folder = join(root, "node_modules/.cache/schemathesis", VERSION);
  const command = join(folder, "bin/st");
  // Written by the last step of an installation, so an interrupted one is repeated.
  const done = join(folder, "installed");
  if (existsSync(done)) return command;
  mkdirSync(folder, { recursive: true });
  const ok =
    (await run(["python3", "-m", "venv", folder])) &&
    (await run([join(folder, "bin/pip"), "install", "-q", `schemathesis==${VERSION}`]));
  if (!ok)
    throw new Error("Schemathesis cannot be installed: it needs python3 with venv, and PyPI");
  await Bun.write(done, "");
  return command;
}

/** A server process on its own store, without rate limits. */
async function serve() {
  const child = Bun.spawn([process.execPath, "--no-orphans", join(root, "src/main.ts")], {
    env: {
      PATH: process.env.PATH ?? "",
      PORT: "0",
      DATABASE_URL: `file:${join(folder, "relay.db")}`,
      RATE_LIMITS: "off",
    },
    stdout: "pipe",
    stderr: Bun.file(join(folder, "server.log")),
  });
  place.children.push(child);
  return { child, url: await within(SERVER, "the start of the server", addressIn(child.stdout)) };
}

async function addressIn(output: ReadableStream<Uint8Array>): Promise<string> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of output) {
    text += decoder.decode(chunk, { stream: true });
    const url = /listening at (\S+)/.exec(text)?.[1];
    if (url) return url;
  }
  throw new Error(
    `the server did not start:\n${await Bun.file(join(folder, "server.log")).text()}`,
  );
}

/**
 * Keeps a few questions pending and answers the others, and writes into an empty inbox, so that waits
 * end and there is room for the next question. Concurrent fuzzing may well make any of this fail.
 */
async function live(person: Person, agent: Agent): Promise<void> {
  const { body } = await person.send("GET /v1/questions");
  const questions: Question[] = body.questions ?? [];
  const old = questions.filter(({ created_at }) => Date.now() - created_at * 1000 > THINKING);
  for (const { id, options } of old) {
    await person.send(`POST /v1/questions/${id}/answer`, { answer: options[0] ?? "x" });
  }
  if (questions.length - old.length < 3) {
    await agent.send("POST /v1/questions", { prompt: "?", kind: "text" });
  }
  const { key } = agent;
  const inbox = await person.send(`GET /v1/keys/${key.id}/inbox?limit=1`);
  if (inbox.body.unread === 0) {
    await person.send("POST /v1/messages", { key_id: key.id, text: "?" });
  }
}

const place = createPlace("relay-fuzz");
const { folder } = place;
let failed = true;
try {
  const st = await install();
  const { child, url } = await serve();
  const config = join(root, "test/fuzz/schemathesis.toml");
  const fuzz = (name: string, credential: string, seconds: number, options: string[]) => {
    say(`\n--- ${name}\n`);
    const header = `Authorization: Bearer ${credential}`;
    const command = [
      ...[st, "--config-file", config, "run", `${url}/v1/openapi.json`, "-H", header],
      ...["--max-time", String(Math.ceil(seconds)), ...options, ...process.argv.slice(3)],
    ];
    return run(command, seconds);
  };

  const person = await createPerson(url);
  const agent = await createAgent(url, person);
  let over = false;
  const life = (async () => {
    for (; !over; await Bun.sleep(PACE)) await live(person, agent);
  })();
  // Routes that end other resources have accounts of their own; otherwise the rest would seem to lose data.
  const without_ends = ["--exclude-name", DELETE_ACCOUNT, "--exclude-name", DELETE_KEY];
  const keys_alone = ["--include-path-regex", "^/v1/keys"];
  const deletion_alone = ["--include-name", DELETE_ACCOUNT];
  const throwaway = async () => (await createPerson(url)).token;
  const results = [
    await fuzz("as the account", person.token, BUDGET, without_ends),
    await fuzz("as an agent", agent.secret, BUDGET, without_ends),
    await fuzz("keys and their end", await throwaway(), BUDGET / 4, keys_alone),
    await fuzz("the end of an account", await throwaway(), BUDGET / 12, deletion_alone),
  ];
  over = true;
  await life;
  const alive = (await client(url)("GET /health")).status === 200;
  const log = await Bun.file(join(folder, "server.log")).text();
  const errors = log.split("\n").filter((line) => line.includes('"level":"error"'));
  for (const line of errors) say(line);
  child.kill("SIGTERM");
  await within(SERVER, "the stop of the server", child.exited);
  failed = !alive || errors.length > 0 || results.includes(false);
} finally {
  await place.end();
}
say(failed ? "\nFAILED" : "\nok");
process.exit(failed ? 1 : 0);
