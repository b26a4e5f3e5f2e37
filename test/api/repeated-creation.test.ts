/** `POST /v1/accounts` with a token that the client made (§5.2.1(4)). */

import { afterAll, expect, test } from "bun:test";
import { openStore } from "../../db/store/open.ts";
import { p, sql } from "../../db/store/sql.ts";
import { statement } from "../../db/store/statement.ts";
import { createApp } from "../../src/app.ts";
import { systemClock } from "../../src/clock.ts";
import { readConfig } from "../../src/config.ts";
import { createCore } from "../../src/core.ts";
import { createIds, digest } from "../../src/ids.ts";
import { createLog } from "../../src/log.ts";
import { CHANNELS } from "../../src/notify/registry.ts";
import { startTestApp } from "../support/app.ts";
import { client, createPerson, newToken, pair } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { createTestStore } from "../support/store.ts";
import { exchange, expectProblem } from "../support/wire.ts";

const { url: database_url } = await createTestStore();
const app = await startTestApp({ database_url });
const peer = await startTestApp({ database_url });
const store = await openStore({ url: database_url, auth_token: undefined }, systemClock);
afterAll(() => store.close());

const create = (url: string, body: object, headers: Record<string, string> = {}) =>
  exchange(url, "POST", "/v1/accounts", { body: JSON.stringify(body), headers });

const sessionsOf = async (url: string, token: string) =>
  (await client(url, token)("GET /v1/sessions")).body.sessions;

/** The number of rows in each table that a creation writes. */
async function rowsOf(from = store): Promise<number> {
  const tables = ["accounts", "credentials", "account_creations"];
  const count = sql.raw(`select ${tables.map((t) => `(select count(*) from ${t})`).join(" + ")}`);
  const [row] = await from.read(statement(count, { returns: "rows" })({}));
  return row![0] as number;
}

test("creating an account again with the same token gives the same account in every process [§5.2.1(4)]", async () => {
  const token = newToken();
  const made = await create(app.url, { token, label: "Firefox on Linux" });
  expect([made.status, made.body]).toEqual([201, { account: expect.anything(), token }]);
  const { account } = made.body;
  const send = client(app.url, token);
  expect((await send("GET /v1/account")).body).toEqual(account);
  const settings = { live_activities: false };
  const changed = (await send("PATCH /v1/account", { settings })).body;
  const sessions = await sessionsOf(app.url, token);
  const rows = await rowsOf();
  for (const [url, body] of [
    [app.url, { token, label: "Firefox on Linux" }],
    [peer.url, { token }],
    [peer.url, { token, label: "Another", start_code: "x", attestation: "x" }],
  ] as const) {
    const again = await create(url, body);
    // The account as it is now, as any reader gets it.
    expect([again.status, again.body]).toEqual([201, { account: changed, token }]);
  }
  const trpc = await exchange(app.url, "POST", "/trpc/accounts.create", {
    body: JSON.stringify({ token }),
  });
  expect(trpc.body.result.data).toEqual({ account: changed, token });
  expect(await rowsOf()).toBe(rows);
  expect(await sessionsOf(peer.url, token)).toEqual(sessions);
  expect(sessions).toMatchObject([{ label: "Firefox on Linux", made_by: "account" }]);
  for (const line of [...app.lines, ...peer.lines]) expect(line).not.toContain(token);
});

test("the token of any sign-in gives its account, and a token that ended creates another account [§5.2.1(4)] [§5.2.1(5)]", async () => {
  const person = await createPerson(app.url);
  const paired = await pair(app.url, person);
  const again = await create(app.url, { token: paired.token });
  expect([again.status, again.body.account]).toEqual([201, person.account]);
  await paired.send("POST /v1/account/token", {});
  const ended = await pair(app.url, person);
  await ended.send(`DELETE /v1/sessions/${ended.session.id}`);
  for (const { token } of [paired, ended]) {
    const other = await create(app.url, { token });
    expect(other.status).toBe(201);
    expect(other.body.account.id).not.toBe(person.account.id);
  }
  expect((await person.send("GET /v1/account")).body).toEqual(person.account);
});

test("a token of a deleted account, or of another kind of credential, is refused [§5.2.1(4)]", async () => {
  const gone = await createPerson(app.url);
  await gone.send("DELETE /v1/account");
  const { account } = await createPerson(app.url);
  const other = newToken();
  await store.write([
    statement(
      sql`insert into credentials (digest, id, kind, account_id, made_by, created_at)
        values (${p("digest")}, 'crd_other', 'another_kind', ${p("account_id")}, 'account', 0)`,
    )({ digest: digest(other), account_id: account.id }),
  ]);
  const rows = await rowsOf();
  for (const token of [gone.token, other]) {
    const refused = await create(app.url, { token, label: "Mine" });
    expectProblem(refused, "invalid_fields", ["token"]);
    expect(refused.body.fields).toEqual({ token: "must be new" });
    expect(refused.text).not.toContain(token);
  }
  expect(await rowsOf()).toBe(rows);
  const labeled = sql`select count(*) from credentials where label = 'Mine'`;
  expect(await store.read(statement(labeled, { returns: "rows" })({}))).toEqual([[0]]);
});

