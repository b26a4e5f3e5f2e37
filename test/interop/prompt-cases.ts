/** Cases in which a coding agent asks for permission through Relay, tried with the real program. */

import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { SET_UPS } from "../../src/web/person/agents/set-up.ts";
import type { Context, Outcome, Result } from "./client.ts";
import { type Model, promptFor, type ToolCall } from "./models/model.ts";
import { startServer } from "./server.ts";
import { type Terminal, withoutBlanks } from "./terminal.ts";

const CLI = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));

/** Where an agent runs, and what it connects to. */
export interface Place {
  /** Folder of the programs that npm installed. */
  readonly bin: string;
  readonly home: string;
  readonly project: string;
  readonly key: string;
  readonly model_url: string;
  /** Seconds that a question lives; null: the usual time. */
  readonly wait: number | null;
  /** Its whole environment, except the model's variables. */
  readonly env: Readonly<Record<string, string>>;
}

export interface CodingAgent {
  readonly client: "claude_code" | "codex";
  /** Whether its terminal shows its own prompt while a hook waits. */
  readonly asks_meanwhile: boolean;
  readonly startModel: () => Model;
  /** A tool call that runs this command and needs permission. */
  readonly callOf: (command: string) => ToolCall;
  /** A call that lets another agent make a call meanwhile; the same call where calls run side by side. */
  readonly inBackground: (call: ToolCall) => ToolCall;
  /** What the agent's own prompt says, and what to type there. */
  readonly prompt: string;
  readonly yes: string;
  readonly no: string;
  readonly start: (place: Place, prompt: string) => Promise<Terminal>;
}

/** Seconds until something must have happened. */
const TIME_LIMIT = 60;
/** Seconds that an unanswered question lives. */
const SHORT_WAIT = 15;
/** Seconds of a long wait. */
const LONG_WAIT = 180;

/** The command of a hook, where it is not an MCP tool. */
export const hookCommand = (client: string, { wait }: Place): string =>
  `${process.execPath} ${CLI} hook ${client}${wait === null ? "" : ` --wait ${wait}s`}`;

/** Sets the agent up as a user does; the key and the wait are then added to its files. */
export async function connectAgent(client: string, { env }: Place): Promise<void> {
  const command = [process.execPath, CLI, "connect", client, "--approve", "--yes"];
  const child = Bun.spawn(command, {
    ...{ env, stdout: "ignore", stderr: "pipe", timeout: TIME_LIMIT * 1000 },
  });
  if ((await child.exited) !== 0) throw new Error(await new Response(child.stderr).text());
}

/** Sets the agent up with the lines that the page shows for a key, in a shell. */
export async function runPageLines(client: string, { bin, key, env }: Place): Promise<void> {
  const { withKey } = SET_UPS.find((one) => one.client === client)!;
  const [{ code = "" } = {}] = withKey(env.RELAY_URL!, key, true);
  const child = Bun.spawn(["bash", "-c", code], {
    env: { ...env, PATH: `${bin}:${env.PATH}` },
    stdin: "ignore",
    stdout: "ignore",
    stderr: "pipe",
    timeout: TIME_LIMIT * 1000,
  });
  if ((await child.exited) !== 0) throw new Error(await new Response(child.stderr).text());
}

/** What follows the address that `relay connect` writes. */
export const waitQuery = ({ wait }: Place): string => (wait === null ? "" : `&wait=${wait}`);

type Truthy<T> = Exclude<T, null | undefined | false | 0 | "">;

/** Resolves to what `check` finds once it finds something. */
async function until<T>(
  what: string,
  check: () => T | Promise<T>,
  seconds = TIME_LIMIT,
): Promise<Truthy<T>> {
  const end = performance.now() + seconds * 1000;
  while (performance.now() < end) {
    const value = await check();
    if (value) return value as Truthy<T>;
    await Bun.sleep(100);
  }
  throw new Error(`in ${seconds} s not: ${what}`);
}

/** Presses a key until it has its effect: a prompt accepts none in its first moments. */
const typeUntil = (
  terminal: Terminal,
  key: string,
  what: string,
  check: () => Promise<boolean> | boolean,
) =>
  until(what, async () => {
    if (await check()) return true;
    terminal.type(key);
    return false;
  });

