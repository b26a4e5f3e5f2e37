/** Pairing codes: who signs in with one, how often, and for how long (§5.14). */

import { afterAll, expect, test } from "bun:test";
import { prunePairings } from "../../db/pairings.ts";
import { openStore } from "../../db/store/open.ts";
import { sql } from "../../db/store/sql.ts";
import { statement } from "../../db/store/statement.ts";
import { systemClock } from "../../src/clock.ts";
import { digest } from "../../src/ids.ts";
import { LIMITS } from "../../src/limits.ts";
import { startTestApp } from "../support/app.ts";
import {
  type Answer,
  claim,
  client,
  createPerson,
  newToken,
  type Person,
  pair,
} from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { createTestStore } from "../support/store.ts";
import { openStream } from "../support/stream.ts";
import { exchange, expectProblem } from "../support/wire.ts";

const { url: database_url } = await createTestStore();
const clock = createTestClock();
const app = await startTestApp({ database_url, clock });
const peer = await startTestApp({ database_url, clock });
const store = await openStore({ url: database_url, auth_token: undefined }, systemClock);
afterAll(() => store.close());

const rows = (text: string) => store.read(statement(sql.raw(text), { returns: "rows" })({}));
const newCode = async ({ send }: Pick<Person, "send">) =>
  (await send("POST /v1/pairings", {})).body as { code: string; url: string; expires_at: number };
const codeOf = ({ url }: { url: string }) => url.split("/").at(-1)!;
/** The status, and the errors if there are any. */
const outcome = ({ status, body }: Answer) =>
  [status, body?.code ?? null, ...Object.keys(body?.fields ?? {})].filter((one) => one !== null);
const NOT_FOUND = [404, "not_found", "code"];

test("a pairing code signs another device in, with the token that the device made [§5.14.2(1)] [§2.10] [§7.2 session.created]", async () => {
  const person = await createPerson(app.url);
  const stream = await openStream(peer.url, person.token);
  const made = await person.send("POST /v1/pairings", {});
  expect([made.status, made.body]).toEqual([
    201,
    {
      code: expect.stringMatching(/^[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4}$/),
      url: null,
      no_url_reason: expect.stringContaining("HOST=0.0.0.0"),
      expires_at: clock.now() + LIMITS.pairing_life,
    },
  ]);
  const token = newToken();
  const { code } = made.body;
  const claimed = await claim(peer.url, { code, label: "Safari on iPhone", token });
  const session = {
    id: expect.stringMatching(/^ses_/),
    label: "Safari on iPhone",
    current: true,
    made_by: "pairing",
    created_at: clock.now(),
    last_used_at: null,
    trial_ends_at: clock.now() + LIMITS.session_trial,
    address: "127.0.0.1",
  };
  expect([claimed.status, claimed.body]).toEqual([
    201,
    { account: person.account, session, token },
  ]);
  expect((await client(app.url, token)("GET /v1/account")).body).toEqual(person.account);
  const { data } = await stream.next(({ event }) => event === "session.created");
  expect(data).toEqual({ session: { ...claimed.body.session, current: false } });
  stream.close();
  for (const line of [...app.lines, ...peer.lines]) {
    expect(line).not.toContain(token);
    expect(line).not.toContain(code);
  }
});

