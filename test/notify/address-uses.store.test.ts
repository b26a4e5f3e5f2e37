/** One limit counts everything that accounts make Relay send to addresses of their choice (§10.6.8). */

import { expect, test } from "bun:test";
import { openStore } from "../../db/store/open.ts";
import { systemClock } from "../../src/clock.ts";
import { ADDRESS_USES, RATES } from "../../src/limits.ts";
import { createAddressUses } from "../../src/services/shared/use-limits.ts";
import { startTestApp } from "../support/app.ts";
import { createAgent, createPerson, WEBHOOK } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { authorize, createVerifier, sealedOf } from "../support/oauth.ts";
import { startReceiver } from "../support/receiver.ts";
import { rejectionOf } from "../support/rejection.ts";
import { connectTo, createTestStore } from "../support/store.ts";
import { createAuthority } from "../support/tls.ts";

const clock = createTestClock();
const authority = await createAuthority();
let fetched = 0;
const site = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  tls: await authority.issue(),
  fetch() {
    fetched++;
    return new Response("", { status: 404 });
  },
});
const { url: database_url } = await createTestStore();
const app = await startTestApp({
  clock,
  database_url,
  env: {
    RATE_LIMITS: "on",
    PUBLIC_URL: "https://relay.example",
    OUTBOUND_PRIVATE: "127.0.0.0/8",
  },
  outbound: { ca: authority.ca, resolve: async () => ["127.0.0.1"] },
});
const url = app.local_url;
const receiver = startReceiver();
const { quota, window } = RATES.address_uses;

const detail = expect.stringMatching(/ at most 120 times in an hour\. Try again in \d+ minutes\.$/);
const refused = { status: 429, code: "rate_limited", detail };

test("new channels, tests, key webhooks and client documents share one limit [§10.6.8]", async () => {
  const person = await createPerson(url);
  const agent = await createAgent(url, person);
  const create = () =>
    person.send("POST /v1/channels", { ...WEBHOOK, url: receiver.url(`/${crypto.randomUUID()}`) });
  let posts = 0;
  for (let made = 0; made < quota - 3; made++) {
    const { status, body } = await create();
    expect(status).toBe(201);
    await app.webhooks.settled();
    await person.send(`DELETE /v1/channels/${body.channel.id}`);
    posts += receiver.take().length;
    // The rate limits of the requests themselves.
    await clock.advance(1);
  }
  expect(posts).toBe(quota - 3);
  const { body } = await create();
  await app.webhooks.settled();
  const set = () => agent.send(`PUT /v1/keys/${agent.key.id}/webhook`, { url: receiver.url("/k") });
  expect((await set()).status).toBe(200);
  await app.webhooks.settled();
  const { challenge } = createVerifier();
  const request = sealedOf(
    await authorize(url, {
      response_type: "code",
      client_id: `https://localhost:${site.port}/client.json`,
      redirect_uri: "https://client.example/cb",
      code_challenge: challenge,
      code_challenge_method: "S256",
    }),
  );
  const open = () => person.send("POST /v1/oauth/request", { request });
  expect((await open()).status).toBe(422);
  expect(fetched).toBe(1);
  receiver.take();
  // Nothing more is sent, whatever asks for it.
  const test_path = `POST /v1/channels/${body.channel.id}/test` as const;
  const answers = [await create(), await set(), await open(), await person.send(test_path)];
  for (const answer of answers) {
    expect(answer.body).toMatchObject(refused);
    expect(Number(answer.headers.get("retry-after"))).toBeLessThanOrEqual(window);
  }
  const topic = { type: "ntfy", label: "x", url: receiver.url("/topic") };
  expect((await person.send("POST /v1/channels", topic)).body).toMatchObject(refused);
  await app.webhooks.settled();
  expect(receiver.take()).toEqual([]);
  expect(fetched).toBe(1);
  // The limit belongs to the account and covers an hour.
  const other = await createPerson(url);
  const given = { ...WEBHOOK, url: receiver.url("/other") };
  expect((await other.send("POST /v1/channels", given)).status).toBe(201);
  await app.webhooks.settled();
  expect(receiver.take()).toHaveLength(1);
  await clock.skip(window);
  expect((await create()).status).toBe(201);
});

test("many accounts share one limit per host, and an account that has not used the host is still served [§10.6.8]", async () => {
  const store = await openStore({ url: database_url, auth_token: undefined }, systemClock);
  const ids: string[] = [];
  await clock.skip(window);
  for (let i = 0; i < 4; i++) ids.push((await createPerson(url)).account.id);
  const rate = { quota: ADDRESS_USES.per_host, window };
  const admit = createAddressUses({ store, clock, is_on: true }, rate);
  const [one, two, three, four] = ids as [string, string, string, string];
  const use = (account_id: string, host = "third.example") => admit({ account_id, host });
  for (let i = 0; i < ADDRESS_USES.per_host / 2; i++) {
    await use(one);
    await use(two);
  }
  const refusal = await rejectionOf(use(one));
  expect(refusal).toMatchObject({ code: "rate_limited" });
  expect(await use(one, "another.example")).toBe(true);
  for (let i = 0; i < ADDRESS_USES.first; i++) expect(await use(three)).toBe(true);
  expect(await rejectionOf(use(three))).toMatchObject({ code: "rate_limited" });
  // Strangers with many accounts use up nobody's first requests.
  const strangers = ADDRESS_USES.per_host / ADDRESS_USES.first;
  const raw = connectTo(database_url);
  await raw.execute(`insert into accounts (id, created_at, live_activities, revision)
    with recursive n(i) as (select 1 union all select i + 1 from n where i < ${strangers})
    select 'stranger_' || i, 0, 0, 'r' from n`);
  raw.close();
  for (let i = 1; i <= strangers; i++) {
    for (let used = 0; used < ADDRESS_USES.first; used++) await use(`stranger_${i}`);
  }
  expect(await use(four)).toBe(true);
  await clock.skip(window);
  expect(await use(one)).toBe(true);
  expect(await use(four)).toBe(true);
  const off = createAddressUses({ store, clock, is_on: false }, { quota: 1, window });
  for (let i = 0; i < 3; i++) expect(await off({ account_id: one, host: "h" })).toBe(true);
});
