/** Messages from keys and the account to keys, and the list of agents that can be written to. */

import { expect, test } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { createAgent, createPair, createPerson } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { openStream } from "../support/stream.ts";

const clock = createTestClock();
const app = await startTestApp({ clock });

test("a key or the account sends a message to any other key of the account [§5.10.1]", async () => {
  const { person, agent } = await createPair(app.url);
  const other = await createAgent(app.url, person, "the other");
  const stranger = await createAgent(app.url, await createPerson(app.url));
  const stream = await openStream(app.url, person.token);
  const text = " Hello,\n<b>you</b> \u202e😀 ";
  const to = other.key.id;
  const sent = await agent.send("POST /v1/messages", { key_id: to, text });
  expect([sent.status, sent.body]).toEqual([
    201,
    {
      id: expect.stringMatching(/^itm_/),
      key_id: to,
      type: "message",
      from: { kind: "key", key_id: agent.key.id, label: "agent" },
      task_id: null,
      question_id: null,
      task: null,
      changes: [],
      question: null,
      text,
      created_at: clock.now(),
      read_at: null,
    },
  ]);
  const second = await person.send("POST /v1/messages", { key_id: to, text });
  expect(second.body.from).toEqual({ kind: "account" });
  expect(await stream.names(2)).toEqual(["inbox.updated", "inbox.updated"]);
  expect(stream.events[2]!.data).toEqual({ key_id: to, unread: 2, unreceived: 2 });
  stream.close();
  expect((await other.send("GET /v1/inbox?peek=true")).body.items).toEqual([
    sent.body,
    second.body,
  ]);

  const itself = await agent.send("POST /v1/messages", { key_id: agent.key.id, text });
  expect([itself.status, Object.keys(itself.body.fields)]).toEqual([422, ["key_id"]]);
  // An unknown recipient is named together with the other invalid fields.
  const both = await agent.send("POST /v1/messages", { key_id: agent.key.id, text: "" });
  expect(Object.keys(both.body.fields).sort()).toEqual(["key_id", "text"]);
  for (const send of [agent.send, person.send]) {
    const { status } = await send("POST /v1/messages", { key_id: stranger.key.id, text });
    expect(status).toBe(404);
  }
  // The sender keeps its name, even when it is deleted.
  await person.send(`PATCH /v1/keys/${agent.key.id}`, { label: "renamed" });
  await person.send(`DELETE /v1/keys/${agent.key.id}`);
  const [first] = (await other.send("GET /v1/inbox")).body.items;
  expect(first.from).toEqual(sent.body.from);
});

test("a key has room for 100 unread messages from each other key, and the account is never refused [§5.10.1]", async () => {
  const { person, agent } = await createPair(app.url);
  const other = await createAgent(app.url, person, "other");
  const third = await createAgent(app.url, person, "third");
  const key_id = other.key.id;
  const send = (from: typeof agent.send) => from("POST /v1/messages", { key_id, text: "x" });
  const answers = await Promise.all(Array.from({ length: 110 }, () => send(agent.send)));
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(100);
  const refused = answers.filter(({ status }) => status !== 201).map(({ body }) => body.code);
  expect(refused).toEqual(Array(10).fill("inbox_full"));
  for (const from of [third.send, person.send]) expect((await send(from)).status).toBe(201);
  // Reading a message makes room for one.
  await other.send("GET /v1/inbox?limit=1");
  expect((await send(agent.send)).status).toBe(201);
  expect((await send(agent.send)).body.code).toBe("inbox_full");
});

test("agents of one account see each other, newest first [§5.11.1] [§2.6] [§2.7]", async () => {
  const person = await createPerson(app.url);
  const first = await createAgent(app.url, person, "first");
  await clock.advance(1);
  const second = await createAgent(app.url, person, "second");
  await createAgent(app.url, await createPerson(app.url), "a stranger's");
  const agentsFor = async ({ send }: typeof first) =>
    (await send("GET /v1/agents", undefined, { headers: { "x-agent-host": "h" } })).body;
  const unused = await agentsFor(first);
  expect(unused.agents[0]).toMatchObject({ label: "second", self: false, last_used_at: null });
  await agentsFor(second);
  expect(await agentsFor(second)).toEqual({
    agents: [
      { key_id: second.key.id, label: "second", self: true, last_used_at: clock.now() },
      { key_id: first.key.id, label: "first", self: false, last_used_at: clock.now() },
    ],
  });
});