test("of concurrent requests with one token, one creates the account and all get it [§5.2.1(4)]", async () => {
  for (const mode of ["open", "limited", "first"] as const) {
    const { url } = await createTestStore();
    const env = {
      ...(mode === "limited" && { RATE_LIMITS: "on" }),
      ...(mode === "first" && { ACCOUNT_CREATION: "first" }),
    };
    const apps = await Promise.all([1, 2].map(() => startTestApp({ database_url: url, env })));
    const start_code = await apps[0]!.startCode();
    const token = newToken();
    // The token's account is then the last one that the address may create.
    if (mode === "limited") for (let i = 0; i < 4; i++) await createPerson(apps[0]!.url);
    const answers = await Promise.all(
      Array.from({ length: 16 }, (_, i) =>
        create(apps[i % 2]!.url, { token, label: `tab ${i}`, ...(start_code && { start_code }) }),
      ),
    );
    expect([mode, answers.map(({ status }) => status)]).toEqual([mode, Array(16).fill(201)]);
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    const own = await openStore({ url, auth_token: undefined }, systemClock);
    expect([mode, await rowsOf(own)]).toEqual([mode, mode === "limited" ? 15 : 2]);
    await own.close();
    const [session] = await sessionsOf(apps[0]!.url, token);
    expect(session.label).toStartWith("tab ");
  }
});

test("a repetition whose account reaches the address's limit meanwhile gets that account [§5.2.1(4)]", async () => {
  const { url } = await createTestStore();
  const env = { RATE_LIMITS: "on" };
  const other = await startTestApp({ database_url: url, env });
  for (let i = 0; i < 4; i++) await createPerson(other.url);
  const token = newToken();
  const deps = {
    config: readConfig({ PORT: "0", DATABASE_URL: url, ...env }),
    channels: CHANNELS,
    clock: systemClock,
    timers: systemClock,
    ids: createIds,
    log: createLog("error", () => {}),
    endProcess: () => {},
  };
  const core = await createCore(deps);
  const { accounts } = core.services;
  let first: Promise<unknown> | undefined;
  const late = await createApp(
    {
      ...core,
      services: {
        ...core.services,
        accounts: {
          ...accounts,
          async creationsOf(address) {
            // The other process creates the last account of the address meanwhile.
            first ??= create(other.url, { token });
            await first;
            return accounts.creationsOf(address);
          },
        },
      },
    },
    deps,
  );
  afterAll(() => late.stop());
  const answer = await create(late.local_url, { token });
  expect([answer.status, answer.body]).toEqual([201, ((await first) as typeof answer).body]);
});

test("above the limit of its address, a repetition counts as a request of its account [§5.2.1(4)] [§10.6.1 accounts]", async () => {
  const clock = createTestClock();
  const env = { RATE_LIMITS: "on", TRUST_PROXY: "1" };
  const limited = await startTestApp({ clock, env });
  const from = { "x-forwarded-for": "203.0.113.1" };
  const token = newToken();
  const { account } = (await create(limited.url, { token }, from)).body;
  for (let i = 0; i < 239; i++) {
    const again = await create(limited.url, { token }, from);
    expect([again.status, again.body.account]).toEqual([201, account]);
    if (i > 0) continue;
    expect(again.headers.get("ratelimit-policy")).toBe('"account";q=240;w=12');
    expect(again.headers.get("ratelimit")).toBe('"account";r=239;t=1');
  }
  for (let left = 3; left >= 0; left--) {
    const { status, headers } = await create(limited.url, { token: newToken() }, from);
    // None of the repetitions counted.
    expect([status, headers.get("ratelimit")]).toEqual([201, `"accounts";r=${left};t=3600`]);
  }
  expect((await create(limited.url, { token }, from)).status).toBe(201);
  for (const body of [{ token: newToken() }, { token: `${token}x` }, { token: 1 }, {}]) {
    const refused = await create(limited.url, body, from);
    expectProblem(refused, "rate_limited");
    expect(refused.headers.get("ratelimit")).toBe('"accounts";r=0;t=3600');
  }
  const refused = await create(limited.url, { token }, from);
  expectProblem(refused, "rate_limited");
  expect(refused.headers.get("ratelimit-policy")).toBe('"account";q=240;w=12');
  expect(refused.headers.get("retry-after")).toBe("1");
  await clock.advance(1);
  expect((await create(limited.url, { token }, from)).status).toBe(201);
});

test("with `first` a repetition needs the start code, and with `off` every repetition is refused [§5.2.1(4)] [§5.2.1(1)]", async () => {
  const { url } = await createTestStore();
  const first = await startTestApp({ database_url: url, env: { ACCOUNT_CREATION: "first" } });
  const start_code = (await first.startCode())!;
  const token = newToken();
  const made = await create(first.url, { start_code, token });
  expect([made.status, made.body.token]).toEqual([201, token]);
  const again = await create(first.url, { start_code, token });
  expect([again.status, again.body]).toEqual([201, made.body]);
  for (const body of [
    { token },
    { token, start_code: "x" },
    { start_code },
    { start_code, token: newToken() },
  ]) {
    expectProblem(await create(first.url, body), "account_creation_off");
  }
  const off = await startTestApp({ database_url: url, env: { ACCOUNT_CREATION: "off" } });
  expectProblem(await create(off.url, { token, start_code }), "account_creation_off");
  // The token of a deleted account does not create a second one.
  await client(first.url, token)("DELETE /v1/account");
  expectProblem(await create(first.url, { start_code, token }), "account_creation_off");
});
