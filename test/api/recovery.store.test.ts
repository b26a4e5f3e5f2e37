/** Recovery codes: who makes one, who gets in with one, how often, and what ends with what (§5.2.7, §5.13.5). */

import { afterAll, expect, test } from "bun:test";
import { openStore } from "../../db/store/open.ts";
import { sql } from "../../db/store/sql.ts";
import { statement } from "../../db/store/statement.ts";
import { systemClock } from "../../src/clock.ts";
import { digest } from "../../src/ids.ts";
import { LIMITS } from "../../src/limits.ts";
import { ADMIN, adminClient } from "../support/admin.ts";
import { startTestApp } from "../support/app.ts";
import {
  type Answer,
  claim,
  client,
  createAgent,
  createPerson,
  newToken,
  type Person,
  pair,
} from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { createTestStore } from "../support/store.ts";
import { openStream } from "../support/stream.ts";

const { url: database_url } = await createTestStore();
const clock = createTestClock();
const app = await startTestApp({ database_url, clock, env: ADMIN });
const peer = await startTestApp({ database_url, clock });
const store = await openStore({ url: database_url, auth_token: undefined }, systemClock);
afterAll(() => store.close());

const FORM = /^([0-9A-HJKMNP-TV-Z]{4}-){7}[0-9A-HJKMNP-TV-Z]{4}$/;
const rows = (text: string) => store.read(statement(sql.raw(text), { returns: "rows" })({}));
const rowsOf = ({ account }: Pick<Person, "account">) =>
  rows(`select * from recovery_codes where account_id = '${account.id}'`);
const newCode = async ({ send }: Pick<Person, "send">): Promise<string> =>
  (await send("POST /v1/account/recovery-code", {})).body.code;
const madeAt = async ({ send }: Pick<Person, "send">): Promise<number | null> =>
  (await send("GET /v1/account/recovery-code")).body.created_at;
const recover = (code: string, token = newToken(), url = app.url, label?: string) =>
  client(url)("POST /v1/sessions/recover", { code, token, ...(label !== undefined && { label }) });
/** The status, and the errors if there are any. */
const outcome = ({ status, body }: Answer) =>
  [status, body?.code ?? null, ...Object.keys(body?.fields ?? {})].filter((one) => one !== null);
const NOT_FOUND = [404, "not_found", "code"];
/** Whether the server accepts the token. */
const opens = async (token: string) =>
  (await client(peer.url, token)("GET /v1/account")).status === 200;
/** A recovery whose sign-in has sent a request. */
async function recoverAndUse(code: string) {
  const { status, body } = await recover(code);
  expect(status).toBe(201);
  const send = client(app.url, body.token);
  await send("GET /v1/account");
  return { ...body, send } as Person & { recovery_code: string; session: { id: string } };
}

test("an account has one recovery code, and the store only its digest [§5.2.7(1)] [§5.2.7(2)] [§5.2.8]", async () => {
  const person = await createPerson(app.url);
  expect(await madeAt(person)).toBeNull();
  const made = await person.send("POST /v1/account/recovery-code");
  expect([made.status, made.body]).toEqual([
    201,
    { code: expect.stringMatching(FORM), created_at: clock.now() },
  ]);
  const { code } = made.body;
  expect(await madeAt({ send: client(peer.url, person.token) })).toBe(clock.now());
  const stored = JSON.stringify(await rowsOf(person));
  expect(stored).toContain(digest(code.replaceAll("-", "")));
  expect(stored).not.toContain(code.slice(0, 9));
  await clock.skip(60);
  const second = await newCode({ send: client(peer.url, person.token) });
  expect(second).not.toBe(code);
  expect(await madeAt(person)).toBe(clock.now());
  expect(outcome(await recover(code))).toEqual(NOT_FOUND);
  expect((await recover(second)).status).toBe(201);
  const agent = await createAgent(app.url, person);
  expect((await agent.send("POST /v1/account/recovery-code", {})).status).toBe(403);
  for (const line of [...app.lines, ...peer.lines]) {
    for (const one of [code, second]) expect(line).not.toContain(one);
  }
});

