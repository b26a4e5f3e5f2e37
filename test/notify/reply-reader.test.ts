/** The reader of replies: one process of all, what it does after faults, and how it goes on (§19.8). */

import { expect, test } from "bun:test";
import { openStore } from "../../db/store/open.ts";
import { sql } from "../../db/store/sql.ts";
import { statement } from "../../db/store/statement.ts";
import { systemClock } from "../../src/clock.ts";
import { LEASE } from "../../src/notify/core/leases.ts";
import { startTestApp, type TestApp } from "../support/app.ts";
import { createTestClock, type TestClock } from "../support/clock.ts";
import { startNtfy, tap } from "../support/ntfy.ts";
import { addReplies, buttonOf, createRepliesPerson } from "../support/replies.ts";
import { createTestStore } from "../support/store.ts";
import { until } from "../support/until.ts";

const ntfyOf = ({ reply_reader }: Pick<TestApp, "reply_reader">) =>
  reply_reader.health().find(({ channel }) => channel === "ntfy")!;

async function createWorld() {
  const { url: database_url } = await createTestStore();
  const store = await openStore({ url: database_url, auth_token: undefined }, systemClock);
  const start = async (clock: TestClock) => {
    const options = { clock, database_url, jitter: () => 0 };
    const app = await startTestApp({ ...options, storeTime: async () => clock.now() });
    return { ...app, clock };
  };
  const clock = createTestClock();
  const app = await start(clock);
  const ntfy = await startNtfy({ now: () => clock.now() });
  return {
    clock,
    app,
    ntfy,
    start,
    rows: (text: string) => store.read(statement(sql.raw(text), { returns: "rows" })({})),
    begin: (body: object = {}) => createRepliesPerson(app.local_url, ntfy, body),
    /** Moves time second by second, and lets each look end. */
    async advance(seconds: number, clocks: readonly TestClock[] = [clock], apps = [app]) {
      for (let i = 0; i < seconds; i++) {
        for (const one of clocks) await one.advance(1);
        for (const one of apps) await one.reply_reader.settled();
      }
    },
  };
}

test("one process listens; at its stop another goes on, and a reply sent between arrives once [§19.8.4]", async () => {
  const { app, ntfy, begin, start, advance, clock } = await createWorld();
  const { ask, ended, agent } = await begin();
  const { id, sent } = await ask();
  const { topic } = buttonOf(sent, "Yes");
  await until(() => ntfy.listening().length === 1);
  const other = await start(clock);
  await advance(20, [clock], [app, other]);
  expect(ntfy.listening()).toEqual([[topic]]);
  expect(ntfyOf(other).connections).toBe(0);
  ntfy.treatSubscriptions(503);
  await app.reply_reader.stop();
  await until(() => ntfy.listening().length === 0);
  await tap(sent, "Yes");
  ntfy.treatSubscriptions("ok");
  await advance(3, [clock], [other]);
  expect((await ended(id)).answer).toBe("Yes");
  const { body } = await agent.send("GET /v1/inbox");
  expect(body.items).toHaveLength(1);
  expect(ntfyOf(other)).toMatchObject({ connections: 1, working: 1, served: 1 });
});

test("codes that the service repeats after a break keep no new one from counting [§19.8.8]", async () => {
  const { app, begin, start, advance, clock, ntfy } = await createWorld();
  const { ask, ended } = await begin();
  for (let i = 0; i < 40; i++) {
    const { id, sent } = await ask({ prompt: `${i}?` });
    await tap(sent, "Yes");
    await ended(id);
  }
  const { id, sent } = await ask();
  await app.reply_reader.stop();
  const other = await start(clock);
  await tap(sent, "No");
  await advance(2, [clock], [other]);
  expect((await ended(id)).answer).toBe("No");
  expect(ntfy.subscribed.at(-1)).toEndWith("since=all");
});

