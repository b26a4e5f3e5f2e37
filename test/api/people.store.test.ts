/** What the administrator does with people: names, blocks, deletions and invitations (§4.4, §5.2.1(6)). */

import { expect, test } from "bun:test";
import { nameAccount } from "../../db/people.ts";
import { openStore } from "../../db/store/open.ts";
import { sql } from "../../db/store/sql.ts";
import { statement } from "../../db/store/statement.ts";
import { type Clock, systemClock } from "../../src/clock.ts";
import { ADMIN, ADMIN_TOKEN, adminClient, metricsOf } from "../support/admin.ts";
import { startTestApp, type TestApp } from "../support/app.ts";
import { startApple } from "../support/apple.ts";
import {
  ask,
  claim,
  client,
  createAgent,
  createPair,
  DEVICE,
  newToken,
} from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { callTool, oldEra } from "../support/mcp.ts";
import { connectClient, refresh } from "../support/oauth.ts";
import { startReceiver } from "../support/receiver.ts";
import { rejectionOf } from "../support/rejection.ts";
import { createTestStore } from "../support/store.ts";
import { openStream } from "../support/stream.ts";
import { until } from "../support/until.ts";
import { exchange } from "../support/wire.ts";

/** Two processes on one store, with an administrator. Without a test clock, each hears what the other does. */
async function startTwo(env: Record<string, string> = {}, clock?: Clock) {
  const { url: database_url } = await createTestStore();
  const options = { database_url, env: { ...ADMIN, ...env } };
  const start = () => startTestApp({ ...options, ...(clock && { clock }) });
  const apps = [await start(), await start()] as const;
  return { start, apps, admin: adminClient(apps[0].local_url) };
}

const codeOf = async (work: Promise<unknown>) => {
  const { data } = (await rejectionOf(work)) as any;
  return [data?.httpStatus, data?.code_name];
};

/** Expects the problem of this code. */
const expectCode = ({ body }: { readonly body: any }, code: string) =>
  expect(body?.code).toBe(code);

const personOf = async (admin: ReturnType<typeof adminClient>, id: string) =>
  (await admin.accounts.query({})).accounts.find((one) => one.id === id);

test("a name is the administrator's alone, whatever it contains, and says when the person was last here", async () => {
  const clock = createTestClock();
  const { apps, admin } = await startTwo({}, clock);
  const { person, agent } = await createPair(apps[0].url);
  const { id } = person.account;
  expect(await personOf(admin, id)).toMatchObject({ name: null, blocked_at: null, sign_ins: 1 });
  await clock.skip(3_600);
  await person.send("GET /v1/account");
  const here = clock.now();
  await clock.skip(3_600);
  await agent.send("GET /v1/tasks");
  await until(async () => {
    const found = await personOf(admin, id);
    return found?.last_here_at === here && found.last_used_at === clock.now();
  });
  for (const name of ["Grandma", "\u202eamdnarG 🫶", "א".repeat(80), "<b>&amp;"]) {
    await admin.setName.mutate({ account_id: id, name });
    expect((await personOf(adminClient(apps[1].url), id))!.name).toBe(name);
    expect(JSON.stringify((await person.send("GET /v1/account")).body)).not.toContain("admin_name");
  }
  for (const name of ["", " ", "x".repeat(81), "two\nlines", "\u200b"]) {
    expect(await codeOf(admin.setName.mutate({ account_id: id, name }))).toEqual([
      422,
      "invalid_fields",
    ]);
  }
  await admin.setName.mutate({ account_id: id, name: null });
  expect((await personOf(admin, id))!.name).toBeNull();
  const unknown = admin.setName.mutate({ account_id: "acc_none", name: "x" });
  expect(await codeOf(unknown)).toEqual([404, "not_found"]);
});

