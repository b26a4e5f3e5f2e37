/** What one account queues does not delay the notifications of others (§14.4.1, §19.4.6). */

import { expect, test } from "bun:test";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createHostSlots } from "../../src/notify/core/host-slots.ts";
import { TIME_LIMIT } from "../../src/notify/core/requests.ts";
import { IN_FLIGHT, QUEUED_WAIT } from "../../src/notify/ntfy/client.ts";
import { ask, createTask, type Person, WEBHOOK } from "../support/client.ts";
import { startNtfyWorld } from "../support/ntfy-world.ts";
import { startReceiver } from "../support/receiver.ts";
import { until } from "../support/until.ts";

const { app, clock, ntfy, begin, settled, change, rows } = await startNtfyWorld();

/** An ntfy server that holds each answer until the test releases it. */
async function startSlow() {
  const waiting: { readonly topic: string; readonly end: () => void }[] = [];
  let most = 0;
  let served = 0;
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    const body = JSON.parse(text);
    waiting.push({
      topic: body.topic,
      end() {
        served++;
        response.writeHead(200, { "content-type": "application/json" });
        response.end(JSON.stringify({ id: "x", event: "message", ...body }));
      },
    });
    most = Math.max(most, waiting.length);
  });
  await new Promise<void>((listening) => server.listen(0, "0.0.0.0", listening));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    waiting,
    most: () => most,
    served: () => served,
    /** Ends the request that has waited longest. */
    endOne: () => waiting.shift()?.end(),
    async stop() {
      server.closeAllConnections();
      await new Promise<void>((closed) => server.close(() => closed()));
    },
  };
}

const addChannels = async (person: Person, urls: readonly string[]) => {
  for (const url of urls) {
    const { status } = await person.send("POST /v1/channels", { type: "ntfy", label: "x", url });
    expect(status).toBe(201);
  }
};

/** As if the account had queued `many` questions for each of its channels before anything else. */
async function queueMany(account_id: string, many: number) {
  const now = Date.now();
  await change(`with recursive n(i) as (select 1 union all select i + 1 from n where i < ${many})
    insert into deliveries (account_id, recipient_id, kind, subject, question_id, key_id, lane, parts, urgency, due_at, expires_at, created_at)
    select p.account_id, p.recipient_id, 'question', 'qst_' || i || p.recipient_id, q.id, q.key_id, 'ntfy', '[]', 0, 1000 + i, ${now * 2}, 1000
    from delivery_targets p join questions q on q.account_id = p.account_id, n where p.account_id = '${account_id}'`);
}

/** Deletes an account with everything it has queued, and answers what is being sent. */
async function end(person: Person, slow: Awaited<ReturnType<typeof startSlow>>) {
  await person.send("DELETE /v1/account");
  let is_over = false;
  void settled().then(() => {
    is_over = true;
  });
  await until(() => {
    slow.endOne();
    return is_over;
  });
  await slow.stop();
}

test("an account is told at once, whatever another account has queued at servers that hang [§14.4.1]", async () => {
  const slow = await startSlow();
  const hog = await begin({}, `http://127.0.0.2:${slow.port}`);
  const urls = Array.from({ length: 19 }, (_, i) => `http://127.0.1.${i}:${slow.port}/t${i}`);
  await addChannels(hog.person, urls);
  await ask(hog.agent.send);
  const [[account_id]] = (await rows("select account_id from deliveries limit 1")) as [[string]];
  await queueMany(account_id, 250);
  app.sender.wake();
  // As many requests are open as leave room for others.
  await until(() => slow.waiting.length >= IN_FLIGHT / 2);
  const other = await begin();
  for (let i = 0; i < 3; i++) {
    await ask(other.agent.send, { prompt: `Question ${i}?` });
    await until(() => ntfy.published.length > 0);
    expect(ntfy.take()).toMatchObject([{ topic: other.topic }]);
  }
  expect(slow.most()).toBe(IN_FLIGHT / 2);
  expect(slow.served()).toBe(0);
  await end(hog.person, slow);
});

test("an account is served between the requests of another account at the same server [§19.4.6]", async () => {
  const slow = await startSlow();
  const server = `http://127.0.0.3:${slow.port}`;
  const hog = await begin({}, server);
  await ask(hog.agent.send);
  const [[account_id]] = (await rows(
    "select account_id from deliveries order by seq desc limit 1",
  )) as [[string]];
  await queueMany(account_id, 200);
  app.sender.wake();
  await until(() => slow.waiting.length === 3);
  const others = [await begin({}, server), await begin({}, server)];
  for (const { agent } of others) await ask(agent.send);
  const isTold = ({ topic }: { topic: string }) => topics.has(topic);
  const topics = new Set<string>();
  const told = others.map(({ topic }) => topic);
  for (const topic of told) topics.add(topic);
  await until(() => clock.pendingIn(QUEUED_WAIT) >= 30);
  // One has the connection that an account leaves to others, and one the next.
  await until(() => slow.waiting.length === 4);
  slow.endOne();
  await until(() => slow.served() === 1 && slow.waiting.length === 4);
  expect(slow.waiting.filter(isTold)).toHaveLength(2);
  await end(hog.person, slow);
});