/** An account with a key, and a project in which an agent works. */
async function createWorld(context: Context, agent: CodingAgent, folder: string) {
  let { url } = context;
  const send = async (request: string, body?: object, credential = "none"): Promise<any> => {
    const [method, path] = request.split(" ") as [string, string];
    const response = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${credential}`, "content-type": "application/json" },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { ...((await response.json()) as object), http: response.status };
  };
  const home = join(context.dir, folder);
  const project = join(home, "project");
  await mkdir(project, { recursive: true });
  const model = agent.startModel();
  const terminals: Terminal[] = [];
  let account = "";
  let key = "";
  const signUp = async () => {
    account = (await send("POST /v1/accounts", {})).token;
    key = (await send("POST /v1/keys", { label: "Coder" }, account)).secret;
  };

  return {
    signUp,
    model,
    home,
    /** A different server from the one of all cases. */
    use: (other: string) => {
      url = other;
    },
    /** Starts the agent with a model that runs these commands, all at once. */
    async start(calls: readonly ToolCall[], wait: number | null = null): Promise<Terminal> {
      if (key === "") await signUp();
      const env = { PATH: process.env.PATH ?? "", HOME: home, RELAY_KEY: key, RELAY_URL: url };
      const bin = join(context.dir, "node_modules/.bin");
      const place = { bin, home, project, key, model_url: model.url, wait, env };
      const terminal = await agent.start(place, promptFor(calls));
      terminals.push(terminal);
      return terminal;
    },
    has: (name: string) => existsSync(join(project, name)),
    /** The waiting questions, once there are this many. */
    pending: (count: number): Promise<any[]> =>
      until(`${count} questions`, async () => {
        const { questions } = await send("GET /v1/questions", undefined, account);
        return questions.length === count && questions.toReversed();
      }),
    question: (id: string) => send(`GET /v1/questions/${id}`, undefined, account),
    answer: (id: string, body: object) => send(`POST /v1/questions/${id}/answer`, body, account),
    token: () => account,
    url: () => url,
    async end() {
      for (const terminal of terminals) await terminal[Symbol.asyncDispose]();
      await model.stop();
    },
  };
}

type World = Awaited<ReturnType<typeof createWorld>>;

function check(holds: boolean, what: string, found?: unknown): void {
  if (!holds) throw new Error(`${what}: ${JSON.stringify(found)}`);
}

/** The cases, by column of the table. */
function casesOf(context: Context, agent: CodingAgent) {
  const make = agent.callOf("touch made");
  const shows = ({ shown }: Terminal) => shown().includes(withoutBlanks(agent.prompt));
  const untilShown = (terminal: Terminal, seconds?: number) =>
    until("its own prompt", () => shows(terminal), seconds);
  const untilResult = ({ model }: World) => until("a result", () => model.results[0]);

  /** Nobody permitted the command in Relay, so only the agent's own prompt can. */
  const decideLocally = async (world: World, terminal: Terminal, seconds?: number) => {
    await untilShown(terminal, seconds);
    check(!world.has("made"), "it ran without permission");
    await typeUntil(terminal, agent.yes, "the file of a command that was permitted locally", () =>
      world.has("made"),
    );
  };

  const isCancelled = async (world: World, id: string) =>
    (await world.question(id)).status === "cancelled";
  const untilCancelled = (world: World, id: string) =>
    until("a cancelled question", () => isCancelled(world, id));

  return {
    async allow(world: World) {
      const command = `touch made # ${"long ".repeat(1_000)}`;
      const terminal = await world.start([agent.callOf(command)]);
      const [question] = await world.pending(1);
      const { action, options } = await world.question(question.id);
      const { client, form, text, folder } = action;
      check(text === command, "not the whole command", action);
      check(client === agent.client && form === "command", "wrong action", action);
      check(folder.endsWith("project"), "wrong folder", action);
      check(options.slice(0, 2).join() === "Allow,Deny", "wrong options", options);
      if (agent.asks_meanwhile) await untilShown(terminal);
      check(!world.has("made"), "it ran before the answer");
      await world.answer(question.id, { answer: "Allow" });
      await until("the file of the command", () => world.has("made"));
      await untilResult(world);
    },
    async deny(world: World) {
      await world.start([make]);
      const [question] = await world.pending(1);
      await world.answer(question.id, { answer: "Deny", note: "Not on a Friday" });
      const result = await untilResult(world);
      check(result.includes("Not on a Friday"), "the note did not reach the model", result);
      check(!world.has("made"), "it ran though it was denied");
    },
    async page(world: World) {
      await world.start([make]);
      await world.pending(1);
      await allowInPage(world, () => world.has("made"));
    },
    async "local yes"(world: World): Promise<Outcome> {
      if (!agent.asks_meanwhile) return "none";
      const terminal = await world.start([make]);
      const [question] = await world.pending(1);
      await decideLocally(world, terminal);
      await untilCancelled(world, question.id);
      return "ok";
    },
    async "local no"(world: World) {
      const terminal = await world.start([make]);
      const [question] = await world.pending(1);
      if (agent.asks_meanwhile) await untilShown(terminal);
      await typeUntil(terminal, agent.no, "a cancelled question", () =>
        isCancelled(world, question.id),
      );
      const { http } = await world.answer(question.id, { answer: "Allow" });
      check(http === 409, "it was answered all the same", http);
      check(!world.has("made"), "it ran without permission");
    },
    async two(world: World) {
      const calls = ["touch one", "touch two"].map(agent.callOf).map(agent.inBackground);
      await world.start(calls);
      const questions = await world.pending(2);
      for (const { id } of questions) {
        const { action } = await world.question(id);
        const answer = action.text === "touch one" ? "Deny" : "Allow";
        check((await world.answer(id, { answer })).http === 200, "it was not answered", action);
      }
      await until("the file of the command", () => world.has("two"));
      await until("the note of a denial", () =>
        world.model.results.some((text) => /denied/.test(text)),
      );
      check(!world.has("one"), "the answers were mixed up");
    },
    async nobody(world: World) {
      const terminal = await world.start([make], SHORT_WAIT);
      const [question] = await world.pending(1);
      const expired = async () => (await world.question(question.id)).status === "expired";
      await until("the end of the question", expired, SHORT_WAIT + TIME_LIMIT);
      await decideLocally(world, terminal);
    },
    async away(world: World) {
      const server = await startServer(await folderIn(world, "store"));
      world.use(server.url);
      await world.signUp();
      server.stop("SIGKILL");
      await server.exited;
      const terminal = await world.start([make]);
      await decideLocally(world, terminal);
    },
    async killed(world: World) {
      const server = await startServer(await folderIn(world, "store"));
      world.use(server.url);
      const terminal = await world.start([make]);
      await world.pending(1);
      server.stop("SIGKILL");
      await decideLocally(world, terminal, 2 * TIME_LIMIT);
    },
    async long(world: World): Promise<Outcome> {
      if (!context.long || agent.client !== "claude_code") return "none";
      await world.start([make]);
      const [question] = await world.pending(1);
      await Bun.sleep(LONG_WAIT * 1000);
      check(!world.has("made"), "it ran before the answer");
      await world.answer(question.id, { answer: "Allow" });
      await until("the file of the command", () => world.has("made"));
      return "ok";
    },
  };
}