test("a block refuses every credential in every process at once, ends streams and waits, and loses nothing [§4.4.1] [§4.4.2]", async () => {
  const { apps, admin } = await startTwo();
  const [one, other] = apps;
  const { person, agent } = await createPair(one.url);
  const bystander = await createPair(one.url);
  const program = await connectClient(one.url, person);
  const { id } = await ask(agent.send);
  const account_id = person.account.id;
  const elsewhere = {
    person: client(other.url, person.token),
    agent: client(other.url, agent.secret),
    program: client(other.url, program.tokens.access_token),
  };
  // Each process remembers the credentials.
  for (const send of Object.values(elsewhere)) await send("GET /v1/tasks");
  const streams = [
    await openStream(one.url, person.token),
    await openStream(other.url, person.token),
  ];
  const waits = [
    agent.send(`GET /v1/questions/${id}?wait=50`),
    elsewhere.agent("GET /v1/inbox?wait=50"),
    elsewhere.program("GET /v1/inbox?wait=50"),
    elsewhere.person(`GET /v1/questions/${id}?wait=50`),
  ];
  const stays = bystander.agent.send("GET /v1/inbox?wait=3");
  await until(() => one.waits.count() + other.waits.count() === 5);
  const code = (await person.send("POST /v1/pairings", {})).body.code;

  await admin.setBlocked.mutate({ account_id, blocked: true });
  for (const send of [person.send, agent.send, program.send, ...Object.values(elsewhere)]) {
    const refused = await send("GET /v1/tasks");
    expectCode(refused, "forbidden");
    expect(refused.body.detail).toContain("blocked");
    expect(refused.headers.get("www-authenticate")).toBeNull();
    expectCode(await send("POST /v1/tasks", { title: "x" }), "forbidden");
  }
  for (const wait of waits) expectCode(await wait, "forbidden");
  for (const stream of streams) await stream.ended;
  expectCode(
    await exchange(other.url, "GET", "/v1/events", { credential: person.token }),
    "forbidden",
  );
  const mcp = await exchange(other.url, "POST", "/mcp", { credential: agent.secret, body: "{}" });
  expect([mcp.status, mcp.headers.get("www-authenticate")]).toEqual([403, null]);
  expect(one.waits.count() + other.waits.count()).toBe(1);
  expect((await stays).status).toBe(200);
  // No way around it: no code, no new sign-in, and new tokens of a client wait too.
  expectCode(await claim(other.url, { code }), "not_found");
  expect(await codeOf(admin.pair.mutate({ account_id }))).toEqual([403, "forbidden"]);
  const { status, body: tokens } = await refresh(other.url, program.tokens.refresh_token);
  expect(status).toBe(200);
  const fresh = client(one.url, tokens.access_token);
  expectCode(await fresh("GET /v1/tasks"), "forbidden");
  expect((await personOf(admin, account_id))!.blocked_at).toBeNumber();
  // A second time changes nothing.
  await admin.setBlocked.mutate({ account_id, blocked: true });

  await admin.setBlocked.mutate({ account_id, blocked: false });
  for (const send of [person.send, agent.send, fresh, elsewhere.person, elsewhere.agent]) {
    expect((await send("GET /v1/tasks")).status).toBe(200);
  }
  expect((await refresh(one.url, tokens.refresh_token)).status).toBe(200);
  expect((await person.send(`POST /v1/questions/${id}/answer`, { answer: "Yes" })).status).toBe(
    200,
  );
  await callTool(oldEra(one.url, agent.secret), "read_inbox");
  expect((await person.send("GET /v1/sessions")).body.sessions).toHaveLength(1);
  await admin.setBlocked.mutate({ account_id, blocked: false });
  const unknown = admin.setBlocked.mutate({ account_id: "acc_none", blocked: true });
  expect(await codeOf(unknown)).toEqual([404, "not_found"]);
});

