/** Approval by another device: the code, the wait, and guessing (§18.6). */

import { expect, test } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { client, createAgent, createPerson } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import {
  answerOf,
  authorize,
  createVerifier,
  REDIRECT,
  register,
  requestTokens,
  sealedOf,
} from "../support/oauth.ts";
import { connectTo, createTestStore } from "../support/store.ts";
import { until } from "../support/until.ts";

const clock = createTestClock();
const { url: database_url } = await createTestStore();
const app = await startTestApp({ clock, database_url });
/** Another server on the same store, like another process. */
const beside = await startTestApp({ clock, database_url });
const { url } = app;
const person = await createPerson(url);
const client_id = await register(url);

/** A browser without a sign-in that waits. */
async function startWaiting() {
  const { verifier, challenge } = createVerifier();
  const request = sealedOf(
    await authorize(url, {
      response_type: "code",
      client_id,
      redirect_uri: REDIRECT,
      code_challenge: challenge,
      code_challenge_method: "S256",
      state: "s",
    }),
  );
  const { status, body } = await client(url)("POST /v1/oauth/approvals", { request });
  expect(status).toBe(201);
  const fields = { grant_type: "authorization_code", client_id, redirect_uri: REDIRECT };
  return {
    ...body,
    request,
    wait: (wait = 0, at = url) =>
      client(at)(`POST /v1/oauth/approvals/wait?wait=${wait}`, { secret: body.secret }),
    redeem: (code: string) => requestTokens(url, { ...fields, code, code_verifier: verifier }),
  };
}

test("another device approves with the code, and the waiting browser continues [§18.6.1] [§18.6.2] [§18.6.3]", async () => {
  const waiting = await startWaiting();
  expect(waiting.code).toMatch(/^[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4}$/);
  expect((await waiting.wait()).body).toEqual({ status: "waiting", redirect_to: null });
  await clock.skip(20);
  const { code } = waiting;
  const read = await person.send("POST /v1/oauth/request", { request: code });
  expect(read.body).toMatchObject({
    client_name: "Test client",
    requested_at: clock.now() - 20,
    approval: { code, address: "127.0.0.1" },
  });
  // The wait is in one process, the approval in the other.
  const wait = waiting.wait(50, beside.url);
  await until(() => beside.waits.count() === 1);
  const approved = await person.send("POST /v1/oauth/approve", {
    request: code.toLowerCase().replace("-", " "),
    label: "From the phone",
  });
  expect(approved.body).toMatchObject({ redirect_to: null, key: { label: "From the phone" } });
  // The other process looks for events every 10 ms.
  await clock.advance(0.01);
  const { body } = await wait;
  expect(body.status).toBe("approved");
  const first = answerOf(body.redirect_to);
  expect(first).toMatchObject({ state: "s", iss: url });
  // A page that lost the response asks again, which ends the previous code.
  const again = answerOf((await waiting.wait()).body.redirect_to);
  expect((await waiting.redeem(first.code!)).body.error).toBe("invalid_grant");
  const { status, body: tokens } = await waiting.redeem(again.code!);
  expect(status).toBe(200);
  const { body: agents } = await client(url, tokens.access_token)("GET /v1/agents");
  expect(agents.agents.find(({ self }: any) => self).key_id).toBe(approved.body.key.id);
  expect((await waiting.wait()).body).toEqual({ status: "approved", redirect_to: null });
  // The code of the other device is used up.
  expect((await person.send("POST /v1/oauth/approve", { request: code, label: "x" })).status).toBe(
    404,
  );
});

test("another device denies the request, and the client is told [§18.6.2]", async () => {
  const waiting = await startWaiting();
  const wait = waiting.wait(50);
  await until(() => app.waits.count() === 1);
  const { status, body } = await person.send("POST /v1/oauth/deny", { request: waiting.code });
  expect([status, body]).toEqual([200, { redirect_to: null }]);
  const denied = await wait;
  expect(denied.body.status).toBe("denied");
  expect(answerOf(denied.body.redirect_to)).toMatchObject({ error: "access_denied", iss: url });
  expect((await person.send("POST /v1/oauth/deny", { request: waiting.code })).status).toBe(404);
});