test("the pairing link has the address of its request, and other addresses open the same account", async () => {
  const person = await createPerson(app.url);
  const made = await exchange(app.url, "POST", "/v1/pairings", {
    credential: person.token,
    body: "{}",
    headers: { host: "192.0.2.7:8080" },
  });
  expect(made.body.url).toMatch(/^http:\/\/192\.0\.2\.7:8080\/#\/pair\/[A-Za-z0-9_-]{22}$/);
  expect(made.body.no_url_reason).toBeNull();
  expect((await claim(app.url, { code: codeOf(made.body) })).body.account).toEqual(person.account);
  // Both forms are one code.
  expect(outcome(await claim(app.url, { code: made.body.code }))).toEqual(NOT_FOUND);

  const named = await startTestApp({ database_url, env: { PUBLIC_URL: "https://relay.example/" } });
  const elsewhere = await newCode({ send: client(named.local_url, person.token) });
  expect(elsewhere.url).toStartWith("https://relay.example/#/pair/");
});

test("a typed code is read in either case, with I and L as 1, O as 0, and any dashes and spaces [§5.14.3]", async () => {
  const person = await createPerson(app.url);
  const spoken = (code: string) => code.toLowerCase().replaceAll("1", "l").replaceAll("0", "o");
  for (const write of [
    (code: string) => code,
    (code: string) => code.replace("-", ""),
    (code: string) => ` ${[...code.replace("-", "")].join(" ")}\t`,
    (code: string) => code.replace("-", "\u2013\u2014-"),
    (code: string) => spoken(code),
    (code: string) => spoken(code).replaceAll("l", "I").toUpperCase(),
  ]) {
    // A code that has both digits that are often mistaken.
    let { code } = await newCode(person);
    while (!/0/.test(code) || !/1/.test(code)) ({ code } = await newCode(person));
    const { status, body } = await claim(app.url, { code: write(code) });
    expect([write(code), status]).toEqual([write(code), 201]);
    await client(app.url, body.token)(`DELETE /v1/sessions/${body.session.id}`);
  }
  const { code } = await newCode(person);
  const bad = [`${code}0`, code.slice(1), code.replace("-", "."), `U${code.slice(1)}`, "x", "é"];
  for (const one of [...bad, "A".repeat(22), "A".repeat(64), "----"]) {
    expect(outcome(await claim(app.url, { code: one }))).toEqual(NOT_FOUND);
  }
  // The code of a link is read exactly as it is.
  const link = codeOf(
    (
      await exchange(app.url, "POST", "/v1/pairings", {
        credential: person.token,
        body: "{}",
        headers: { host: "192.0.2.7" },
      })
    ).body,
  );
  const swapped = link.replace(/[a-z]/i, (c) =>
    c === c.toUpperCase() ? c.toLowerCase() : c.toUpperCase(),
  );
  expect(outcome(await claim(app.url, { code: swapped }))).toEqual(NOT_FOUND);
  expect((await claim(app.url, { code: link })).status).toBe(201);
});

test("a code expires after 5 minutes, even if the clock that made it was ahead [§5.14.1(1)] [§5.14.2(3)]", async () => {
  const person = await createPerson(app.url);
  const late = await newCode(person);
  await clock.advance(LIMITS.pairing_life - 0.001);
  const early = await newCode(person);
  await clock.advance(0.001);
  expect(outcome(await claim(app.url, { code: late.code }))).toEqual(NOT_FOUND);
  expect((await claim(app.url, { code: early.code })).status).toBe(201);

  const ahead = createTestClock();
  ahead.shiftWall(86_400);
  const wrong = await startTestApp({ database_url, clock: ahead });
  const { code } = await newCode({ send: client(wrong.url, person.token) });
  expect(outcome(await claim(app.url, { code }))).toEqual(NOT_FOUND);
});

test("a code used again with the same token gives the same sign-in, and with another token none [§5.14.2(2)] [§5.14.2(3)]", async () => {
  const person = await createPerson(app.url);
  const { code } = await newCode(person);
  const token = newToken();
  const first = await claim(app.url, { code, token, label: "Phone" });
  const stream = await openStream(app.url, person.token);
  expect(await claim(peer.url, { code, token, label: "Other" })).toMatchObject({
    status: 201,
    body: first.body,
  });
  expect(outcome(await claim(app.url, { code }))).toEqual(NOT_FOUND);
  await clock.skip(LIMITS.pairing_life + LIMITS.pairing_kept - 1);
  expect((await claim(app.url, { code, token })).body).toEqual(first.body);
  // Nothing was added, and no event was sent.
  expect((await person.send("GET /v1/sessions")).body.sessions).toHaveLength(2);
  await person.send(`DELETE /v1/sessions/${first.body.session.id}`);
  expect(await stream.names(1)).toEqual(["session.deleted"]);
  stream.close();
  expect(outcome(await claim(app.url, { code, token }))).toEqual(NOT_FOUND);

  const again = await newCode(person);
  const used = await claim(app.url, { code: again.code, token });
  expect(used.status).toBe(201);
  expect(await prunePairings(store, clock.now() + LIMITS.pairing_life, 100)).toBeGreaterThan(0);
  expect(outcome(await claim(app.url, { code: again.code, token }))).toEqual(NOT_FOUND);
});

test("a usable code shows which account it opens, and any other code shows nothing [§5.14.6]", async () => {
  const { body } = await client(app.url)("POST /v1/accounts", { label: "Firefox on Linux" });
  const person: Person = { ...body, send: client(app.url, body.token) };
  const lookUp = (code: string) => client(peer.url)("POST /v1/pairings/lookup", { code });
  const named = await startTestApp({
    database_url,
    clock,
    env: { PUBLIC_URL: "https://r.example" },
  });
  const made = await newCode({ send: client(named.local_url, person.token) });
  const offer = {
    account_id: person.account.id,
    account_created_at: person.account.created_at,
    offered_by: "Firefox on Linux",
    expires_at: made.expires_at,
  };
  for (const code of [made.code, made.code.toLowerCase(), codeOf(made)]) {
    const answer = await lookUp(code);
    expect([answer.status, answer.body]).toEqual([200, offer]);
  }
  // Showing does not use the code up.
  expect((await claim(app.url, { code: made.code })).status).toBe(201);
  const expired = await newCode(person);
  await clock.skip(LIMITS.pairing_life);
  for (const code of [made.code, codeOf(made), expired.code, "XXXX-XXXX", "x"]) {
    expect(outcome(await lookUp(code))).toEqual(NOT_FOUND);
  }
  const gone = await newCode(person);
  await person.send("DELETE /v1/account");
  expect(outcome(await lookUp(gone.code))).toEqual(NOT_FOUND);
});

test("a used code is worthless once its sign-in has replaced the token [§5.14.2(3)]", async () => {
  const person = await createPerson(app.url);
  const { code } = await newCode(person);
  const [first, second] = [newToken(), newToken()];
  await claim(app.url, { code, token: first });
  const replaced = await client(app.url, first)("POST /v1/account/token", { token: second });
  expect(replaced.status).toBe(200);
  for (const token of [first, second, newToken()]) {
    expect(outcome(await claim(peer.url, { code, token }))).toEqual(NOT_FOUND);
  }
  expect((await client(app.url, second)("GET /v1/account")).status).toBe(200);
});

test("of many concurrent claims of a code with different tokens, one succeeds [§5.14.2(3)]", async () => {
  const person = await createPerson(app.url);
  for (let i = 0; i < 5; i++) {
    const { code } = await newCode(person);
    const answers = await Promise.all(
      Array.from({ length: 16 }, (_, n) => claim(n % 2 ? app.url : peer.url, { code })),
    );
    const won = answers.filter(({ status }) => status === 201);
    expect(won).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 404)).toHaveLength(15);
    const { body: list } = await person.send("GET /v1/sessions");
    expect(list.sessions).toHaveLength(2);
    await client(app.url, won[0]!.body.token)(`DELETE /v1/sessions/${won[0]!.body.session.id}`);
  }
});

