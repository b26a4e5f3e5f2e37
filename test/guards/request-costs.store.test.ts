/** What each common request asks of the store, compared with the table in docs/performance.md. */

import { expect, test } from "bun:test";
import { type Clock, systemClock } from "../../src/clock.ts";
import { ADMIN, metricsOf } from "../support/admin.ts";
import { startTestApp } from "../support/app.ts";
import { type Agent, ask, createAgent, createPair, createTask } from "../support/client.ts";
import { readText, sectionOf } from "../support/documents.ts";
import { sampleOf } from "../support/exposition.ts";
import { callTool, newEra } from "../support/mcp.ts";
import { startNtfy } from "../support/ntfy.ts";
import { STORE_KIND } from "../support/store.ts";
import { type StoreWork, startStoreMeter } from "../support/store-meter.ts";
import { until } from "../support/until.ts";

/** Requests of each kind that are measured, after one that is not. */
const MEASURED = 2;
/** Seconds of a wait; no other timer has as many. */
const WAIT = 37;

/** Creations that arrive together, within the pending questions that a key may have. */
const TOGETHER = 12;

/** The table: the name of a request -> its other cells. */
async function readTable() {
  const section = sectionOf(await readText("docs/performance.md"), "What a request costs");
  const lines = section.split("\n").filter((line) => line.startsWith("|"));
  const [, , ...rows] = lines.map((line) =>
    line
      .slice(1, -1)
      .split("|")
      .map((cell) => cell.trim()),
  );
  return new Map(rows.map(([name, ...cells]) => [name!, cells]));
}