test("the connections of a process that stands still are taken over after its lease, not before [§19.8.4]", async () => {
  const { ntfy, begin, start, advance, app, clock } = await createWorld();
  const { ask, ended } = await begin();
  const { id, sent } = await ask();
  await until(() => ntfy.listening().length === 1);
  const clock_2 = createTestClock();
  const other = await start(clock_2);
  await advance(LEASE - 1, [clock_2], [other]);
  expect(ntfyOf(other).connections).toBe(0);
  await advance(4, [clock_2], [other]);
  expect(ntfyOf(other).connections).toBe(1);
  await tap(sent, "Yes");
  expect((await ended(id)).answer).toBe("Yes");
  // The first goes on, and finds that the lease is another's.
  await advance(11, [clock], [app]);
  await until(() => ntfy.listening().length === 1);
  expect(ntfyOf(app).connections).toBe(0);
  expect(ntfyOf(other)).toMatchObject({ connections: 1, working: 1 });
});

test("after a restart of the server the subscription goes back a minute, and each reply counts once [§19.8.4]", async () => {
  const { ntfy, begin, advance, clock, app, rows } = await createWorld();
  const { ask, ended, agent } = await begin();
  const first = await ask();
  await until(() => ntfy.listening().length === 1);
  expect(ntfy.subscribed.at(-1)).toEndWith("since=all");
  await tap(first.sent, "Yes");
  await ended(first.id);
  await advance(100);
  ntfy.keepAlive();
  const now = Math.floor(clock.now());
  await until(async () => {
    await advance(1);
    return (await rows("select position from listeners"))[0]![0] === String(now);
  });
  const second = await ask();
  ntfy.treatSubscriptions("drop");
  ntfy.cut();
  await until(() => ntfy.listening().length === 0);
  await tap(second.sent, "No");
  ntfy.treatSubscriptions("ok");
  await until(async () => {
    await advance(1);
    return ntfy.listening().length === 1;
  });
  expect(ntfy.subscribed.at(-1)).toEndWith(`since=${now - 60}`);
  expect((await ended(second.id)).answer).toBe("No");
  const { body } = await agent.send("GET /v1/inbox");
  expect(body.items).toHaveLength(2);
  expect(app.reply_reader.answers().ended).toBeUndefined();
});

test("a time of the server that was in the future leaves out no reply after a break [§19.8.4]", async () => {
  const { app, clock, advance, rows } = await createWorld();
  let ahead = 86_400;
  const ntfy = await startNtfy({ now: () => clock.now() + ahead });
  const { ask, ended, heard } = await createRepliesPerson(app.local_url, ntfy);
  const { id, sent } = await ask();
  await heard(buttonOf(sent, "Yes").topic);
  await advance(6);
  ntfy.keepAlive();
  await until(async () => {
    await advance(1);
    const [[position]] = (await rows("select position from listeners")) as any;
    return Number(position) > clock.now() + 80_000;
  });
  ahead = 0;
  ntfy.treatSubscriptions(503);
  ntfy.cut();
  await until(() => ntfy.listening().length === 0);
  await tap(sent, "Yes");
  ntfy.treatSubscriptions("ok");
  await until(async () => {
    await advance(1);
    return ntfy.listening().length === 1;
  });
  expect((await ended(id)).answer).toBe("Yes");
});

test("after a flood of its reply topic a channel goes on from then, although the server keeps the flood [§19.8.8]", async () => {
  const { ntfy, begin, advance } = await createWorld();
  const { ask, ended, heard } = await begin();
  const { id, sent } = await ask();
  const { topic } = buttonOf(sent, "Yes");
  await heard(topic);
  await advance(6);
  for (let i = 0; i < 9_000; i++) ntfy.write(topic, "x");
  await until(() => ntfy.listening().length === 0);
  await until(async () => {
    await advance(1);
    return ntfy.subscribed.length === 2;
  });
  await heard(topic);
  await tap(sent, "Yes");
  expect((await ended(id)).answer).toBe("Yes");
  expect(ntfy.subscribed).toHaveLength(2);
});