test("a server that hangs for one account still gets questions of another account [§19.4.6] [§19.5.4]", async () => {
  const slow = await startSlow();
  const server = `http://127.0.0.4:${slow.port}`;
  const hog = await begin({}, server);
  for (let i = 0; i < 5; i++) await ask(hog.agent.send, { prompt: `q${i}`, expires_in: 86_400 });
  await until(() => slow.waiting.length === 3);
  const other = await begin({}, server);
  const isOther = ({ topic }: { topic: string }) => topic === other.topic;
  const toldOther = async () => {
    await ask(other.agent.send);
    await until(() => slow.waiting.some(isOther));
    const [one] = slow.waiting.splice(slow.waiting.findIndex(isOther), 1);
    one!.end();
  };
  await toldOther();
  // The same holds once the first account's requests were given up.
  await clock.advance(TIME_LIMIT);
  slow.waiting.splice(0);
  await toldOther();
  await end(hog.person, slow);
});

test("accounts take turns to get connections to a host [§19.4.6]", async () => {
  const slots = createHostSlots({ per_host: 4, waiting_per_host: 5 });
  const { signal } = new AbortController();
  const served: string[] = [];
  const ends: (() => void)[] = [];
  const wait = async (owner: string) => {
    const release = await slots.wait("host", { owner, is_test: false, until: signal });
    served.push(release ? owner : `${owner} refused`);
    if (release) ends.push(release);
  };
  // An account leaves the last connection to others.
  for (const owner of ["a", "a", "a", "a", "a", "a", "b"]) void wait(owner);
  await until(() => served.length === 4);
  expect(served).toEqual(["a", "a", "a", "b"]);
  // A full line makes room for an account with few waiting, at the cost of one with many.
  for (const owner of ["c", "c", "d"]) void wait(owner);
  await until(() => served.length === 5);
  expect(served[4]).toBe("a refused");
  void wait("d");
  await until(() => served.length === 6);
  expect(served[5]).toBe("d refused");
  for (const end of ends.splice(0)) end();
  await until(() => served.length === 9);
  expect(served.slice(6)).toEqual(["c", "d", "a"]);
  // Those that wait now have one each.
  expect(slots.free("host")).toBe(1);
  for (const end of ends.splice(0)) end();
  await until(() => served.length === 11);
  expect(served.slice(9).toSorted()).toEqual(["a", "c"]);
  for (const end of ends.splice(0)) end();
  expect([slots.free("host"), slots.full()]).toEqual([4, []]);
});

test("at most 1,000 notifications wait for a channel, and a waiting task is still updated [§14.4.2]", async () => {
  ntfy.behave(503);
  const { agent, topic } = await begin();
  const waiting = await createTask(agent.send, { title: "waits" });
  await settled();
  const [[account_id]] = (await rows(
    "select account_id from deliveries order by seq desc limit 1",
  )) as [[string]];
  const queued = async () =>
    (await rows(`select count(*) from deliveries where account_id = '${account_id}'`))[0]![0];
  await change(`with recursive n(i) as (select 2 union all select i + 1 from n where i < 1000)
    insert into deliveries (account_id, recipient_id, kind, subject, lane, parts, urgency, due_at, expires_at, created_at)
    select account_id, recipient_id, 'task', 'tsk_' || i, 'ntfy', '[]', 1, ${Date.now() * 2}, ${Date.now() * 2}, 1000
    from delivery_targets p, n where account_id = '${account_id}'`);
  expect(await queued()).toBe(1000);
  await createTask(agent.send, { title: "one more" });
  expect(await queued()).toBe(1000);
  ntfy.behave("ok");
  await agent.send(`PATCH /v1/tasks/${waiting.id}`, { status: "in_progress" });
  await until(() => ntfy.published.some((one) => one.topic === topic));
  expect(ntfy.take()).toMatchObject([{ topic, title: "waits" }]);
  await settled();
  // There is room again.
  await createTask(agent.send, { title: "later" });
  await settled();
  expect(ntfy.take()).toMatchObject([{ topic, title: "later" }]);
});

test("a webhook gets the next connection to a host, however many of another account wait for it [§19.4.6]", async () => {
  const receiver = startReceiver();
  const waiting: { readonly path: string; readonly end: () => void }[] = [];
  receiver.behave(
    ({ path }) => new Promise((answer) => waiting.push({ path, end: () => answer(200) })),
  );
  const create = async (person: Person, path: string) => {
    const given = { ...WEBHOOK, url: receiver.url(path) };
    expect((await person.send("POST /v1/channels", given)).status).toBe(201);
  };
  const [hog, other] = [await begin(), await begin()];
  for (let i = 0; i < 15; i++) await create(hog.person, `/hog-${i}`);
  await until(() => waiting.length === 2);
  await create(other.person, "/other");
  await until(() => waiting.some(({ path }) => path === "/other"));
  expect(waiting).toHaveLength(3);
  receiver.behave(() => 200);
  for (const { end: answer } of waiting) answer();
  await app.webhooks.settled();
});
