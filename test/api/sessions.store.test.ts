/** Sign-ins of an account: each has its token, and ends without the others (§5.13). */

import { expect, test } from "bun:test";
import { LIMITS } from "../../src/limits.ts";
import { startTestApp } from "../support/app.ts";
import {
  ask,
  client,
  createAgent,
  createPair,
  createPerson,
  newToken,
  type Person,
  pair,
  sessionsOf,
} from "../support/client.ts";
import { createTestClock, type TestClock } from "../support/clock.ts";
import { startRequest } from "../support/oauth.ts";
import { createTestStore } from "../support/store.ts";
import { openStream } from "../support/stream.ts";
import { until } from "../support/until.ts";
import { exchange, expectProblem } from "../support/wire.ts";

const { url: database_url } = await createTestStore();
const clock = createTestClock();
const app = await startTestApp({ database_url, clock });
/** Other processes on the same store, as far as a request can tell, with time passing in them. */
const [here, there] = await Promise.all([1, 2].map(() => startTestApp({ database_url })));

/** The id of the caller's own sign-in. */
const ownId = async (person: Pick<Person, "send">): Promise<string> =>
  (await sessionsOf(person)).find(({ current }: { current: boolean }) => current).id;
const remove = (person: Person, id: string, query = "") =>
  exchange(app.url, "DELETE", `/v1/sessions/${id}${query}`, { credential: person.token });

test("sign-ins are listed newest first, with their labels and how they were created [§2.9] [§5.13.1] [§4.1.6]", async () => {
  const { body } = await client(app.url)("POST /v1/accounts", { label: "Firefox on Linux" });
  const first: Person = { ...body, send: client(app.url, body.token) };
  await clock.advance(0.001);
  const phone = await pair(app.url, first, "Safari on iPhone");
  await clock.advance(0.001);
  const tablet = await pair(app.url, first);
  const made = (label: string, made_by: string, current: boolean) => ({
    id: expect.stringMatching(/^ses_[0-9a-f]{32}$/),
    label,
    current,
    made_by,
    created_at: expect.any(Number),
    last_used_at: expect.any(Number),
    trial_ends_at: made_by === "account" ? null : expect.any(Number),
    address: made_by === "account" ? null : expect.any(String),
  });
  expect(await sessionsOf(first)).toEqual([
    { ...made("Unnamed device", "pairing", false), last_used_at: null },
    { ...made("Safari on iPhone", "pairing", false), last_used_at: null },
    made("Firefox on Linux", "account", true),
  ]);
  expect((await tablet.send("GET /v1/account")).body).toEqual(body.account);
  const [own, other] = await sessionsOf(tablet);
  expect([own, other]).toEqual([
    made("Unnamed device", "pairing", true),
    { ...made("Safari on iPhone", "pairing", false), last_used_at: null },
  ]);
  expect(own.id).toBe(tablet.session.id);
  expect(own.created_at).toBe(clock.now());
  expect(own.trial_ends_at).toBe(clock.now() + LIMITS.session_trial);
  for (const { send } of [first, phone, tablet]) {
    expect((await send("GET /v1/account")).body).toEqual(body.account);
  }
});

test("any sign-in changes the label of any other sign-in of its account [§5.13.2]", async () => {
  const first = await createPerson(app.url);
  const phone = await pair(app.url, first);
  const { id } = phone.session;
  const labelled = await first.send(`PATCH /v1/sessions/${id}`, { label: "My phone" });
  expect(labelled).toMatchObject({ status: 200, body: { id, label: "My phone", current: false } });
  const own = await phone.send(`PATCH /v1/sessions/${id}`, { label: "Mine" });
  expect(own.body).toMatchObject({ label: "Mine", current: true });
  const first_id = await ownId(await createPerson(app.url));
  const answer = await exchange(app.url, "PATCH", `/v1/sessions/${first_id}`, {
    credential: first.token,
    body: '{"label":"x"}',
  });
  expectProblem(answer, "not_found", ["session_id"]);
});