/** A clock that stands still, so that nothing runs in the background. `fire` ends the timers of this many seconds. */
function createStillClock() {
  const timers = new Set<{ readonly seconds: number; readonly run: () => void }>();
  const now = systemClock.now();
  return {
    now: () => now,
    wall: () => now,
    elapsed: () => 0,
    after(seconds, run) {
      const timer = { seconds, run };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    fire(given: number) {
      for (const timer of timers) if (timer.seconds === given && timers.delete(timer)) timer.run();
    },
  } satisfies Clock & Record<string, unknown>;
}

/** Relay behind a meter, with an account without a notification target and one with an ntfy channel. */
async function setUp() {
  const clock = createStillClock();
  const meter = await startStoreMeter();
  const app = await startTestApp({ clock, database_url: meter.url, env: ADMIN });
  const ntfy = await startNtfy();
  const plain = await createPair(app.url);
  const notified = await createPair(app.url);
  const channel = { type: "ntfy", label: "Phone", url: `${ntfy.url}/topic` };
  expect((await notified.person.send("POST /v1/channels", channel)).status).toBe(201);
  return { clock, meter, app, plain, notified };
}

const BODY = { title: "Deploy version 2", description: "To staging first." };

test("each common request costs the statements, rows and round trips of docs/performance.md", async () => {
  const { clock, meter, app, plain, notified } = await setUp();
  const { person, agent } = plain;
  const rpc = newEra(app.url, agent.secret);
  const many = async <T>(make: () => Promise<T>): Promise<T[]> => {
    const made: T[] = [];
    for (let i = 0; i <= MEASURED; i++) made.push(await make());
    return made;
  };
  const done = async (answer: Promise<{ readonly status: number }>, status = 200) =>
    expect((await answer).status).toBe(status);
  const sleeping = () => until(() => app.waits.count() === 1);

  // The tasks and questions of the requests; their notifications are sent before the first measurement.
  const tasksOf = ({ send }: Agent) => many(() => createTask(send, BODY));
  const questionsOf = ({ send }: Agent) => many(() => ask(send));
  const [patched, patched_notified] = [await tasksOf(agent), await tasksOf(notified.agent)];
  const [answered, answered_notified] = [
    await questionsOf(agent),
    await questionsOf(notified.agent),
  ];
  const [unanswered, awaited] = [await questionsOf(agent), await questionsOf(agent)];
  const lister = await createAgent(app.url, person);
  for (let i = 0; i < 50; i++) await createTask(lister.send, BODY);
  const reader = await createAgent(app.url, person);
  await app.sender.settled();
  // Delivering notifications is not part of a request.
  await app.sender.stop();

  const create = (send: Agent["send"], key?: string) =>
    done(
      send(
        "POST /v1/tasks",
        BODY,
        key === undefined ? {} : { headers: { "idempotency-key": key } },
      ),
      201,
    );
  const patch = ({ send }: Agent, { id }: { readonly id: string }) =>
    done(send(`PATCH /v1/tasks/${id}`, { status: "done" }));
  const answer = ({ send }: typeof person, { id }: { readonly id: string }) =>
    done(send(`POST /v1/questions/${id}/answer`, { answer: "Yes" }));

  const requests: Record<string, (i: number) => Promise<unknown>> = {
    "create a task": () => create(agent.send),
    "create a task, with an ntfy channel": () => create(notified.agent.send),
    "create a task, with an `Idempotency-Key`": (i) => create(agent.send, `first ${i}`),
    "create a task again, with the same key": () => create(agent.send, "first 0"),
    "change a task": (i) => patch(agent, patched[i]!),
    "change a task, with an ntfy channel": (i) => patch(notified.agent, patched_notified[i]!),
    "read a task": (i) => done(agent.send(`GET /v1/tasks/${patched[i]!.id}`)),
    "list 50 tasks": async () => {
      const { body } = await lister.send("GET /v1/tasks?limit=50");
      expect(body.tasks).toHaveLength(50);
    },
    "ask a question": () => ask(agent.send),
    "ask a question, with an ntfy channel": () => ask(notified.agent.send),
    "answer a question": (i) => answer(person, answered[i]!),
    "answer a question, with an ntfy channel": (i) =>
      answer(notified.person, answered_notified[i]!),
    "wait for an answer until the time is up": async (i) => {
      const waiting = agent.send(`GET /v1/questions/${unanswered[i]!.id}?wait=${WAIT}`);
      await sleeping();
      clock.fire(WAIT);
      expect((await waiting).body.status).toBe("pending");
    },
    "wait for an answer, and answer": async (i) => {
      const waiting = agent.send(`GET /v1/questions/${awaited[i]!.id}?wait=${WAIT}`);
      await sleeping();
      await answer(person, awaited[i]!);
      expect((await waiting).body.status).toBe("answered");
    },
    "`tools/call` of `create_task`": () => callTool(rpc, "create_task", BODY),
    "`tools/call` of `get_task`": (i) => callTool(rpc, "get_task", { task_id: patched[i]!.id }),
    "read an empty inbox": () => done(reader.send("GET /v1/inbox")),
    "read one item of the inbox": async () => {
      const { body } = await reader.send("GET /v1/inbox");
      expect(body.items).toHaveLength(1);
    },
  };

  const table = await readTable();
  const wrong: string[] = [];
  for (const [name, run] of Object.entries(requests)) {
    for (let i = 0; i <= MEASURED; i++) {
      if (name === "read one item of the inbox") {
        const message = { key_id: reader.key.id, text: "Please go on." };
        await done(person.send("POST /v1/messages", message), 201);
      }
      meter.take();
      await run(i);
      // With what a request leaves to the background.
      await app.services.questions.settled();
      const work = meter.take();
      if (i === 0) continue;
      // The text of a plan is what costs a server most.
      const plans = work.texts.flat().filter((sql) => sql.startsWith("insert into deliveries"));
      expect(plans.length > 0, name).toBe(name.endsWith("with an ntfy channel"));
      const row = rowWith(name, table.get(name), work);
      const is = `| ${[name, ...(table.get(name) ?? [])].join(" | ")} |`;
      if (row !== is && !wrong.includes(row)) wrong.push(row);
    }
  }
  expect(wrong, "If this is on purpose: the rows for docs/performance.md").toEqual([]);
  expect([...table.keys()]).toEqual(Object.keys(requests));
}, 300_000);

/** The row of a request for the table: the figures of this run's store, and those of the other store as they are. */
function rowWith(
  name: string,
  [, of_file = "?", transactions = "?", of_server = "?", trips = "?"]: readonly string[] = [],
  work: StoreWork,
): string {
  const cells =
    STORE_KIND === "embedded"
      ? [work.statements, work.trips, of_server, trips]
      : [of_file, transactions, work.statements, work.trips];
  return `| ${[name, work.rows, ...cells].join(" | ")} |`;
}

test.if(STORE_KIND === "server")(
  "creations that arrive together send their events as one INSERT, and no plan of notifications without a target",
  async () => {
    const { meter, app, plain } = await setUp();
    const { agent } = plain;
    const queued = async () =>
      sampleOf((await metricsOf(app.url)).all, "relay_store_queued_batches");
    const creations: Record<string, () => Promise<unknown>> = {
      tasks: () => createTask(agent.send, BODY),
      questions: () => ask(agent.send),
    };
    for (const [table, create] of Object.entries(creations)) {
      // The first use of a credential is recorded by a write of its own.
      await create();
      const gate = meter.hold!();
      const first = create();
      await until(() => gate.held() === 1);
      const others = Array.from({ length: TOGETHER }, create);
      await until(async () => (await queued()) === TOGETHER);
      meter.take();
      gate.release();
      await Promise.all([first, ...others]);
      const [group, ...rest] = meter.take().texts;
      const inserts = (into: string) =>
        group!.filter((sql) => new RegExp(`^insert (or \\w+ )?into "?${into}\\b`).test(sql)).length;
      expect(rest).toEqual([]);
      expect([inserts(table), inserts("events"), inserts("pushes")]).toEqual([TOGETHER, 1, 0]);
    }
  },
);