test("a recovery code signs in, is replaced, and the other sign-ins learn of it [§5.13.5(1)] [§2.9] [§7.2 session.created]", async () => {
  const person = await createPerson(app.url);
  const code = await newCode(person);
  await clock.advance(60);
  const stream = await openStream(peer.url, person.token);
  const token = newToken();
  const { status, body } = await recover(code, token, peer.url, "Safari on iPhone");
  expect([status, body]).toEqual([
    201,
    {
      account: person.account,
      session: {
        id: expect.stringMatching(/^ses_/),
        label: "Safari on iPhone",
        current: true,
        made_by: "recovery",
        created_at: clock.now(),
        last_used_at: null,
        trial_ends_at: clock.now() + LIMITS.session_trial,
        address: "127.0.0.1",
      },
      token,
      recovery_code: expect.stringMatching(FORM),
    },
  ]);
  expect(body.recovery_code).not.toBe(code);
  const { data } = await stream.next(({ event }) => event === "session.created");
  expect(data).toEqual({ session: { ...body.session, current: false } });
  stream.close();
  expect(await opens(token)).toBe(true);
  expect(await madeAt(person)).toBe(clock.now());
  // Good for one use; its successor is good for the next, after the trial.
  expect(outcome(await recover(code))).toEqual(NOT_FOUND);
  await clock.skip(LIMITS.session_trial);
  expect((await recover(body.recovery_code)).status).toBe(201);
  for (const line of peer.lines) expect(line).not.toContain(body.recovery_code);
});

test("it opens an account whose sign-ins have all ended, at once with full rights [§5.13.5(1)] [§4.1.6]", async () => {
  const person = await createPerson(app.url);
  const code = await newCode(person);
  const own = (await person.send("GET /v1/sessions")).body.sessions[0].id;
  await person.send(`DELETE /v1/sessions/${own}?last=true`);
  expect(await opens(person.token)).toBe(false);
  const back = await recoverAndUse(code);
  expect(back.account).toEqual(person.account);
  expect((await back.send("POST /v1/account/recovery-code", {})).status).toBe(201);
  expect((await back.send("POST /v1/keys", { label: "builder" })).status).toBe(201);
});

test("a code is read in either case, with I and L as 1, O as 0, and any dashes and spaces [§5.13.5(2)]", async () => {
  const person = await createPerson(app.url);
  let code = await newCode(person);
  while (!/0/.test(code) || !/1/.test(code)) code = await newCode(person);
  const flat = code.replaceAll("-", "");
  const bad = [
    `${code}0`,
    code.slice(1),
    flat.replace(/^./, "U"),
    code.replace("-", "."),
    "x",
    "é",
  ];
  for (const one of [...bad, "A".repeat(64), "-".repeat(32)]) {
    expect([one, ...outcome(await recover(one))]).toEqual([one, ...NOT_FOUND]);
  }
  const token = newToken();
  const first = await recover(code, token);
  for (const one of [
    flat,
    code.toLowerCase().replaceAll("1", "l").replaceAll("0", "o"),
    code.replaceAll("1", "I").replaceAll("0", "O").replaceAll("-", " \u2013 "),
    ` ${code}\t`,
  ]) {
    expect([one, await recover(one, token)]).toMatchObject([
      one,
      { status: 201, body: first.body },
    ]);
  }
});

test("the same code and token again give the same sign-in and the same new code [§5.13.5(3)]", async () => {
  const person = await createPerson(app.url);
  const code = await newCode(person);
  const token = newToken();
  const first = await recover(code, token);
  const stream = await openStream(app.url, person.token);
  await clock.skip(86_400);
  const again = await recover(code, token, peer.url, "Another label");
  expect([again.status, again.body]).toEqual([201, first.body]);
  expect((await person.send("GET /v1/sessions")).body.sessions).toHaveLength(2);
  // No event was sent meanwhile.
  await person.send(`POST /v1/sessions/${first.body.session.id}/confirm`);
  expect(await stream.names(1)).toEqual(["session.confirmed"]);
  stream.close();
  // Also after the sign-in was used, but not once its token was replaced.
  await client(app.url, token)("GET /v1/account");
  expect((await recover(code, token)).body.recovery_code).toBe(first.body.recovery_code);
  const next = newToken();
  await client(app.url, token)("POST /v1/account/token", { token: next });
  for (const one of [token, next, newToken()]) {
    expect(outcome(await recover(code, one))).toEqual(NOT_FOUND);
  }
  expect(await opens(next)).toBe(true);
});

test("a code whose sign-in nobody has used is good again, and that sign-in ends [§5.13.5(4)]", async () => {
  const person = await createPerson(app.url);
  const code = await newCode(person);
  const lost = await recover(code);
  await clock.skip(LIMITS.recovery_again - 0.001);
  // The response may still be under way.
  expect(outcome(await recover(code))).toEqual(NOT_FOUND);
  await clock.skip(0.001);
  const stream = await openStream(app.url, person.token);
  const again = await recover(code);
  expect(again.status).toBe(201);
  expect(await stream.names(2)).toEqual(["session.deleted", "session.created"]);
  stream.close();
  expect(await opens(lost.body.token)).toBe(false);
  expect(outcome(await recover(lost.body.recovery_code))).toEqual(NOT_FOUND);
  // The first client must not end the sign-in that took the place of its own, however late it repeats its request.
  await clock.skip(LIMITS.recovery_again);
  expect(outcome(await recover(code, lost.body.token))).toEqual(NOT_FOUND);
  expect((await person.send("GET /v1/sessions")).body.sessions).toHaveLength(2);

  await client(app.url, again.body.token)("GET /v1/account");
  await clock.skip(LIMITS.session_trial);
  expect(outcome(await recover(code))).toEqual(NOT_FOUND);
  expect((await recover(again.body.recovery_code)).status).toBe(201);
});