test.each([429, 401])(
  "after %d the reader waits for a minute at first, and for 5 minutes at most [§19.8.4]",
  async (status) => {
    const { app, ntfy, begin, advance } = await createWorld();
    ntfy.treatSubscriptions(status);
    const { read, channel } = await begin();
    await until(() => ntfy.subscribed.length === 1);
    const waits: number[] = [];
    for (let round = 0, seconds = 0; round < 5; ) {
      const before = ntfy.subscribed.length;
      await advance(1);
      seconds++;
      if (ntfy.subscribed.length === before) continue;
      waits.push(seconds);
      seconds = 0;
      round++;
    }
    expect(waits.map((wait) => Math.round(wait / 10) * 10)).toEqual([60, 120, 240, 300, 300]);
    await advance(2);
    expect(await read()).toMatchObject({
      state: "failing",
      last_error: { code: `status_${status}` },
    });
    const logged = app.lines.filter((line) => line.includes("answers do not arrive"));
    expect(logged.map((line) => JSON.parse(line))).toMatchObject([
      {
        level: "info",
        channel: "ntfy",
        target_id: channel.id,
        reason: `status_${status}`,
        count: 1,
      },
    ]);
    ntfy.treatSubscriptions("ok");
    await advance(310);
    expect(await read()).toMatchObject({ state: "ok", last_error: null });
  },
);

test("a web page in the place of the server, and ends in a row, show on the channel [§19.8.4]", async () => {
  const { ntfy, begin, advance } = await createWorld();
  const { ask, read, heard } = await begin();
  const { sent } = await ask();
  const { topic } = buttonOf(sent, "Yes");
  await heard(topic);
  for (const [behaviour, code] of [
    ["web page", "unexpected_answer"],
    ["end", "failed"],
  ] as const) {
    ntfy.treatSubscriptions(behaviour);
    ntfy.cut();
    const before = ntfy.subscribed.length;
    for (let i = 1; i <= 3; i++) {
      await advance(2 ** i);
      await until(() => ntfy.subscribed.length >= before + i);
    }
    await until(async () => {
      await advance(1);
      return (await read()).state === "failing";
    });
    expect((await read()).last_error).toMatchObject({ code });
    ntfy.treatSubscriptions("ok");
    await until(async () => {
      await advance(5);
      return ntfy.listening().length === 1;
    });
    await advance(61);
    expect(await read()).toMatchObject({ state: "ok", last_error: null });
  }
}, 300_000);

test("a topic that is refused is failing alone; the others of its server go on [§19.8.4]", async () => {
  const { ntfy, begin, advance } = await createWorld();
  const people = [await begin(), await begin(), await begin()];
  const asked = await Promise.all(people.map(({ ask }) => ask()));
  const topics = asked.map(({ sent }) => buttonOf(sent, "Yes").topic);
  await until(() => topics.every((topic) => ntfy.listening().flat().includes(topic)));
  ntfy.permit((topic) => ({ read: topic !== topics[1], write: true }));
  ntfy.cut();
  await advance(20);
  await until(() => ntfy.listening().flat().length === 2);
  const states = await Promise.all(people.map(async ({ read }) => (await read()).last_error?.code));
  expect(states).toEqual([undefined, "status_403", undefined]);
  for (const i of [0, 2]) {
    await tap(asked[i]!.sent, "Yes");
    await people[i]!.ended(asked[i]!.id);
  }
  ntfy.permit(() => ({ read: true, write: true }));
  await advance(130);
  await until(() => ntfy.listening().flat().length === 3);
  await advance(2);
  expect(await people[1]!.read()).toMatchObject({ state: "ok", last_error: null });
});

