/** Everything that was acknowledged survives a crash, with the content that was acknowledged. */

import { expect, test } from "bun:test";
import { openStore } from "../../db/store/open.ts";
import { sql } from "../../db/store/sql.ts";
import { statement } from "../../db/store/statement.ts";
import { systemClock } from "../../src/clock.ts";
import type { Question } from "../../src/model/question.ts";
import type { Task } from "../../src/model/task.ts";
import { type Answer, client, createPerson, type Send } from "../support/client.ts";
import { startProcess } from "../support/process.ts";
import { type Random, seeded } from "../support/random.ts";
import { rejectionOf } from "../support/rejection.ts";
import { createTestStore, STORE_KIND } from "../support/store.ts";
import { until } from "../support/until.ts";

const CLIENTS = 8;
const KILLS = 6;
/** Acknowledgements of one round before the kill, at random, so that the kill comes anywhere. */
const ACKS = { least: 5, most: 60 };
const env = { RATE_LIMITS: "off" };

/** The possible content of one resource: what was last acknowledged, or what was sent since. */
interface Entry<T> {
  acknowledged: T | null;
  /** Sent without a response: it may have happened or not, but never in part. */
  unanswered: Partial<T> | null;
}

interface Ledger {
  readonly tasks: Map<string, Entry<Task>>;
  readonly questions: Map<string, Entry<Question>>;
  acks: number;
}

const createLedger = (): Ledger => ({ tasks: new Map(), questions: new Map(), acks: 0 });

/** Ends a client: the server is gone. */
class Gone extends Error {}

/** The response; throws {@link Gone} if there is none, or a 503. */
async function answered<T>(request: Promise<Answer<T>>): Promise<T> {
  const answer = await request.catch(() => {
    throw new Gone();
  });
  if (answer.status === 503) throw new Gone();
  expect(answer.status).toBeOneOf([200, 201]);
  return answer.body;
}

/** Sends a change and records it. */
async function change<T>(entry: Entry<T>, sent: Partial<T>, request: Promise<Answer<T>>) {
  entry.unanswered = sent;
  entry.acknowledged = await answered(request);
  entry.unanswered = null;
}

/** One client that creates, changes, asks and answers until the server is gone. */
async function load(ledger: Ledger, person: Send, agent: Send, name: string): Promise<void> {
  try {
    for (let i = 0; ; i++) {
      const title = `${name} ${i}`;
      const task = await answered<Task>(agent("POST /v1/tasks", { title }));
      const kept: Entry<Task> = { acknowledged: task, unanswered: null };
      ledger.tasks.set(task.id, kept);
      ledger.acks++;
      const patch = { status: i % 2 ? "done" : "in_progress", status_note: title } as const;
      await change(kept, patch, agent(`PATCH /v1/tasks/${task.id}`, patch));
      ledger.acks++;
      const question = await answered<Question>(
        agent("POST /v1/questions", { prompt: title, kind: "text", task_id: task.id }),
      );
      const asked: Entry<Question> = { acknowledged: question, unanswered: null };
      ledger.questions.set(question.id, asked);
      ledger.acks++;
      const answer = `To ${title}`;
      await change(
        asked,
        { status: "answered", answer },
        person(`POST /v1/questions/${question.id}/answer`, { answer }),
      );
      ledger.acks++;
    }
  } catch (error) {
    if (!(error instanceof Gone)) throw error;
  }
}

/** Puts the service at `url` under load until `strike` has killed the store or the process. */
async function round(
  ledger: Ledger,
  url: string,
  token: string,
  name: string,
  random: Random,
  strike: () => Promise<unknown>,
): Promise<void> {
  const send = client(url, token);
  // Each round has its own key: questions left pending count towards the limit of a key.
  const made = await until(async () => {
    const answer = await send("POST /v1/keys", { label: name });
    return answer.status === 201 && answer;
  });
  const agent = client(url, made.body.secret);
  const clients = Array.from({ length: CLIENTS }, (_, i) =>
    load(ledger, send, agent, `${name}/${i}`),
  );
  const target = ledger.acks + ACKS.least + Math.floor(random() * (ACKS.most - ACKS.least));
  await until(() => ledger.acks >= target);
  await strike();
  await Promise.all(clients);
}