test("of concurrent recoveries with different tokens, in two processes, one succeeds [§5.13.5(3)]", async () => {
  const person = await createPerson(app.url);
  const url = (n: number) => (n % 2 ? app.url : peer.url);
  for (let round = 0; round < 3; round++) {
    const code = await newCode(person);
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, n) => recover(code, newToken(), url(n))),
    );
    const won = answers.filter(({ status }) => status === 201);
    expect(won).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 404)).toHaveLength(11);
    // So too for a code that is good again.
    await clock.skip(LIMITS.recovery_again);
    const more = await Promise.all(
      Array.from({ length: 12 }, (_, n) => recover(code, newToken(), url(n))),
    );
    const second = more.filter(({ status }) => status === 201);
    expect(second).toHaveLength(1);
    expect(await opens(won[0]!.body.token)).toBe(false);
    expect((await person.send("GET /v1/sessions")).body.sessions).toHaveLength(2);
    await client(
      app.url,
      second[0]!.body.token,
    )(`DELETE /v1/sessions/${second[0]!.body.session.id}`);
  }
  const code = await newCode(person);
  const token = newToken();
  const same = await Promise.all(
    Array.from({ length: 12 }, (_, n) => recover(code, token, url(n))),
  );
  for (const { status, body } of same) expect([status, body]).toEqual([201, same[0]!.body]);
});

test("a sign-in that is ended in its trial takes its new code along [§5.13.5(5)] [§4.1.6]", async () => {
  const person = await createPerson(app.url);
  // Ended by another one, or by itself.
  for (const ends of [person.send, null]) {
    const thief = await recoverAndUse(await newCode(person));
    expect((await thief.send("POST /v1/account/recovery-code", {})).status).toBe(403);
    await (ends ?? thief.send)(`DELETE /v1/sessions/${thief.session.id}`);
    expect(outcome(await recover(thief.recovery_code))).toEqual(NOT_FOUND);
    expect(await madeAt(person)).toBeNull();
  }
  // One that was never used is as good as never made.
  const unused = (await recover(await newCode(person))).body;
  await clock.skip(LIMITS.session_trial);
  await person.send(`DELETE /v1/sessions/${unused.session.id}`);
  expect(await madeAt(person)).toBeNull();

  // After the trial, or once it is confirmed, the code stays.
  const late = await recoverAndUse(await newCode(person));
  await clock.skip(LIMITS.session_trial);
  await late.send(`DELETE /v1/sessions/${late.session.id}`);
  const confirmed = await recoverAndUse(late.recovery_code);
  await person.send(`POST /v1/sessions/${confirmed.session.id}/confirm`);
  await person.send(`DELETE /v1/sessions/${confirmed.session.id}`);
  expect((await recover(confirmed.recovery_code)).status).toBe(201);
});

test("the new code of a sign-in in its trial adds no other one until the trial is over, or was ended by a confirmation [§5.13.5(5)]", async () => {
  const person = await createPerson(app.url);
  const thief = await recoverAndUse(await newCode(person));
  const refused = await Promise.all(
    [app.url, peer.url].map((url) => recover(thief.recovery_code, newToken(), url)),
  );
  for (const { status, body } of refused) {
    expect([status, body.code]).toEqual([403, "forbidden"]);
    expect(body.detail).toContain("less than 10 minutes ago");
  }
  expect((await person.send("GET /v1/sessions")).body.sessions).toHaveLength(2);
  await clock.skip(LIMITS.session_trial);
  const second = await recoverAndUse(thief.recovery_code);
  expect((await recover(second.recovery_code)).status).toBe(403);
  await person.send(`POST /v1/sessions/${second.session.id}/confirm`);
  expect((await recover(second.recovery_code)).status).toBe(201);
});

test("a code stays when the sign-in that made it, or the only one, ends [§5.13.5(5)] [§5.13.3(3)]", async () => {
  const person = await createPerson(app.url);
  const phone = await pair(app.url, person);
  await person.send(`POST /v1/sessions/${phone.session.id}/confirm`);
  const code = await newCode(phone);
  await person.send(`DELETE /v1/sessions/${phone.session.id}`);
  const own = (await person.send("GET /v1/sessions")).body.sessions[0].id;
  await person.send(`DELETE /v1/sessions/${own}?last=true`);
  const only = await recoverAndUse(code);
  await only.send(`DELETE /v1/sessions/${only.session.id}?last=true`);
  expect((await recover(only.recovery_code)).status).toBe(201);
});