test("an ended sign-in is refused in every process, and its streams and waits end [§5.13.3(1)] [§4.1.5] [§7.2 session.deleted]", async () => {
  const { person, agent } = await createPair(here!.url);
  const phone = await pair(here!.url, person);
  const question = await ask(agent.send);
  const [gone, kept] = await Promise.all([
    openStream(there!.url, phone.token),
    openStream(there!.url, person.token),
  ]);
  const path = `/v1/questions/${question.id}?wait=50` as const;
  const input = encodeURIComponent(JSON.stringify({ question_id: question.id, wait: 50 }));
  const waits = [
    client(here!.url, phone.token)(`GET ${path}`),
    client(there!.url, phone.token)(`GET ${path}`),
    client(there!.url, phone.token)(`GET /trpc/questions.get?input=${input}`),
  ];
  const still = client(there!.url, person.token)(`GET ${path}`);
  await until(() => here!.waits.count() === 1 && there!.waits.count() === 3);

  const { id } = phone.session;
  expect((await person.send(`DELETE /v1/sessions/${id}`)).status).toBe(204);
  for (const { url } of [here!, there!]) {
    expect((await client(url, phone.token)("GET /v1/account")).status).toBe(401);
  }
  expect((await Promise.all(waits)).map(({ status }) => status)).toEqual([401, 401, 401]);
  await gone.ended;
  // The other stream and the other wait go on.
  expect(await kept.next(({ event }) => event === "session.deleted")).toEqual({
    event: "session.deleted",
    data: { session_id: id },
  });
  await person.send(`POST /v1/questions/${question.id}/answer`, { answer: "Yes" });
  expect((await still).body.status).toBe("answered");
  await createAgent(here!.url, person);
  expect((await kept.next(({ event }) => event === "key.created")).event).toBe("key.created");
  kept.close();
  const again = await person.send(`DELETE /v1/sessions/${id}`);
  expect([again.status, again.body.fields]).toEqual([404, { session_id: expect.any(String) }]);
});

test("a stream that opens while its sign-in ends does not stay open", async () => {
  const person = await createPerson(here!.url);
  for (let i = 0; i < 20; i++) {
    const phone = await pair(here!.url, person);
    const opening = openStream(there!.url, phone.token).catch(() => null);
    const removed = person.send(`DELETE /v1/sessions/${phone.session.id}`);
    const [stream, { status }] = await Promise.all([opening, removed]);
    expect(status).toBe(204);
    await stream?.ended;
  }
});

test("ending the last sign-in needs last=true, and leaves the account and its keys [§5.13.3(2)]", async () => {
  const { person, agent } = await createPair(app.url);
  const id = await ownId(person);
  for (const query of ["", "?last=false"]) {
    expectProblem(await remove(person, id, query), "last_session");
  }
  expectProblem(await remove(person, id, "?last=yes"), "invalid_fields", ["last"]);
  expect((await remove(person, id, "?last=true")).status).toBe(204);
  expectProblem(await remove(person, id, "?last=true"), "unauthorized");
  expect((await agent.send("GET /v1/tasks")).status).toBe(200);
  const { body: made } = await agent.send("POST /v1/questions", { prompt: "Still there?" });
  expect(made.status).toBe("pending");
});