test("an account's refused topics take no place from channels of others on the server [§19.8.4]", async () => {
  const { app, ntfy, begin, advance } = await createWorld();
  const hostile = await begin();
  const others = [await begin()];
  for (let i = 1; i < 20; i++) {
    await addReplies(hostile, ntfy, { label: `${i}` });
    if (i % 2 === 0) others.push(await begin());
  }
  const { id } = await hostile.ask();
  const shown = await until(async () => {
    await advance(1);
    const found = ntfy.published.filter(
      ({ sequence_id, actions }) => sequence_id === id && actions,
    );
    return found.length === 20 && found;
  });
  const refused = new Set(shown.map((sent) => buttonOf(sent, "Yes").topic));
  await until(() => ntfy.listening().flat().length === 30);
  ntfy.permit((topic) => ({ read: !refused.has(topic), write: true }));
  ntfy.cut();
  await until(async () => {
    await advance(1);
    return ntfy.listening().flat().length === 10 && ntfyOf(app).connections === 30;
  });
  const added = await begin();
  await until(async () => {
    await advance(1);
    return ntfy.listening().flat().length === 11;
  });
  const { id: asked, sent } = await added.ask();
  await tap(sent, "Yes");
  expect((await added.ended(asked)).answer).toBe("Yes");
  expect(await added.read()).toMatchObject({ state: "ok", last_error: null });
}, 300_000);

test("subscriptions that were divided become one again once all of them work [§19.8.4]", async () => {
  const { ntfy, begin, advance } = await createWorld();
  const people = [await begin(), await begin(), await begin(), await begin()];
  await advance(2);
  await until(() => ntfy.listening().flat().length === 4);
  // As a proxy in front of the server that refuses everything for a while.
  ntfy.treatSubscriptions(403);
  ntfy.cut();
  await advance(30);
  ntfy.treatSubscriptions("ok");
  await advance(200);
  await until(() => ntfy.listening().flat().length === 4);
  expect(ntfy.listening()).toHaveLength(4);
  await advance(610);
  await until(() => ntfy.listening().length < 4);
  await advance(1_300);
  await until(() => ntfy.listening().length === 1);
  expect(ntfy.listening().flat()).toHaveLength(4);
  for (const { ask, ended } of people) {
    const { id, sent } = await ask();
    await tap(sent, "Yes");
    await ended(id);
  }
});

test("a protected server that anybody may not write to is named by the test [§19.8.7]", async () => {
  const { ntfy, app, advance, start, clock } = await createWorld();
  ntfy.permit((topic, token) => {
    const own = token === "tk_relay";
    return { read: own, write: own && !topic.startsWith("relay-reply-") };
  });
  const { person, channel, read } = await createRepliesPerson(app.local_url, ntfy, {
    token: "tk_relay",
  });
  const test = () => person.send(`POST /v1/channels/${channel.id}/test`);
  expect((await test()).body).toMatchObject({ status: "failed", reason: "replies_not_writable" });
  const refused = { state: "failing", last_error: { code: "replies_not_writable" } };
  expect(await read()).toMatchObject(refused);
  // That it can be read says nothing about it, in this process or in the next.
  ntfy.cut();
  await app.reply_reader.stop();
  const next = await start(clock);
  await advance(5, [clock], [next]);
  await until(() => ntfy.listening().length === 1);
  await advance(2, [clock], [next]);
  expect(await read()).toMatchObject(refused);
  ntfy.permit((topic, token) => ({
    read: false,
    write: token !== null || topic.includes("reply"),
  }));
  expect((await test()).body).toMatchObject({ status: "failed", reason: "replies_not_readable" });
  ntfy.permit((topic, token) => ({
    read: token === "tk_relay",
    write: token === "tk_relay" || topic.startsWith("relay-reply-"),
  }));
  expect((await test()).body).toMatchObject({ status: "sent", reason: null });
  await advance(1);
  expect((await read()).state).toBe("ok");
});

test("channels of one server and token share a subscription of at most 50 topics [§19.8.4]", async () => {
  const { ntfy, app, advance, begin } = await createWorld();
  const one = await begin();
  await addReplies(one, ntfy, { label: "Tablet" });
  await addReplies(one, ntfy, { label: "With a token", token: "tk_1" });
  for (let i = 0; i < 50; i++) await begin();
  await advance(3);
  await until(() => ntfy.listening().flat().length === 53);
  const sizes = ntfy
    .listening()
    .map((topics) => topics.length)
    .sort((a, b) => a - b);
  expect(sizes).toEqual([1, 2, 50]);
  expect(ntfyOf(app)).toMatchObject({ connections: 3, served: 53 });
  expect(ntfy.faults).toEqual([]);
});