test("a token that another sign-in has is refused, and a full account too; the code stays good [§5.13.5(6)]", async () => {
  const [person, other] = await Promise.all([createPerson(app.url), createPerson(app.url)]);
  const code = await newCode(person);
  for (const { token } of [person, other]) {
    expect(outcome(await recover(code, token))).toEqual([422, "invalid_fields", "token"]);
  }
  // One token with two codes at once: one is used.
  const token = newToken();
  const [first, second] = [await newCode(other), code];
  const answers = await Promise.all([first, second].map((one) => recover(one, token)));
  expect(answers.map(({ status }) => status).sort()).toEqual([201, 422]);
  // The next code, with the token of the sign-in that got it.
  await clock.skip(LIMITS.session_trial);
  const next = answers.find(({ status }) => status === 201)!.body.recovery_code;
  expect(outcome(await recover(next, token))).toEqual([422, "invalid_fields", "token"]);
  expect((await recover(next)).status).toBe(201);
  await clock.skip(60);

  const full = await createPerson(app.url);
  const kept = await newCode(full);
  const numbers = JSON.stringify(Array.from({ length: 49 }, (_, n) => n));
  const insert = `insert into credentials (digest, id, kind, account_id, made_by, created_at)
    select hex(randomblob(8)), 'ses_' || hex(randomblob(8)), 'account_token', '${full.account.id}', 'pairing', 0
    from json_each('${numbers}')`;
  await store.write([statement(sql.raw(insert))({})]);
  expect(outcome(await recover(kept))).toEqual([409, "too_many_sessions"]);
  const { sessions } = (await full.send("GET /v1/sessions")).body;
  const idle = sessions.find(({ current }: { current: boolean }) => !current);
  await full.send(`DELETE /v1/sessions/${idle.id}`);
  expect((await recover(kept)).status).toBe(201);
});

test("while the account is blocked a code adds no sign-in; afterwards it is as good as before [§5.13.5(6)] [§4.4.3]", async () => {
  const admin = adminClient(app.local_url);
  const [one, two] = [await createPerson(app.url), await createPerson(app.url)];
  const [fresh, used] = [await newCode(one), await newCode(two)];
  const token = newToken();
  const first = await recover(used, token);
  const block = async (blocked: boolean) => {
    for (const { account } of [one, two]) {
      await admin.setBlocked.mutate({ account_id: account.id, blocked });
    }
  };
  await block(true);
  await clock.skip(LIMITS.recovery_again);
  for (const url of [app.url, peer.url]) {
    for (const [code, with_token] of [[fresh], [used], [used, token]] as const) {
      expect(outcome(await recover(code, with_token ?? newToken(), url))).toEqual([
        403,
        "forbidden",
      ]);
    }
    expect(outcome(await recover("A".repeat(32), newToken(), url))).toEqual(NOT_FOUND);
  }
  await block(false);
  expect((await one.send("GET /v1/sessions")).body.sessions).toHaveLength(1);
  expect((await recover(used, token)).body).toEqual(first.body);
  expect((await recover(fresh)).status).toBe(201);

  // At the same time, in two processes: afterwards either the code or its successor works.
  const third = await createPerson(app.url);
  const account_id = third.account.id;
  for (let round = 0, code = await newCode(third); round < 5; round++) {
    const [answer] = await Promise.all([
      recover(code, newToken(), peer.url),
      admin.setBlocked.mutate({ account_id, blocked: true }),
    ]);
    expect([201, 403]).toContain(answer.status);
    await admin.setBlocked.mutate({ account_id, blocked: false });
    code = answer.body.recovery_code ?? code;
    await clock.skip(LIMITS.session_trial);
    const again = await recover(code);
    expect(again.status).toBe(201);
    code = again.body.recovery_code;
    await clock.skip(LIMITS.session_trial);
  }
});

test("a code ends with its account; a pairing code is none, nor the other way round [§5.2.7(1)]", async () => {
  const person = await createPerson(app.url);
  const code = await newCode(person);
  const pairing = (await person.send("POST /v1/pairings", {})).body.code;
  expect(outcome(await claim(app.url, { code }))).toEqual(NOT_FOUND);
  expect(outcome(await recover(pairing))).toEqual(NOT_FOUND);
  await person.send("DELETE /v1/account");
  expect(outcome(await recover(code))).toEqual(NOT_FOUND);
  expect(await rowsOf(person)).toEqual([]);
});