async function folderIn(world: World, name: string): Promise<string> {
  const folder = join(world.home, name);
  await mkdir(folder);
  return folder;
}

/** Signs in to the page with Chromium and presses Allow, again if necessary, since a page ignores early clicks. */
async function allowInPage({ token, url }: World, is_done: () => boolean): Promise<void> {
  const browser = await chromium.launch({
    executablePath: Bun.which("chromium")!,
    args: ["--no-sandbox", "--disable-gpu"],
  });
  try {
    const context = await browser.newContext();
    await context.addInitScript((kept) => localStorage.setItem("relay.token", kept), token());
    const page = await context.newPage();
    await page.goto(`${url()}/`);
    const allow = page.getByRole("button", { name: "Allow", exact: true });
    await until("the file of the command", async () => {
      await allow.click({ timeout: 1_000 }).catch(() => {});
      return is_done();
    });
  } finally {
    await browser.close();
  }
}

/** Runs every case with the agent, one after the other. */
export async function tryPrompts(context: Context, agent: CodingAgent): Promise<Result["checks"]> {
  const checks: Record<string, Outcome> = {};
  for (const [name, run] of Object.entries(casesOf(context, agent))) {
    const world = await createWorld(context, agent, name.replace(" ", "-"));
    try {
      checks[name] = (await run(world)) ?? "ok";
    } catch (error) {
      checks[name] = { fault: String(error) };
    } finally {
      await world.end();
    }
  }
  return checks;
}