test("concurrent claims of a code with one token all get the same sign-in [§5.14.2(2)]", async () => {
  const person = await createPerson(app.url);
  const { code } = await newCode(person);
  const token = newToken();
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, n) => claim(n % 2 ? app.url : peer.url, { code, token })),
  );
  for (const { status, body } of answers) {
    expect([status, body]).toEqual([201, answers[0]!.body]);
  }
  expect((await person.send("GET /v1/sessions")).body.sessions).toHaveLength(2);
});

test("a token that another sign-in has is refused, and the code stays open [§5.14.2(4)]", async () => {
  const [person, other, gone] = await Promise.all([1, 2, 3].map(() => createPerson(app.url)));
  await gone!.send("DELETE /v1/account");
  const { code } = await newCode(person!);
  for (const { token } of [person!, other!, gone!]) {
    const answer = await exchange(app.url, "POST", "/v1/pairings/claim", {
      body: JSON.stringify({ code, token }),
    });
    expectProblem(answer, "invalid_fields", ["token"]);
    expect(answer.text).not.toContain(token);
  }
  // One token claims two codes at once: one code is used.
  const token = newToken();
  const codes = [code, (await newCode(other!)).code];
  const answers = await Promise.all(codes.map((one) => claim(app.url, { code: one, token })));
  expect(answers.map(({ status }) => status).sort()).toEqual([201, 422]);
});

test("an account has at most 5 open codes and 50 sign-ins, also when they are made at once [§5.14.1(2)] [§5.14.2(5)]", async () => {
  const person = await createPerson(app.url);
  const codes = [];
  for (let i = 0; i < 7; i++) codes.push(await newCode(person));
  const claims = [];
  for (const { code } of codes) claims.push(await claim(app.url, { code }));
  expect(claims.map(({ status }) => status)).toEqual([404, 404, 201, 201, 201, 201, 201]);

  // 6 are there: 42 more leave room for two of five.
  const numbers = JSON.stringify(Array.from({ length: 42 }, (_, n) => n));
  const insert = `insert into credentials (digest, id, kind, account_id, made_by, created_at)
    select hex(randomblob(8)), 'ses_' || hex(randomblob(8)), 'account_token', '${person.account.id}', 'pairing', 0
    from json_each('${numbers}')`;
  await store.write([statement(sql.raw(insert))({})]);
  const more = await Promise.all(Array.from({ length: 5 }, () => newCode(person)));
  const answers = await Promise.all(
    more.map(({ code }, i) => claim(i % 2 ? app.url : peer.url, { code })),
  );
  expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 409, 409, 409]);
  const refused = more[answers.findIndex(({ status }) => status === 409)]!;
  const full = await exchange(app.url, "POST", "/v1/pairings/claim", {
    body: JSON.stringify({ code: refused.code, token: newToken() }),
  });
  expectProblem(full, "too_many_sessions");
  const { sessions } = (await person.send("GET /v1/sessions")).body;
  expect(sessions).toHaveLength(50);
  const other = sessions.find(({ current }: { current: boolean }) => !current);
  await person.send(`DELETE /v1/sessions/${other.id}`);
  expect((await claim(app.url, { code: refused.code })).status).toBe(201);
});