/** Checks that everything acknowledged is stored as acknowledged, and that related rows agree. */
async function expectAll(ledger: Ledger, url: string, token: string): Promise<void> {
  const send = client(url, token);
  const stored = new Map<string, Task>();
  for (let cursor: string | null = ""; cursor !== null; ) {
    const page: Answer = await send(`GET /v1/tasks?limit=500${cursor && `&cursor=${cursor}`}`);
    expect(page.status).toBe(200);
    for (const task of page.body.tasks) stored.set(task.id, task);
    cursor = page.body.next_cursor;
  }
  for (const [id, entry] of ledger.tasks) expectEntry(stored.get(id), entry);
  for (const [id, entry] of ledger.questions) {
    const { status, body } = await send<Question>(`GET /v1/questions/${id}`);
    expect(status).toBe(200);
    // Only a read has it, not the response to the answer.
    const { answered_from: _, ...question } = body;
    expectEntry(question, entry);
  }
  // A batch is atomic: the counts match the tasks, and the events match the changes.
  const counts = { todo: 0, in_progress: 0, done: 0, cancelled: 0 };
  for (const { status } of stored.values()) counts[status]++;
  const { body } = await send("GET /v1/keys");
  const summed = { todo: 0, in_progress: 0, done: 0, cancelled: 0 };
  for (const key of body.keys) {
    for (const status of Object.keys(summed) as Task["status"][]) {
      summed[status] += key.counts[status];
    }
  }
  expect(summed).toEqual(counts);
}

function expectEntry<T extends Task | Question>(stored: T | undefined, entry: Entry<T>): void {
  const { acknowledged, unanswered } = entry;
  if (unanswered && stored && stored.status === unanswered.status) {
    expect(stored).toMatchObject(unanswered as object);
  } else {
    expect(stored).toEqual(acknowledged as T);
  }
}

/** Checks that the file is sound, each task equals its last event, and no event is missing. */
async function expectSound(url: string): Promise<void> {
  const store = await openStore({ url, auth_token: undefined }, systemClock);
  const rows = (text: string) => store.read(statement(sql.raw(text), { returns: "rows" })({}));
  try {
    expect(await rows("pragma integrity_check")).toEqual([["ok"]]);
    const behind = await rows(
      `select t.id from tasks t where t.updated_at is not (
        select round(json_extract(e.data, '$.task.updated_at') * 1000) from events e
        where e.subject = t.id order by e.seq desc limit 1)`,
    );
    expect(behind).toEqual([]);
    const [gaps] = await rows("select max(seq) - min(seq) + 1 - count(*) from events");
    expect(gaps).toEqual([0]);
  } finally {
    await store.close();
  }
}

test.if(STORE_KIND === "embedded")(
  "the app's own connection is in WAL mode with synchronous FULL",
  async () => {
    const { url } = await createTestStore();
    // Reads have their own connection; the writes report their mode below.
    const store = await openStore({ url, auth_token: undefined }, systemClock);
    const pragma = (name: string) =>
      store.read(statement(sql.raw(`pragma ${name}`), { returns: "rows" })({}));
    try {
      expect(await pragma("synchronous")).toEqual([[2]]);
      expect(await pragma("journal_mode")).toEqual([["wal"]]);
      // Only what a power cut may lose is written without it, and only by itself.
      const mode = (synced?: boolean) =>
        statement(sql.raw("insert into modes select synchronous from pragma_synchronous"), {
          ...(synced !== undefined && { synced }),
        })({});
      await store.write([statement(sql.raw("create table modes (mode integer)"))({})]);
      await store.write([mode(false)]);
      await store.write([mode(false), mode()]);
      await Promise.all([store.write([mode(false)]), store.write([mode()])]);
      const broken = statement(sql.raw("insert into modes values (json('broken'))"), {
        synced: false,
      });
      expect(await rejectionOf(store.write([broken({})]))).toBeInstanceOf(Error);
      await store.write([mode()]);
      const modes = statement(sql.raw("select mode from modes"), { returns: "rows" });
      expect((await store.read(modes({}))).flat()).toEqual([1, 2, 2, 2, 2, 2]);
    } finally {
      await store.close();
    }
  },
);

test.if(STORE_KIND === "embedded")(
  `a process killed under load, ${KILLS} times, loses nothing that it acknowledged`,
  seeded("killed processes", async (random) => {
    const { url: database_url } = await createTestStore();
    const start = () => startProcess({ ...env, DATABASE_URL: database_url });
    const ledger = createLedger();
    let app = await start();
    const { token } = await createPerson(app.url);
    for (let i = 0; i < KILLS; i++) {
      await round(ledger, app.url, token, `round ${i}`, random, () => {
        app.kill("SIGKILL");
        return app.exited;
      });
      app = await start();
    }
    await expectAll(ledger, app.url, token);
    app.kill("SIGKILL");
    await app.exited;
    await expectSound(database_url);
  }),
  120_000,
);

test.if(STORE_KIND === "server")(
  `a libSQL server killed under load, ${KILLS} times, loses nothing that the app acknowledged`,
  seeded("killed stores", async (random) => {
    const { url: database_url, sqld } = await createTestStore();
    // One app process survives all of it.
    const app = await startProcess({ ...env, DATABASE_URL: database_url });
    const ledger = createLedger();
    const { token } = await createPerson(app.url);
    for (let i = 0; i < KILLS; i++) {
      await round(ledger, app.url, token, `round ${i}`, random, () => sqld!.kill());
      await sqld!.restart();
      await until(async () => (await client(app.url, token)("GET /v1/account")).status === 200);
    }
    await expectAll(ledger, app.url, token);
    await expectSound(database_url);
  }),
  120_000,
);
