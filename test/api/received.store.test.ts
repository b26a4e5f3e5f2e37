/** Answers that agents got by reading the question, and the number of items that they have not got (§5.9.6). */

import { expect, test } from "bun:test";
import { LIMITS } from "../../src/limits.ts";
import type { Item } from "../../src/model/item.ts";
import { startTestApp } from "../support/app.ts";
import {
  type Agent,
  ask,
  client,
  createAgent,
  createPair,
  type Person,
} from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { callTool, newEra } from "../support/mcp.ts";
import { connectTo, createTestStore } from "../support/store.ts";
import { openStream } from "../support/stream.ts";
import { until } from "../support/until.ts";

const clock = createTestClock();
const { url: database_url } = await createTestStore();
const app = await startTestApp({ clock, database_url });
const other = await startTestApp({ clock, database_url });

const answer = ({ send }: Person, id: string, given = "Yes") =>
  send(`POST /v1/questions/${id}/answer`, { answer: given });
const inboxOf = async ({ send }: Person, { key }: Agent) =>
  (await send(`GET /v1/keys/${key.id}/inbox`)).body as {
    items: Item[];
    unread: number;
    unreceived: number;
  };
/** The number of items that are unread, and of those that are not received, once all is written. */
async function countsOf(person: Person, agent: Agent) {
  await Promise.all([app, other].map(({ services }) => services.questions.settled()));
  const { unread, unreceived } = await inboxOf(person, agent);
  return { unread, unreceived };
}
const asleep = (count: number) => until(() => app.waits.count() === count);

test("an answer that a wait returned is received, and the inbox delivers it all the same [§5.9.6(2)] [§7.3.2]", async () => {
  const { person, agent } = await createPair(app.url);
  const stream = await openStream(app.url, person.token);
  const { id } = await ask(agent.send);
  const waiting = agent.send(`GET /v1/questions/${id}?wait=50`);
  await asleep(1);
  await answer(person, id);
  expect((await waiting).body.answer).toBe("Yes");
  expect(await countsOf(person, agent)).toEqual({ unread: 1, unreceived: 0 });
  const updates = () => stream.events.filter(({ event }) => event === "inbox.updated");
  const key_id = agent.key.id;
  // Once is enough.
  await agent.send(`GET /v1/questions/${id}?wait=50`);
  await agent.send(`GET /v1/questions/${id}`);
  const { items } = await inboxOf(person, agent);
  expect(items).toMatchObject([{ read_at: null, received_at: clock.now() }]);
  const read = await agent.send("GET /v1/inbox");
  expect(read.body).toMatchObject({ unread: 0, items: [{ question_id: id, question: { id } }] });
  expect(await countsOf(person, agent)).toEqual({ unread: 0, unreceived: 0 });
  await until(() => updates().length === 2);
  // The receipt itself sends none.
  expect(updates().map(({ data }) => data)).toEqual([
    { key_id, unread: 1, unreceived: 1 },
    { key_id, unread: 0, unreceived: 0 },
  ]);
  stream.close();
});