test("codes end with the sign-in that made them, with its token, and with the account [§5.14.1(3)] [§5.13.3(3)]", async () => {
  const person = await createPerson(app.url);
  const phone = await pair(app.url, person);
  await clock.skip(LIMITS.session_trial);
  const [of_phone, of_person] = [await newCode(phone), await newCode(person)];
  await person.send(`DELETE /v1/sessions/${phone.session.id}`);
  expect(outcome(await claim(app.url, { code: of_phone.code }))).toEqual(NOT_FOUND);
  expect((await claim(app.url, { code: of_person.code })).status).toBe(201);

  const before = await newCode(person);
  const token = newToken();
  await person.send("POST /v1/account/token", { token });
  expect(outcome(await claim(app.url, { code: before.code }))).toEqual(NOT_FOUND);

  const renewed = client(app.url, token);
  const last = await newCode({ send: renewed });
  const used = await newCode({ send: renewed });
  const claimed = await claim(app.url, { code: used.code });
  await renewed("DELETE /v1/account");
  expect(outcome(await claim(app.url, { code: last.code }))).toEqual(NOT_FOUND);
  const repeat = { code: used.code, token: claimed.body.token };
  expect(outcome(await claim(app.url, repeat))).toEqual(NOT_FOUND);
  expect(await rows(`select * from pairings where account_id = '${person.account.id}'`)).toEqual(
    [],
  );
});

test("the store keeps neither codes nor tokens, and no more rows than codes and sign-ins [§5.14.1(1)]", async () => {
  const person = await createPerson(app.url);
  const made = await Promise.all(Array.from({ length: 30 }, () => newCode(person)));
  const { code } = made.at(-1)!;
  const phone = await pair(app.url, person);
  const found = await rows(
    `select code_digest, link_digest, claimed_by from pairings where account_id = '${person.account.id}'`,
  );
  expect(found.length).toBeLessThanOrEqual(LIMITS.open_pairings + 1);
  const text = JSON.stringify(found);
  for (const secret of [code, code.replace("-", ""), phone.token])
    expect(text).not.toContain(secret);
  // The digests are keyed, so the code alone does not give them.
  expect(text).not.toContain(digest(code.replace("-", "")));
});

test("a code that the operator makes for an account is logged and shown to the person [§5.14.5]", async () => {
  const ADMIN_TOKEN = "t".repeat(40);
  const admin_app = await startTestApp({ database_url, clock, env: { ADMIN_TOKEN } });
  const admin = client(admin_app.url, ADMIN_TOKEN);
  const make = (account_id: string, send = admin) => send("POST /admin/trpc/pair", { account_id });
  const person = await createPerson(admin_app.url);
  const [{ id }] = (await person.send("GET /v1/sessions")).body.sessions;
  await person.send(`DELETE /v1/sessions/${id}?last=true`);
  const { status, body } = await make(person.account.id);
  expect([status, body.result.data.expires_at]).toEqual([200, clock.now() + 300]);
  const { code } = body.result.data;
  const looked_up = await client(app.url)("POST /v1/pairings/lookup", { code });
  expect(looked_up.body).toMatchObject({ account_id: person.account.id, offered_by: null });
  const claimed = await claim(admin_app.url, { code, label: "Laptop" });
  expect(claimed.body).toMatchObject({
    account: person.account,
    session: { made_by: "administrator", label: "Laptop" },
  });
  const lines = admin_app.lines.filter((line) => line.includes("pairing code made"));
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain(person.account.id);
  expect(admin_app.lines.join()).not.toContain(code);

  // Its sign-in has a trial like any other, unless it is the only one.
  const back = { ...person, token: claimed.body.token, send: client(app.url, claimed.body.token) };
  const next = await pair(app.url, back);
  const early = await back.send(`DELETE /v1/sessions/${next.session.id}`);
  expect([early.status, early.body.code]).toEqual([403, "forbidden"]);

  for (const other of [person.account.id.replace(/.$/, "x"), "acc_1"]) {
    expect((await make(other)).body.error.data.code_name).toBe("not_found");
  }
  await clock.skip(LIMITS.session_trial);
  await back.send("DELETE /v1/account");
  expect((await make(person.account.id)).body.error.data.code_name).toBe("not_found");
  const stranger = await createPerson(app.url);
  const mine = await make(stranger.account.id, client(admin_app.url, stranger.token));
  expect([mine.status, mine.body.error.data.code_name]).toEqual([401, "unauthorized"]);
});