test("notifications and webhooks of a blocked account wait, and go out after the block [§4.4.3]", async () => {
  const clock = createTestClock();
  const apple = await startApple({ now: clock.now });
  const receiver = startReceiver();
  const env = apple.env("SANDBOX");
  const { apps, admin } = await startTwo(env, clock);
  const [app] = apps;
  const { person, agent } = await createPair(app.url);
  await person.send(`PUT /v1/devices/dev_${crypto.randomUUID()}`, {
    ...DEVICE,
    apns_token: "aa01",
  });
  const hook = { type: "webhook", label: "CI", url: receiver.url("/hook") };
  const { body: made } = await person.send("POST /v1/channels", hook);
  receiver.expect("/hook", made.secret);
  const settle = async (seconds: number) => {
    for (let i = 0; i < seconds; i++) {
      for (const one of apps) {
        await one.sender.settled();
        await one.webhooks.settled();
        await one.jobs.settled();
      }
      await clock.skip(1);
    }
  };
  await settle(3);
  // The services are away, so what is planned waits.
  apple.behave(() => ({ status: 503, reason: "ServiceUnavailable" }));
  receiver.behave(() => 503);
  await ask(agent.send, { prompt: "First?", expires_in: 60 });
  await ask(agent.send, { prompt: "Second?", expires_in: 7_200 });
  await settle(3);
  await admin.setBlocked.mutate({ account_id: person.account.id, blocked: true });
  await settle(3);
  apple.behave(() => undefined);
  receiver.behave(() => 200);
  receiver.take();
  const before = apple.received.length;
  // What waits is counted under the name of its lane.
  expect((await metricsOf(app.local_url)).text).toContain('lane="blocked ');
  expect((await admin.pushes.query()).queues!.some(({ lane }) => lane.startsWith("blocked "))).toBe(
    true,
  );
  // The first question expires, and the second one rings again meanwhile: nobody is told.
  await settle(120);
  expect(apple.received.length).toBe(before);
  expect(receiver.got.filter(({ path }) => path === "/hook")).toEqual([]);
  await admin.setBlocked.mutate({ account_id: person.account.id, blocked: false });
  await settle(120);
  expect(apple.received.length).toBeGreaterThan(before);
  const events = receiver.got.map(({ type }) => type);
  expect(events).toContain("question.created");
  // The expiry of the first one.
  expect(events).toContain("question.updated");
});

test("the administrator deletes an account while it streams, also a blocked one, and its tokens are known as ended", async () => {
  const { apps, admin } = await startTwo();
  for (const is_blocked of [false, true]) {
    const { person, agent } = await createPair(apps[0].url);
    const account_id = person.account.id;
    const stream = is_blocked ? null : await openStream(apps[1].url, person.token);
    const wait = is_blocked ? null : client(apps[1].url, agent.secret)("GET /v1/inbox?wait=50");
    if (wait) await until(() => apps[1].waits.count() === 1);
    if (is_blocked) await admin.setBlocked.mutate({ account_id, blocked: true });
    await admin.deleteAccount.mutate({ account_id });
    await stream?.ended;
    if (stream) expect(stream.events.at(-1)!.event).toBe("account.deleted");
    if (wait) expectCode(await wait, "unauthorized");
    for (const { url } of apps) {
      const refused = await client(url, person.token)("GET /v1/account");
      expectCode(refused, "unauthorized");
      expect(refused.body.ended).toBe(true);
      expectCode(await client(url, agent.secret)("GET /v1/tasks"), "unauthorized");
    }
    expect(await personOf(admin, account_id)).toBeUndefined();
    expect(await codeOf(admin.deleteAccount.mutate({ account_id }))).toEqual([404, "not_found"]);
  }
});

/** Creates an account with a start code. */
const join = (app: Pick<TestApp, "local_url">, start_code: string, token = newToken()) =>
  client(app.local_url)("POST /v1/accounts", { start_code, token });

