/** The inbox over MCP: peek and ack, waits that end on a new item, and the suggested next call. */

import { expect, test } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { ask, createAgent, createPair } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import {
  advanceUntilEnded,
  callTool,
  newEra,
  oldEra,
  type Rpc,
  requestLogReader,
} from "../support/mcp.ts";
import { openStream } from "../support/stream.ts";
import { until } from "../support/until.ts";

const clock = createTestClock();
const app = await startTestApp({ clock });
const asleep = (count: number) => until(() => app.waits.count() === count);

/** The call that a result suggests. */
function advised({ content }: any): [why: string, name: string, args: any] | null {
  const found = /^(.+), call (\w+) with (\{.*\})\.$/.exec(content[1]?.text ?? "");
  return found && [found[1]!, found[2]!, JSON.parse(found[3]!)];
}

const ERAS: readonly [string, (url: string, secret: string) => Rpc][] = [
  ["old", oldEra],
  ["new", newEra],
];

for (const [era, open] of ERAS) {
  test(`an unacknowledged item is returned again, and each result says how to acknowledge it (${era} era) [§5.9.2]`, async () => {
    const { person, agent } = await createPair(app.url);
    const rpc = open(app.url, agent.secret);
    for (const title of ["a", "b", "c"]) {
      await person.send("POST /v1/tasks", { title, key_id: agent.key.id });
    }
    const read = async (args: object) => {
      const result = await callTool(rpc, "read_inbox", args);
      const { items, unread } = result.structuredContent;
      return { result, items, unread, titles: items.map(({ task }: any) => task.title).join("") };
    };
    const first = await read({ peek: true, limit: 2 });
    expect([first.titles, first.unread]).toEqual(["ab", 3]);
    // The item's task is shown as received by its agent.
    expect(first.items[0].task.seen_at).toBeNumber();
    const [why, name, args] = advised(first.result)!;
    expect([why, name]).toEqual(["Once you have handled these items", "read_inbox"]);
    expect(args).toEqual({ peek: true, limit: 2, ack: first.items[1].id });
    // The result was lost: the same call returns the same result.
    expect((await read({ peek: true, limit: 2 })).titles).toBe("ab");
    const second = await read(args);
    expect([second.titles, second.unread]).toEqual(["c", 1]);
    const third = await read({ peek: true, ack: second.items[0].id });
    expect([third.titles, third.unread, advised(third.result)]).toEqual(["", 0, null]);
    // Without peek the items become read at once, and there is nothing left to suggest.
    await person.send("POST /v1/tasks", { title: "d", key_id: agent.key.id });
    const taken = await read({});
    expect([taken.titles, taken.unread, advised(taken.result)]).toEqual(["d", 0, null]);
    expect((await read({})).titles).toBe("");
    expect((await agent.send("GET /v1/inbox")).body.items).toEqual([]);
  });

  test(`a waiting inbox read ends with the first item, whoever makes it, and an empty one says how to continue (${era} era) [§5.9.2 wait] [§15.1.2]`, async () => {
    const pair = await createPair(app.url);
    const { person, agent } = pair;
    const other = await createAgent(app.url, person, "other");
    const entries = requestLogReader(clock, pair);
    const rpc = open(app.url, agent.secret);
    const vain = callTool(rpc, "read_inbox", { peek: true, wait_seconds: 20 });
    await advanceUntilEnded(app, clock, 20);
    const empty = await vain;
    expect(empty.structuredContent).toEqual({
      items: [],
      unread: 0,
      hint: empty.content[1].text,
    });
    const [why, name, args] = advised(empty)!;
    expect([why, name, args]).toEqual([
      "Nothing yet. To keep waiting",
      "read_inbox",
      { peek: true, wait_seconds: 20 },
    ]);
    const question = await ask(agent.send);
    const wakes: (() => Promise<unknown>)[] = [
      () => person.send("POST /v1/tasks", { title: "t", key_id: agent.key.id }),
      () => person.send(`POST /v1/questions/${question.id}/answer`, { answer: "No" }),
      () =>
        callTool(open(app.url, other.secret), "send_message", {
          key_id: agent.key.id,
          text: "hello",
        }),
    ];
    const types: string[] = [];
    for (const wake of wakes) {
      const waiting = callTool(rpc, name, { wait_seconds: 50 });
      await asleep(1);
      await wake();
      const { structuredContent } = await waiting;
      types.push(...structuredContent.items.map(({ type }: any) => type));
    }
    expect(types).toEqual(["task.created", "question.answered", "message"]);
    // The client leaves; its call only waited too.
    const gone = new AbortController();
    const params = { name, arguments: { wait_seconds: 50 } };
    const left = rpc("tools/call", params, { signal: gone.signal }).catch(() => {});
    await asleep(1);
    gone.abort();
    await left;
    await asleep(0);
    expect((await entries()).map(({ surface, action }) => [surface, action])).toEqual([
      ["rest", "POST /v1/questions"],
      ["mcp", "read_inbox"],
      ["mcp", "read_inbox"],
      ["mcp", "read_inbox"],
    ]);
  });
}

test("inbox and question waits over MCP and REST share the 32 waits of a key [§6.5] [§10.2 waits]", async () => {
  const { person, agent } = await createPair(app.url);
  const [old, modern] = [oldEra(app.url, agent.secret), newEra(app.url, agent.secret)];
  const question = await ask(agent.send);
  const held = Array.from({ length: 8 }, () => [
    callTool(old, "read_inbox", { peek: true, wait_seconds: 50 }),
    callTool(modern, "get_question", { question_id: question.id, wait_seconds: 50 }),
    agent.send("GET /v1/inbox?peek=true&wait=50"),
    agent.send(`GET /v1/questions/${question.id}?wait=50`),
  ]).flat();
  await asleep(32);
  for (const rpc of [old, modern]) {
    for (const [name, args] of [
      ["read_inbox", {}],
      ["get_question", { question_id: question.id }],
      ["ask_question", { prompt: "?" }],
    ] as const) {
      const over = await callTool(rpc, name, { ...args, wait_seconds: 1 });
      expect([name, over.isError, over.content[0].text.split(":")[0]]).toEqual([
        name,
        true,
        "too_many_waits",
      ]);
      // Without a wait the read is not counted.
      if (name !== "ask_question") {
        expect((await callTool(rpc, name, args)).isError).toBeUndefined();
      }
    }
  }
  const rest = await agent.send("GET /v1/inbox?wait=1");
  expect([rest.status, rest.body.code]).toEqual([429, "too_many_waits"]);
  await person.send(`POST /v1/questions/${question.id}/answer`, { answer: "Yes" });
  await Promise.all(held);
  expect(app.waits.owners()).toBe(0);
});

test("an inbox read by a tool is reported on the account's stream, and a peek is not [§7.3.2]", async () => {
  const { person, agent } = await createPair(app.url);
  const rpc = newEra(app.url, agent.secret);
  await person.send("POST /v1/tasks", { title: "t", key_id: agent.key.id });
  await callTool(rpc, "read_inbox", { peek: true });
  const stream = await openStream(app.url, person.token);
  await callTool(rpc, "read_inbox", { peek: true });
  await callTool(rpc, "read_inbox");
  expect(await stream.names(1)).toEqual(["inbox.updated"]);
  expect(stream.events.at(-1)!.data).toEqual({ key_id: agent.key.id, unread: 0, unreceived: 0 });
  stream.close();
});