test("of two people who approve at once, one succeeds and the other gets no key", async () => {
  for (let round = 0; round < 5; round++) {
    const waiting = await startWaiting();
    const people = [person, await createPerson(url)];
    const { code } = waiting;
    const answers = await Promise.all(
      people.map(({ send }) =>
        send("POST /v1/oauth/approve", { request: code, label: `round ${round}` }),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 404]);
    for (const [i, { send }] of people.entries()) {
      const labels = (await send("GET /v1/keys")).body.keys.map(({ label }: any) => label);
      expect(labels.includes(`round ${round}`)).toBe(answers[i]!.status === 200);
    }
  }
});

test("an approval code ends 10 minutes after the request, for both browsers [§18.6.4]", async () => {
  const waiting = await startWaiting();
  const wait = waiting.wait(50);
  await until(() => app.waits.count() === 1);
  await clock.skip(50);
  expect((await wait).body.status).toBe("waiting");
  await clock.skip(549.9);
  expect((await waiting.wait()).body.status).toBe("waiting");
  await clock.skip(0.1);
  expect((await waiting.wait()).body).toEqual({ status: "ended", redirect_to: null });
  const { code } = waiting;
  expect((await person.send("POST /v1/oauth/request", { request: code })).status).toBe(404);
  const { status } = await client(url)("POST /v1/oauth/approvals", { request: waiting.request });
  expect(status).toBe(404);
});

test("after 10 wrong approval codes in a minute an account may send no more, right or wrong [§18.6.4]", async () => {
  const guesser = await createPerson(url);
  const { code } = await startWaiting();
  for (const route of ["request", "approve", "deny"] as const) {
    await clock.skip(60);
    const send = (code: string) => {
      const more = route === "approve" ? { label: "x" } : {};
      return guesser.send(`POST /v1/oauth/${route}`, { request: code, ...more });
    };
    for (let i = 0; i < 10; i++) expect((await send(`${i}BAD-C0DE`)).status).toBe(404);
    for (const guess of ["9BAD-C0DE", code]) {
      const { status, headers, body } = await send(guess);
      expect([status, body.code, headers.get("retry-after")]).toEqual([429, "rate_limited", "60"]);
    }
  }
  // Other accounts are not affected.
  expect((await person.send("POST /v1/oauth/request", { request: code })).status).toBe(200);
  await clock.skip(60);
  expect((await guesser.send("POST /v1/oauth/request", { request: code })).status).toBe(200);
});

test("an approval may choose an existing key, which is suggested the next time [§5.15.2]", async () => {
  const other = await createPerson(url);
  const agent = await createAgent(url, other, "My agent");
  const first = await startWaiting();
  const approved = await other.send("POST /v1/oauth/approve", {
    request: first.code,
    key_id: agent.key.id,
  });
  expect(approved.body.key.id).toBe(agent.key.id);
  const { redirect_to } = (await first.wait()).body;
  const { body: tokens } = await first.redeem(answerOf(redirect_to).code!);
  expect((await client(url, tokens.access_token)("GET /v1/tasks")).status).toBe(200);
  const second = await startWaiting();
  const { body } = await other.send("POST /v1/oauth/request", { request: second.code });
  expect(body.suggested_key_id).toBe(agent.key.id);
  const foreign = await person.send("POST /v1/oauth/approve", {
    request: second.code,
    key_id: agent.key.id,
  });
  expect([foreign.status, foreign.body.fields]).toMatchObject([
    404,
    { key_id: expect.any(String) },
  ]);
});

test("a key whose label is the client's name is suggested, the newest of several", async () => {
  const other = await createPerson(url);
  const { code } = await startWaiting();
  const suggested = async () =>
    (await other.send("POST /v1/oauth/request", { request: code })).body.suggested_key_id;
  await createAgent(url, other, "Another name");
  expect(await suggested()).toBeNull();
  await createAgent(url, other, "Test client");
  await clock.skip(1);
  const newest = await createAgent(url, other, "Test client");
  expect(await suggested()).toBe(newest.key.id);
});

test("a wait with an unknown secret ends at once [§5.15.5]", async () => {
  const { status, body } = await client(url)("POST /v1/oauth/approvals/wait?wait=50", {
    secret: "unknown",
  });
  expect([status, body]).toEqual([200, { status: "ended", redirect_to: null }]);
});