for (const mode of ["off", "first", "open"]) {
  test(`an invitation creates one account, and a lost response is no loss: ACCOUNT_CREATION=${mode} [§5.2.1(6)]`, async () => {
    const env = { ACCOUNT_CREATION: mode, PUBLIC_URL: "https://relay.example/r" };
    const clock = createTestClock();
    const { apps, admin } = await startTwo(env, clock);
    const made = await admin.invite.mutate({ name: "Mum" });
    expect(made.url).toBe(`https://relay.example/r/#/invite/${made.code}`);
    const list = await admin.invitations.query();
    expect(list.invitations.map(({ id, name }) => [id, name])).toEqual([[made.id, "Mum"]]);
    expect(JSON.stringify(list)).not.toContain(made.code);
    for (const app of apps) {
      for (const line of app.lines) expect(line).not.toContain(made.code);
    }
    const token = newToken();
    const { status, body } = await join(apps[1], made.code, token);
    expect(status).toBe(201);
    expect(await personOf(admin, body.account.id)).toMatchObject({ name: "Mum" });
    expect((await admin.invitations.query()).invitations).toEqual([]);
    // The same request again; with another token the code is used up.
    expect((await join(apps[0], made.code, token)).body.account.id).toBe(body.account.id);
    const again = await join(apps[0], made.code);
    if (mode === "open") {
      expect(await personOf(admin, again.body.account.id)).toMatchObject({ name: null });
    } else expectCode(again, "account_creation_off");
    // One that has ended or expired is like any other text.
    const revoked = await admin.invite.mutate({ name: null });
    await admin.revoke.mutate({ invitation_id: revoked.id });
    expect(await codeOf(admin.revoke.mutate({ invitation_id: revoked.id }))).toEqual([
      404,
      "not_found",
    ]);
    const late = await admin.invite.mutate({ name: null });
    await clock.skip(7 * 86_400);
    for (const { code } of [revoked, late]) {
      expect((await join(apps[0], code)).status).toBe(mode === "open" ? 201 : 403);
    }
  });
}

test("of many requests with one invitation at the same instant, in two processes, one creates an account [§5.2.1(6)]", async () => {
  const { apps, admin } = await startTwo({ ACCOUNT_CREATION: "off" });
  const { code } = await admin.invite.mutate({ name: "Twins" });
  const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => join(apps[i % 2]!, code)));
  const statuses = answers.map(({ status }) => status).sort();
  expect(statuses).toEqual([201, ...Array.from({ length: 19 }, () => 403)]);
  expect((await admin.accounts.query({})).accounts.map(({ name }) => name)).toEqual(["Twins"]);
  // The same token at the same instant: everybody gets the one account.
  const next = await admin.invite.mutate({ name: null });
  const token = newToken();
  const same = await Promise.all(
    Array.from({ length: 10 }, (_, i) => join(apps[i % 2]!, next.code, token)),
  );
  expect(new Set(same.map(({ body }) => body.account?.id)).size).toBe(1);
});

test("an address above its limit of creations can use an invitation, and one creates no room for more [§5.2.1(6)]", async () => {
  const { apps, admin } = await startTwo({ RATE_LIMITS: "on" });
  const create = (body: object) =>
    client(apps[1].local_url)("POST /v1/accounts", { token: newToken(), ...body });
  for (let i = 0; i < 5; i++) expect((await create({})).status).toBe(201);
  const { code } = await admin.invite.mutate({ name: "Mum" });
  expectCode(await create({ start_code: "no-invitation" }), "rate_limited");
  const invited = await create({ start_code: code });
  expect([invited.status, invited.headers.get("ratelimit")]).toEqual([201, null]);
  expect(await personOf(admin, invited.body.account.id)).toMatchObject({ name: "Mum" });
  for (const start_code of [code, undefined]) {
    expectCode(await create({ start_code }), "rate_limited");
  }
  // The creation is not repeated for a blocked account.
  await admin.setBlocked.mutate({ account_id: invited.body.account.id, blocked: true });
  const { token } = invited.body;
  expectCode(
    await join(apps[0], (await admin.invite.mutate({ name: null })).code, token),
    "forbidden",
  );
});

test("at most 100 invitations are open, each until it is used, revoked or expired", async () => {
  const clock = createTestClock();
  const { admin } = await startTwo({}, clock);
  for (let i = 0; i < 100; i++) await admin.invite.mutate({ name: `n${i}` });
  expect(await codeOf(admin.invite.mutate({ name: null }))).toEqual([422, "invalid_fields"]);
  expect((await admin.invitations.query()).invitations).toHaveLength(100);
  await clock.skip(7 * 86_400 + 1);
  expect((await admin.invite.mutate({ name: null })).url).toBeNull();
  expect((await admin.invitations.query()).invitations).toHaveLength(1);
});