test("of two sign-ins that end each other at the same time, one stays", async () => {
  const peer = await startTestApp({ database_url, clock });
  for (let i = 0; i < 10; i++) {
    const one = await createPerson(app.url);
    const two = await pair(app.url, one);
    await clock.skip(LIMITS.session_trial);
    const [one_id, two_id] = [await ownId(one), two.session.id];
    const answers = await Promise.all([
      client(app.url, one.token)(`DELETE /v1/sessions/${two_id}`),
      client(peer.url, two.token)(`DELETE /v1/sessions/${one_id}`),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual([204, 401]);
    const left = answers[0]!.status === 204 ? one : two;
    expect(await sessionsOf(left)).toHaveLength(1);
  }
});

test("a new token does not restart the trial of a sign-in, which lasts 10 minutes [§4.1.6]", async () => {
  const first = await createPerson(app.url);
  const phone = await pair(app.url, first);
  const tablet = await pair(app.url, first);
  const first_id = await ownId(first);
  const { key } = await createAgent(app.url, first);
  await clock.skip(LIMITS.session_trial - 0.001);
  const { request } = await startRequest(app.url);
  const token = newToken();
  expect((await phone.send("POST /v1/account/token", { token })).status).toBe(200);
  const renewed: Person = { ...phone, token, send: client(app.url, token) };
  expectProblem(await remove(renewed, tablet.session.id), "forbidden");
  const trpc = await renewed.send("POST /trpc/pairings.create", {});
  expect(trpc.body.error.data.code_name).toBe("forbidden");
  expect((await tablet.send(`DELETE /v1/sessions/${tablet.session.id}`)).status).toBe(204);

  await clock.advance(0.001);
  expect((await renewed.send("POST /v1/pairings", {})).status).toBe(201);
  expect((await renewed.send("POST /v1/oauth/approve", { request })).status).toBe(200);
  expect((await renewed.send(`POST /v1/keys/${key.id}/secret`, {})).status).toBe(200);
  expect((await renewed.send(`DELETE /v1/keys/${key.id}`)).status).toBe(204);
  expect((await remove(renewed, first_id)).status).toBe(204);
  expect((await renewed.send("DELETE /v1/account")).status).toBe(204);
});

test("a new sign-in may do everything during its trial while it is the only one [§4.1.6]", async () => {
  const first = await createPerson(app.url);
  const phone = await pair(app.url, first);
  const first_id = await ownId(first);
  await first.send(`DELETE /v1/sessions/${first_id}`);
  const next = await pair(app.url, phone);
  expectProblem(await remove(phone, next.session.id), "forbidden");
  await next.send(`DELETE /v1/sessions/${next.session.id}`);
  expectProblem(await remove(phone, phone.session.id), "last_session");
  expect((await phone.send("POST /v1/keys", { label: "agent" })).status).toBe(201);
  expect((await phone.send("DELETE /v1/account")).status).toBe(204);
});

test("a sign-in keeps its id when its token is replaced, and only its own streams end [§2.9.1]", async () => {
  const first = await createPerson(app.url);
  const phone = await pair(app.url, first);
  const [ended, kept] = await Promise.all([
    openStream(app.url, phone.token),
    openStream(app.url, first.token),
  ]);
  const token = newToken();
  await phone.send("POST /v1/account/token", { token });
  await ended.ended;
  expect(await ownId({ send: client(app.url, token) })).toBe(phone.session.id);
  await createAgent(app.url, first);
  expect(await kept.names(1)).toEqual(["key.created"]);
  kept.close();
});

/** When the list of another sign-in says that this one was used. */
async function watchUse(time: TestClock, url: string) {
  const person = await createPerson(url);
  const phone = await pair(url, person);
  const { id } = phone.session;
  const usedAt = async (): Promise<number | null> =>
    (await sessionsOf(person)).find((one: { id: string }) => one.id === id).last_used_at;
  const becomes = (at: number) => until(async () => (await usedAt()) === at);
  return { person, phone, usedAt, becomes, now: () => time.now() };
}

test("last_used_at of a sign-in moves at most once a minute, with any request [§2.9.2]", async () => {
  const { phone, usedAt } = await watchUse(clock, app.url);
  expect(await usedAt()).toBeNull();
  await phone.send("GET /v1/account");
  const first = clock.now();
  expect(await usedAt()).toBe(first);
  await clock.advance(LIMITS.last_used_every - 0.1);
  await phone.send("GET /v1/account");
  expect(await usedAt()).toBe(first);
  await clock.advance(0.1);
  await phone.send("GET /v1/account");
  expect(await usedAt()).toBe(clock.now());
  // HEAD has no effect.
  const before = clock.now();
  await clock.advance(LIMITS.last_used_every);
  await fetch(`${app.url}/v1/account`, {
    method: "HEAD",
    headers: { authorization: `Bearer ${phone.token}` },
  });
  expect(await usedAt()).toBe(before);
});

test("a sign-in that only waits or holds a stream open counts as used [§2.9.2]", async () => {
  const { person, phone, usedAt, becomes } = await watchUse(clock, app.url);
  const agent = await createAgent(app.url, person);
  const question = await ask(agent.send, { prompt: "Go?", expires_in: 86_400 });
  const gone = new AbortController();
  const waiting = phone
    .send(`GET /v1/questions/${question.id}?wait=50`, undefined, { signal: gone.signal })
    .catch(() => null);
  await becomes(clock.now());
  gone.abort();
  await waiting;

  await clock.advance(LIMITS.last_used_every);
  const stream = await openStream(app.url, phone.token);
  const opened = clock.now();
  await becomes(opened);
  // Recorded again with the pings, every five minutes.
  await clock.advance(LIMITS.stream_used_every - LIMITS.ping_after);
  expect(await usedAt()).toBe(opened);
  await clock.advance(LIMITS.ping_after);
  await becomes(clock.now());
  stream.close();
});