test("when two devices of one account approve at once, both may succeed, with one key [§5.15.2(5)]", async () => {
  for (let round = 0; round < 5; round++) {
    await clock.skip(600);
    const { code, wait, redeem } = await startWaiting();
    const label = `one key ${round}`;
    const answers = await Promise.all(
      [url, beside.url, url].map((at) =>
        client(at, person.token)("POST /v1/oauth/approve", { request: code, label }),
      ),
    );
    const statuses = answers.map(({ status }) => status);
    expect(statuses).toContain(200);
    expect(statuses.every((status) => status === 200 || status === 404)).toBe(true);
    const { keys } = (await person.send("GET /v1/keys")).body;
    expect(keys.filter((key: { label: string }) => key.label === label)).toHaveLength(1);
    const { redirect_to } = (await wait()).body;
    expect((await redeem(answerOf(redirect_to).code!)).status).toBe(200);
  }
});

test("approvals and their waits are limited by address [§10.6.2] [§5.15.5]", async () => {
  await clock.skip(600);
  const limited = await startTestApp({ clock, env: { RATE_LIMITS: "on" } });
  const id = await register(limited.url);
  const { challenge } = createVerifier();
  const asked = await authorize(limited.url, {
    response_type: "code",
    client_id: id,
    redirect_uri: REDIRECT,
    code_challenge: challenge,
    code_challenge_method: "S256",
  });
  const request = sealedOf(asked);
  const send = client(limited.url);
  const ask = () => send("POST /v1/oauth/approvals", { request });
  const first = await ask();
  for (let i = 1; i < 10; i++) expect((await ask()).status).toBe(201);
  const wait = (secret: string) => send("POST /v1/oauth/approvals/wait", { secret });
  for (let i = 0; i < 60; i++) {
    expect((await wait("unknown")).status).toBe(200);
    expect((await wait(first.body.secret)).body.status).toBe("waiting");
  }
  for (const [answer, policy] of [
    [await ask(), '"approvals";q=10;w=600'],
    [await wait("unknown"), '"approval_waits";q=120;w=60'],
    [await wait(first.body.secret), '"approval_waits";q=120;w=60'],
  ] as const) {
    expect([answer.status, answer.headers.get("ratelimit-policy")]).toEqual([429, policy]);
  }
});

test("an address has 10 waiting requests, and an address with many makes room for others [§18.6.6]", async () => {
  await clock.skip(600);
  const proxied = await startTestApp({ clock, database_url, env: { TRUST_PROXY: "1" } });
  const { request } = await startWaiting();
  const from = (address: string) =>
    client(proxied.url)(
      "POST /v1/oauth/approvals",
      { request },
      { headers: { "x-forwarded-for": address } },
    );
  const busy = await from("10.0.0.1");
  for (let i = 1; i < 10; i++) expect((await from("10.0.0.1")).status).toBe(201);
  const eleventh = await from("10.0.0.1");
  expect([eleventh.status, eleventh.body.code]).toEqual([429, "rate_limited"]);

  const raw = connectTo(database_url);
  const open = `from approvals where expires_at > ${clock.now() * 1000}`;
  const count = async (where = "") =>
    Number((await raw.execute(`select count(*) ${open} ${where}`)).rows[0]![0]);
  const fill = (addresses: string, each: number) =>
    raw.execute(`insert into approvals
      with recursive n(i) as (select 1 union all select i + 1 from n where i < 1000 - (select count(*) ${open}))
      select 'apv_${each}_' || i, '${each} code ' || i, '${each} secret ' || i, request, ${addresses}, status, grant_id, created_at + 1, expires_at, revision
      from n, (select * ${open} limit 1)`);
  await fill("'10.1.0.' || (i / 5)", 5);
  expect(await count()).toBe(1_000);
  // The address with the most requests makes room with its oldest one.
  expect((await from("10.0.0.2")).status).toBe(201);
  expect(await count()).toBe(1_000);
  expect(await count("and address = '10.0.0.1'")).toBe(9);
  const ended = await client(url)("POST /v1/oauth/approvals/wait", { secret: busy.body.secret });
  expect(ended.body.status).toBe("ended");

  // Addresses with one request each make room for one of a further address, but not for its second.
  await raw.execute(`delete ${open} and address <> '10.0.0.2'`);
  await fill("'10.2.0.' || i", 1);
  expect((await from("10.0.0.3")).status).toBe(201);
  expect(await count()).toBe(1_000);
  const full = await from("10.0.0.3");
  expect([full.status, full.body.code, await count()]).toEqual([429, "rate_limited", 1_000]);
  raw.close();
  // Expired requests are deleted, which makes room.
  await clock.skip(600);
  expect((await startWaiting()).code).toBeString();
});