test("a process that joins later refuses a blocked account, and what an agent gets meanwhile waits too [§4.4.1]", async () => {
  const { start, apps, admin } = await startTwo();
  const { person } = await createPair(apps[0].url);
  const account_id = person.account.id;
  await admin.setBlocked.mutate({ account_id, blocked: true });
  const late = await start();
  expectCode(await client(late.url, person.token)("GET /v1/account"), "forbidden");
  await admin.setBlocked.mutate({ account_id, blocked: false });
  expect((await createAgent(late.url, person)).key.label).toBe("agent");
});

test("people are found by a part of their name in any case, in pages that examine at most 1,000 accounts [§4.3.4]", async () => {
  const { url: database_url } = await createTestStore();
  const app = await startTestApp({ database_url, env: ADMIN });
  const admin = adminClient(app.url);
  const store = await openStore({ url: database_url, auth_token: undefined }, systemClock);
  const insert =
    statement(sql`insert into accounts (id, created_at, live_activities, revision, deleted_at)
    with recursive n(i) as (values(0) union all select i + 1 from n where i < 1199)
    select printf('acc_%05d', i), i, 1, 'c', iif(i = 1160, i, null) from n`);
  const NAMES: Readonly<Record<number, string>> = {
    3: "Zoë 100%",
    4: "WEISS, Ali",
    // The same letters, not composed.
    7: "Grandma Zoe\u0308",
    900: "عائشة بنت محمد",
    1150: "Ali_Baba",
    1160: "Alicia",
    ...Object.fromEntries([0, 1, 2, 3, 4].map((i) => [1190 + i, `Person ${i}`])),
  };
  const idOf = (i: number | string) => `acc_${String(i).padStart(5, "0")}`;
  const names = Object.entries(NAMES);
  await store.write([insert({})]);
  await store.write(names.map(([i, admin_name]) => nameAccount({ id: idOf(i), admin_name })));
  await store.close();
  const read = async (name: string, limit = 100, cursor?: string): Promise<unknown[][]> => {
    const { accounts, next_cursor } = await admin.accounts.query({ name, limit, cursor });
    const page = accounts.map((account) => account.name);
    return next_cursor === null ? [page] : [page, ...(await read(name, limit, next_cursor))];
  };
  // The first page ends in the middle of the store, and says that there may be more.
  expect(await read("ali")).toEqual([["Ali_Baba"], ["WEISS, Ali"]]);
  expect(await read("ali", 1)).toEqual([["Ali_Baba"], ["WEISS, Ali"]]);
  expect(await read("person", 2)).toEqual([
    ["Person 4", "Person 3"],
    ["Person 2", "Person 1"],
    ["Person 0"],
    [],
  ]);
  expect((await read("ZOË")).flat()).toEqual(["Grandma Zoe\u0308", "Zoë 100%"]);
  expect((await read("weiß")).flat()).toEqual(["WEISS, Ali"]);
  expect((await read("بنت")).flat()).toEqual([NAMES[900]!]);
  // No character is a wildcard.
  expect((await read("%")).flat()).toEqual(["Zoë 100%"]);
  expect((await read("_")).flat()).toEqual(["Ali_Baba"]);
  for (const name of ["a_i", "' or 1=1 --"]) expect((await read(name)).flat()).toEqual([]);
  for (const name of ["", "  ", "x".repeat(101), "\0", null, 1]) {
    const refused = await exchange(
      app.url,
      "GET",
      `/admin/trpc/accounts?input=${encodeURIComponent(JSON.stringify({ name }))}`,
      { credential: ADMIN_TOKEN },
    );
    expect([name, refused.status]).toEqual([name, 422]);
  }
  expect((await read("x".repeat(100))).flat()).toEqual([]);
});
