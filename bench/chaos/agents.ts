/** The agents of a run of chaos: over REST, by the official MCP client, and by `relay ask`. */

import { Client as McpClient, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { systemClock } from "../../src/clock.ts";
import { createUser } from "../../test/support/cli.ts";
import type { Agent, Person } from "../../test/support/client.ts";
import { newSent, type QuestionRecord, type TaskRecord } from "./model.ts";
import type { World } from "./world.ts";

/** Seconds of one wait. */
const WAIT = 25;
/** Calm seconds after an answer was acknowledged in which its agent must have it. */
const LATE = 10;
/** The same for `relay ask`, which tries again after up to 19 seconds. */
const LATE_COMMAND = 30;

export interface Owner {
  readonly person: Person;
  readonly agent: Agent;
  /** Begins the titles and prompts, so that each is unique. */
  readonly name: string;
}

function newTask(world: World, { person, agent }: Owner, title: string): TaskRecord {
  const record: TaskRecord = {
    title,
    account: person.account.id,
    key: agent.key.id,
    id: null,
    made: newSent(),
    patches: [],
    removed: null,
  };
  world.model.tasks.set(title, record);
  return record;
}

function newQuestion(
  world: World,
  { person, agent }: Owner,
  prompt: string,
  kind: "confirm" | "text",
  task: TaskRecord | null = null,
): QuestionRecord {
  const record: QuestionRecord = {
    prompt,
    account: person.account.id,
    key: agent.key.id,
    kind,
    task,
    id: null,
    made: newSent(),
    answers: [],
    cancelled: null,
    answered_at: null,
    told: null,
  };
  world.model.questions.set(prompt, record);
  return record;
}

interface Ended {
  readonly status: string;
  readonly answer: string | null;
}

/** The agent knows how its question ended: in time, and the same as the one who answered. */
function tell(
  { model }: World,
  question: QuestionRecord,
  ended: Ended,
  within: number = LATE,
): void {
  const { prompt, answered_at, answers } = question;
  model.note(prompt, `told ${JSON.stringify([ended.status, ended.answer])}`);
  question.told = { status: ended.status, answer: ended.answer };
  model.did(`told ${ended.status}`);
  const said = answers.some(({ answer }) => answer === ended.answer);
  if (ended.status === "answered" && !said) model.contradict(prompt, "told what nobody answered");
  if (answered_at === null) return;
  const late = model.calmBetween(answered_at, performance.now()) / 1000;
  if (late > within)
    model.contradict(prompt, `the waiter got its answer ${late.toFixed(1)} s late`);
}

/** Waits for the end of a question by long polls, to whichever process. */
async function waitFor(world: World, owner: Owner, question: QuestionRecord) {
  for (;;) {
    const answer = await world.request(newSent(), {
      entity: question.prompt,
      credential: owner.agent.secret,
      line: `GET /v1/questions/${question.id}?wait=${WAIT}`,
      ok: [200],
      wait: WAIT,
      may_give_up: false,
    });
    if (answer?.status !== 200) return;
    if (answer.body.status !== "pending") return tell(world, question, answer.body);
  }
}

/** Asks over REST and waits for the end. */
async function ask(world: World, owner: Owner, prompt: string, task: TaskRecord | null) {
  const { model, random } = world;
  const question = newQuestion(world, owner, prompt, random() < 0.5 ? "text" : "confirm", task);
  const way = world.pick(["waiting", "asking", "named"]);
  model.did(`REST ask ${way}`);
  const wait = way === "waiting" ? WAIT : 0;
  const body = {
    prompt,
    kind: question.kind,
    // Moved clocks must not expire it.
    expires_in: 86_400,
    ...(task && { task_id: task.id }),
    ...(way === "named" && { request_id: prompt }),
  };
  const made = await world.request(question.made, {
    entity: prompt,
    credential: owner.agent.secret,
    line: `POST /v1/questions${wait ? `?wait=${wait}` : ""}`,
    body,
    ok: way === "named" ? [200, 201] : [201],
    ...(way !== "named" && { key: crypto.randomUUID() }),
    wait,
  });
  if (made === null || made.status > 201) return;
  question.id = made.body.id;
  if (made.body.status !== "pending") return tell(world, question, made.body);
  if (random() < 0.1) {
    question.cancelled = newSent();
    model.did("REST cancel");
    await world.request(question.cancelled, {
      entity: prompt,
      credential: owner.agent.secret,
      line: `DELETE /v1/questions/${question.id}`,
      ok: [204],
      refused: [409],
      may_give_up: false,
    });
  }
  await waitFor(world, owner, question);
}

/** Creates tasks, changes them, asks about them, and sometimes deletes them. */
export async function restAgent(world: World, owner: Owner): Promise<void> {
  const { model, random } = world;
  const { secret } = owner.agent;
  for (let n = 0; !world.stopping; n++) {
    const title = `${owner.name} task ${n}`;
    const task = newTask(world, owner, title);
    model.did("REST create");
    const made = await world.request(task.made, {
      entity: title,
      credential: secret,
      line: "POST /v1/tasks",
      body: { title, description: `About ${title}` },
      ok: [201],
      key: crypto.randomUUID(),
    });
    if (made?.status !== 201) continue;
    task.id = made.body.id;
    let updated_at = made.body.updated_at;
    for (let i = 1 + Math.floor(random() * 4); i > 0; i--) {
      const patch = {
        ...newSent(),
        note: `${title} note ${i}`,
        progress: Math.floor(random() * 99),
      };
      task.patches.push(patch);
      model.did("REST PATCH");
      const changed = await world.request(patch, {
        entity: title,
        credential: secret,
        line: `PATCH /v1/tasks/${task.id}`,
        body: { status: "in_progress", status_note: patch.note, progress: patch.progress },
        ok: [200],
      });
      if (changed?.status !== 200) continue;
      const { status_note, progress } = changed.body;
      if (status_note !== patch.note || progress !== patch.progress) {
        model.contradict(title, `the response to a change has ${status_note}, ${progress}`);
      }
      if (changed.body.updated_at <= updated_at) model.contradict(title, "updated_at went back");
      updated_at = changed.body.updated_at;
      await world.pause(60);
    }
    await ask(world, owner, `${owner.name} question ${n}`, random() < 0.5 ? task : null);
    if (random() < 0.2) {
      task.removed = newSent();
      model.did("REST DELETE");
      await world.request(task.removed, {
        entity: title,
        credential: secret,
        line: `DELETE /v1/tasks/${task.id}`,
        // A repeated one finds nothing.
        ok: [204, 404],
        may_give_up: false,
      });
    }
    await world.pause(200);
  }
}

/** Asks at a steady pace, so that the queues of channels keep up. */
export async function reachingAgent(world: World, owner: Owner, pace: number): Promise<void> {
  for (let n = 0; !world.stopping; n++) {
    await Promise.all([ask(world, owner, `${owner.name} question ${n}`, null), Bun.sleep(pace)]);
  }
}

/** Races of one agent at a time. */
const RACES = 3;
/** Milliseconds within which a wait starts after its answer: about the moment of its commit, also with a slow store. */
const SPREADS = [4, 30, 150] as const;
/** Waits for one answer. */
const WAITS = 5;

/** Starts waits and their answers in about the same moment, in any two processes: no wait may miss its answer. */
export async function racingAgent(world: World, owner: Owner): Promise<void> {
  const lane = async (of: number) => {
    for (let n = 0; !world.stopping; n++) {
      await race(world, owner, `${owner.name} race ${of} ${n}`);
      await world.pause(60);
    }
  };
  await Promise.all(Array.from({ length: RACES }, (_, of) => lane(of)));
}

async function race(world: World, owner: Owner, prompt: string): Promise<void> {
  const { model, random } = world;
  const question = newQuestion(world, owner, prompt, "text");
  const made = await world.request(question.made, {
    entity: prompt,
    credential: owner.agent.secret,
    line: "POST /v1/questions",
    body: { prompt, kind: "text", expires_in: 86_400 },
    ok: [201],
    key: crypto.randomUUID(),
    may_give_up: false,
  });
  if (made?.status !== 201) return;
  question.id = made.body.id;
  model.did("race of a wait and an answer");
  const record = { ...newSent(), answer: `To ${prompt}`, note: null, way: "race" };
  question.answers.push(record);
  const give = async () => {
    const given = await world.request(record, {
      entity: prompt,
      credential: owner.person.token,
      line: `POST /v1/questions/${question.id}/answer`,
      body: { answer: record.answer },
      ok: [200],
      key: crypto.randomUUID(),
      may_give_up: false,
    });
    if (given?.status === 200) question.answered_at ??= performance.now();
  };
  const wait = async () => {
    await Bun.sleep(random() * world.pick(SPREADS));
    await waitFor(world, owner, question);
  };
  await Promise.all([give(), ...Array.from({ length: WAITS }, wait)]);
}

interface ToolResult {
  readonly isError?: boolean;
  readonly content: readonly { readonly text: string }[];
  /** A task or a question. */
  readonly structuredContent: Ended & { readonly id: string };
}

/** The official client: it does not repeat what it cannot know, and reconnects when something fails. */
export async function mcpAgent(world: World, owner: Owner): Promise<void> {
  const { model, random } = world;
  const headers = { authorization: `Bearer ${owner.agent.secret}` };
  const connect = async () => {
    const mcp = new McpClient({ name: "chaos", version: "1" });
    const url = new URL(`${world.anySlot().link.url}/mcp`);
    await mcp.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
    return mcp;
  };
  let mcp: McpClient | null = null;
  /** The result of a tool; null if it is not known what became of the call. */
  const call = async (entity: string, name: string, args: Record<string, unknown>) => {
    model.did(`MCP ${name}`);
    model.note(entity, `${name} ${JSON.stringify(args)}`);
    try {
      mcp ??= await connect();
      const options = { timeout: (Number(args.wait_seconds ?? 0) + 15) * 1000 };
      const result = (await mcp.callTool({ name, arguments: args }, options)) as ToolResult;
      const text = result.content[0]?.text ?? "";
      model.note(entity, `${name}: ${text.slice(0, 200)}`);
      if (!result.isError) return result.structuredContent;
      if (!/store_unavailable|rate_limited/.test(text)) {
        model.contradict(entity, `${name} failed: ${text}`);
      }
    } catch (error) {
      model.note(entity, `${name}: ${error}`);
      await mcp?.close().catch(() => {});
      mcp = null;
      await world.pause(400);
    }
    return null;
  };
  for (let n = 0; !world.stopping; n++) {
    const title = `${owner.name} task ${n}`;
    const task = newTask(world, owner, title);
    task.made.tries = 1;
    const made = await call(title, "create_task", { title });
    model.settle(task.made, made ? "acknowledged" : "unknown");
    if (made) {
      task.id = made.id;
      const patch = { ...newSent(), tries: 1, note: `${title} note`, progress: n % 99 };
      task.patches.push(patch);
      const args = { task_id: made.id, status_note: patch.note, progress: patch.progress };
      const changed = await call(title, "update_task", args);
      model.settle(patch, changed ? "acknowledged" : "unknown");
    }
    const prompt = `${owner.name} question ${n}`;
    const question = newQuestion(world, owner, prompt, random() < 0.5 ? "text" : "confirm");
    const named = random() < 0.5;
    let asked: ToolResult["structuredContent"] | null = null;
    do {
      question.made.tries++;
      asked = await call(prompt, "ask_question", {
        prompt,
        kind: question.kind,
        expires_in: 86_400,
        wait_seconds: 20,
        ...(named && { request_id: prompt }),
      });
    } while (named && !asked);
    model.settle(question.made, asked ? "acknowledged" : "unknown");
    if (!asked) continue;
    question.id = asked.id;
    while (asked?.status !== "answered" && asked?.status !== "cancelled") {
      asked = await call(prompt, "get_question", { question_id: question.id, wait_seconds: 20 });
    }
    tell(world, question, asked);
    await world.pause(200);
  }
  await (mcp as McpClient | null)?.close().catch(() => {});
}

/** `relay ask`, one command after the other. It repeats by itself, until it has the answer. */
export async function commandAgent(world: World, owner: Owner): Promise<void> {
  for (let n = 0; !world.stopping; n++) {
    const prompt = `${owner.name} question ${n}`;
    const question = newQuestion(world, owner, prompt, "text");
    question.made.tries = 1;
    world.model.did("relay ask");
    const env = { RELAY_URL: world.anySlot().link.url, RELAY_KEY: owner.agent.secret };
    const user = createUser({ clock: systemClock, env });
    const { code, out, err } = await user.run(["ask", "--text", "--wait", "24h", prompt]);
    world.model.note(prompt, `relay ask: ${code} ${out}${err}`);
    if (code !== 0) {
      world.model.contradict(prompt, `relay ask ended with ${code}: ${err}`);
      await world.pause(500);
      continue;
    }
    world.model.settle(question.made, "acknowledged");
    tell(world, question, { status: "answered", answer: out.trim() }, LATE_COMMAND);
    await world.pause(500);
  }
}