test("every read of the agent that returns the answer counts, in any process, and no other [§5.9.6(1)]", async () => {
  const { person, agent } = await createPair(app.url);
  const sibling = await createAgent(app.url, person);
  const rpc = newEra(other.url, agent.secret);
  const elsewhere = client(other.url, agent.secret);
  const reads: Record<string, (id: string) => Promise<unknown>> = {
    GET: (id) => agent.send(`GET /v1/questions/${id}`),
    "GET of another process": (id) => elsewhere(`GET /v1/questions/${id}?wait=1`),
    get_question: (id) => callTool(rpc, "get_question", { question_id: id, wait_seconds: 1 }),
    "a repeated ask": () =>
      agent.send("POST /v1/questions", { prompt: "Go on?", request_id: "the same" }),
  };
  const others: Record<string, (id: string) => Promise<unknown>> = {
    HEAD: (id) => agent.send(`HEAD /v1/questions/${id}`),
    "a list": () => agent.send("GET /v1/questions?status=answered"),
    "the account": (id) => person.send(`GET /v1/questions/${id}`),
    "another agent": (id) => sibling.send(`GET /v1/questions/${id}`),
  };
  for (const [name, read] of Object.entries({ ...others, ...reads })) {
    const more = name === "a repeated ask" && { request_id: "the same" };
    const { id } = await ask(agent.send, { prompt: "Go on?", ...more });
    await answer(person, id);
    await read(id);
    const expected = { unread: 1, unreceived: name in reads ? 0 : 1 };
    expect([name, await countsOf(person, agent)]).toEqual([name, expected]);
    await agent.send("GET /v1/inbox");
  }
  // The tool's wait.
  const asking = callTool(newEra(app.url, agent.secret), "ask_question", {
    prompt: "By a tool?",
    wait_seconds: 50,
  });
  await asleep(1);
  const [pending] = (await person.send("GET /v1/questions")).body.questions;
  await answer(person, pending.id);
  await asking;
  expect(await countsOf(person, agent)).toEqual({ unread: 1, unreceived: 0 });
});

test("items that were not received stay counted, and received ones leave by retention [§5.9.6(2)] [§5.9.6(3)]", async () => {
  const { person, agent } = await createPair(app.url);
  const first = await ask(agent.send);
  await answer(person, first.id);
  await person.send("POST /v1/messages", { key_id: agent.key.id, text: "And this." });
  const second = await ask(agent.send);
  await answer(person, second.id);
  await agent.send(`GET /v1/questions/${second.id}`);
  expect(await countsOf(person, agent)).toEqual({ unread: 3, unreceived: 2 });
  // By `ack`, in the order of the inbox.
  const { items } = (await agent.send("GET /v1/inbox?peek=true")).body;
  await agent.send(`GET /v1/inbox?peek=true&ack=${items[0].id}`);
  expect(await countsOf(person, agent)).toEqual({ unread: 2, unreceived: 1 });
  await clock.skip(LIMITS.unread_item_days * 86_400 + 60);
  await app.jobs.settled();
  expect(await countsOf(person, agent)).toEqual({ unread: 0, unreceived: 0 });
});

test("waits, reads and inbox reads at the same time leave counts that are true [§5.9.6(3)]", async () => {
  const { url: database_url } = await createTestStore();
  // In real time, since each process looks for the events of the other.
  const [one, two] = await Promise.all([1, 2].map(() => startTestApp({ database_url })));
  const { person, agent } = await createPair(one!.url);
  const database = connectTo(database_url);
  for (let round = 0; round < 12; round++) {
    const asked = await Promise.all([ask(agent.send), ask(agent.send), ask(agent.send)]);
    const waits = asked.map(({ id }, at) => {
      return fetch(`${at === 1 ? two!.url : one!.url}/v1/questions/${id}?wait=50`, {
        headers: { authorization: `Bearer ${agent.secret}` },
      });
    });
    // Two readers could leave nothing for one that waits.
    const path = ["/v1/inbox?wait=50", "/v1/inbox", null][round % 3];
    const inbox = path ? [agent.send(`GET ${path as "/"}`)] : [];
    await Promise.all(asked.map(({ id }) => answer(person, id)));
    const reads = asked.map(({ id }) => agent.send(`GET /v1/questions/${id}`));
    await Promise.all([...waits, ...reads, ...inbox]);
  }
  await Promise.all([one!, two!].map(({ services }) => services.questions.settled()));
  const { rows } = await database.execute({
    sql: `select unread, received,
        (select count(*) from items where key_id = keys.id and read_at is null) as is_unread,
        (select count(*) from items where key_id = keys.id and read_at is null
          and received_at is not null) as is_received
      from keys where id = ?`,
    args: [agent.key.id],
  });
  const [{ unread, received, is_unread, is_received }] = rows as unknown as [
    Record<string, number>,
  ];
  expect([unread, received]).toEqual([is_unread, is_received]);
  // Each answer was returned by a read, so what is unread is received.
  expect(received).toBe(unread);
  database.close();
});
