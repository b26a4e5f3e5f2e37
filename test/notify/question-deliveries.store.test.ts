/** How far a question got on each of the person's devices: planned, sent, refused, removed, received. */

import { expect, test } from "bun:test";
import { ask, createPerson, type Send } from "../support/client.ts";
import { createPushWorld } from "../support/push-world.ts";

const world = await createPushWorld();
const { apple, clock, settle, advance, phone } = world;

const read = async (send: Send, id: string) =>
  (await send(`GET /v1/questions/${id}/deliveries`)).body;
const byLabel = (one: any, other: any) => (one.target.label < other.target.label ? -1 : 1);
/** Label, status and reason of each delivery, sorted. */
const told = async (send: Send, id: string): Promise<string[]> =>
  (await read(send, id)).deliveries
    .map(({ target, status, reason }: any) => [target.label, status, reason ?? "-"].join(" "))
    .sort();
const receipt = (send: Send, id: string, body: object) =>
  send(`POST /v1/questions/${id}/receipts`, body);

const BUSY = { status: 503, reason: "ServiceUnavailable" };

/** A person with an iPhone, after the pushes of its registration were sent. */
async function begin() {
  apple.behave(() => undefined);
  const people = await world.people("a");
  await settle();
  return { ...people, phone_id: people.phones[0]!.id };
}

test("each device has a delivery, queued with the question and then sent [§2.11] [§5.7.7]", async () => {
  const { agent, person, phone_id } = await begin();
  await phone(person, "b", { platform: "ipados" });
  await phone(person, "silent", { apns_token: null });
  await settle();
  apple.behave(() => BUSY);
  const asked_at = clock.now();
  const { id } = await ask(agent.send);
  await settle();
  const queued = await read(person.send, id);
  const delivery = {
    id: expect.stringMatching(/^dlv_[0-9a-f]{32}$/),
    status: "queued",
    reason: null,
    queued_at: asked_at,
    sent_at: null,
    shown_at: null,
    opened_at: null,
  };
  expect(queued.deliveries.toSorted(byLabel)).toEqual([
    { ...delivery, target: { type: "apns", id: expect.any(String), label: "iPad" } },
    { ...delivery, target: { type: "apns", id: phone_id, label: "iPhone" } },
  ]);
  const reach = { state: "none", at: null, reachable: true, typical_answer_seconds: null };
  expect(queued.reach).toEqual(reach);

  apple.behave(() => undefined);
  await advance(60, 5);
  const sent = await read(person.send, id);
  expect(sent.deliveries.map(({ status }: any) => status)).toEqual(["sent", "sent"]);
  const [first] = sent.deliveries.map(({ sent_at }: any) => sent_at).sort();
  expect(first).toBeGreaterThan(asked_at);
  expect(sent.reach).toEqual({ ...reach, state: "sent", at: first });
  const ids = ({ deliveries }: any) => deliveries.map((one: any) => one.id).sort();
  expect(ids(sent)).toEqual(ids(queued));
});

test("a key learns how far a question got and in which minute, and nothing about devices [§2.12] [§5.7.7(2)]", async () => {
  const { agent, person } = await begin();
  const { id } = await ask(agent.send);
  await settle();
  const { reach } = await read(person.send, id);
  expect(await read(agent.send, id)).toEqual({
    deliveries: [],
    reach: { ...reach, at: Math.floor(reach.at / 60) * 60 },
  });
  const stranger = await createPerson(world.app.url);
  const { status, body } = await stranger.send(`GET /v1/questions/${id}/deliveries`);
  expect([status, body.fields]).toEqual([404, { question_id: expect.any(String) }]);
});

test("a delivery that failed or was suppressed says why [§2.11.1]", async () => {
  const { agent, person, phone_id } = await begin();
  apple.behave(() => ({ status: 400, reason: "BadTopic" }));
  const refused = await ask(agent.send);
  await settle();
  expect(await told(person.send, refused.id)).toEqual(["iPhone failed BadTopic"]);

  apple.behave(() => BUSY);
  const over = await ask(agent.send);
  const expires = await ask(agent.send, { prompt: "?", expires_in: 60 });
  await settle();
  await person.send(`POST /v1/questions/${over.id}/answer`, { answer: "Yes" });
  await advance(130, 10);
  // An attempt was made, so the push may have arrived all the same.
  expect(await told(person.send, over.id)).toEqual(["iPhone failed question_ended"]);
  expect(await told(person.send, expires.id)).toEqual(["iPhone failed expired"]);

  const removed = await ask(agent.send);
  await settle();
  await person.send(`DELETE /v1/devices/${phone_id}`);
  expect(await told(person.send, removed.id)).toEqual(["iPhone failed target_removed"]);

  await phone(person, "b", { platform: "watchos" });
  apple.behave(() => ({ status: 410, reason: "Unregistered" }));
  const unknown = await ask(agent.send);
  await settle();
  expect(await told(person.send, unknown.id)).toEqual(["Apple Watch failed Unregistered"]);
  const nobody = await ask(agent.send);
  await settle();
  const { deliveries, reach } = await read(person.send, nobody.id);
  expect(deliveries).toEqual([]);
  expect(reach).toMatchObject({ state: "none", at: null, reachable: false });
});

test("a delivery that was never tried is suppressed once its question has ended or its device is gone", async () => {
  const { agent, person, phone_id } = await begin();
  // The device is on hold, so that nothing is tried.
  apple.behave(() => ({ status: 429, reason: "TooManyRequests", retry_after: 20 }));
  await ask(agent.send);
  await settle();
  apple.behave(() => undefined);
  const [over, removed] = [await ask(agent.send), await ask(agent.send)];
  await settle();
  expect(await told(person.send, over.id)).toEqual(["iPhone queued -"]);
  await agent.send(`DELETE /v1/questions/${over.id}`);
  await advance(90, 10);
  expect(await told(person.send, over.id)).toEqual(["iPhone suppressed question_ended"]);
  expect(await told(person.send, removed.id)).toEqual(["iPhone sent -"]);

  apple.behave(() => ({ status: 429, reason: "TooManyRequests", retry_after: 20 }));
  await ask(agent.send);
  await settle();
  const last = await ask(agent.send);
  await settle();
  await person.send(`DELETE /v1/devices/${phone_id}`);
  expect(await told(person.send, last.id)).toEqual(["iPhone suppressed target_removed"]);
});

test("a delivery interrupted by a crash before settling is sent again, or unclear once the question is over", async () => {
  const { agent, person } = await begin();
  const leave = (id: string) =>
    world.change(
      `update deliveries set lease = 'dead', attempts = 1, due_at = ${(clock.now() + 15) * 1000} where question_id = '${id}'`,
    );
  apple.behave(() => BUSY);
  const [again, over] = [await ask(agent.send), await ask(agent.send)];
  await settle();
  for (const { id } of [again, over]) await leave(id);
  apple.behave(() => undefined);
  await person.send(`POST /v1/questions/${over.id}/answer`, { answer: "Yes" });
  await advance(40, 1);
  expect(await told(person.send, again.id)).toEqual(["iPhone sent -"]);
  expect(await told(person.send, over.id)).toEqual(["iPhone failed unclear"]);
});

test("a push planned by a version without deliveries gets a delivery once it is sent", async () => {
  const { agent, person, phone_id } = await begin();
  apple.behave(() => BUSY);
  const { id } = await ask(agent.send);
  await settle();
  await world.change(`delete from question_deliveries where question_id = '${id}'`);
  apple.behave(() => undefined);
  await advance(60, 5);
  const { deliveries } = await read(person.send, id);
  expect(deliveries).toMatchObject([{ target: { id: phone_id, label: "iPhone" }, status: "sent" }]);
});

test("a delivery's label stays the same when the device changes or goes [§2.11.3]", async () => {
  const { agent, person, phones, phone_id } = await begin();
  const { id } = await ask(agent.send);
  await settle();
  await phone(person, "a", { ...phones[0]!, platform: "ipados" });
  const later = await ask(agent.send);
  await settle();
  await person.send(`DELETE /v1/devices/${phone_id}`);
  expect(await told(person.send, id)).toEqual(["iPhone sent -"]);
  expect(await told(person.send, later.id)).toEqual(["iPad sent -"]);
});

test("the first receipt of each kind counts, separately for each target [§5.7.8(1)]", async () => {
  const { agent, person, phone_id } = await begin();
  const { id } = await ask(agent.send);
  await settle();
  const times = async () =>
    Object.fromEntries(
      (await read(person.send, id)).deliveries.map(({ target, shown_at, opened_at }: any) => [
        target.label,
        [shown_at, opened_at],
      ]),
    );
  const send = (body: object) => receipt(person.send, id, body);
  await clock.advance(5);
  const shown_at = clock.now();
  expect((await send({ event: "shown", device_id: phone_id })).status).toBe(204);
  await clock.advance(5);
  expect((await send({ event: "shown", device_id: phone_id })).status).toBe(204);
  const opened_at = clock.now();
  expect((await send({ event: "opened" })).status).toBe(204);
  await clock.advance(5);
  expect((await send({ event: "opened" })).status).toBe(204);
  expect(await times()).toEqual({ iPhone: [shown_at, null], "Open page": [null, opened_at] });
  const { reach } = await read(person.send, id);
  expect(reach).toMatchObject({ state: "opened", at: opened_at });

  // Also once the question has ended, and from a device that is gone.
  await person.send(`POST /v1/questions/${id}/answer`, { answer: "Yes" });
  await person.send(`DELETE /v1/devices/${phone_id}`);
  expect((await send({ event: "opened", device_id: phone_id })).status).toBe(204);
  expect((await times()).iPhone).toEqual([shown_at, clock.now()]);
});

test("64 simultaneous receipts on two processes count as one [§5.7.8] [§5.7.8(1)]", async () => {
  const { agent, person, phone_id } = await begin();
  const peer = await world.start();
  const { id } = await ask(agent.send);
  const at = (url: string, body: object) =>
    fetch(`${url}/v1/questions/${id}/receipts`, {
      method: "POST",
      headers: { authorization: `Bearer ${person.token}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  const answers = await Promise.all(
    Array.from({ length: 64 }, (_, i) => {
      const body = { event: "shown", ...(i % 3 === 0 && { device_id: phone_id }) };
      return at(i % 2 ? world.app.url : peer.url, body);
    }),
  );
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([204]));
  const { deliveries } = await read(person.send, id);
  const labels = deliveries.map(({ target, shown_at }: any) => [target.label, shown_at !== null]);
  expect(labels.sort()).toEqual([
    ["Open page", true],
    ["iPhone", true],
  ]);
  await peer.stop();
});

test("a receipt that comes before the answer of the service stays, and so does `sent` [§5.7.8(2)]", async () => {
  const { agent, person, phone_id } = await begin();
  apple.behave(() => BUSY);
  const { id } = await ask(agent.send);
  await settle();
  await receipt(person.send, id, { event: "shown", device_id: phone_id });
  const [early] = (await read(person.send, id)).deliveries;
  expect(early).toMatchObject({ status: "queued", sent_at: null, shown_at: clock.now() });
  apple.behave(() => undefined);
  await advance(60, 5);
  const [late] = (await read(person.send, id)).deliveries;
  expect(late).toMatchObject({ status: "sent", shown_at: early.shown_at });
  expect(late.sent_at).toBeGreaterThan(early.shown_at);
});

test("a device that was registered later may send receipts; another account's device may not [§5.7.8(3)]", async () => {
  const { agent, person } = await begin();
  const { id } = await ask(agent.send);
  const late = await phone(person, "late", { platform: "ipados" });
  expect((await receipt(person.send, id, { event: "shown", device_id: late.id })).status).toBe(204);
  expect(await told(person.send, id)).toContain("iPad sent -");

  const other = await begin();
  const fieldsOf = async (send: Send, of: string, body: object) => {
    const { status, body: problem } = await receipt(send, of, body);
    return [status, Object.keys(problem?.fields ?? {})];
  };
  const foreign = { event: "shown", device_id: other.phone_id };
  expect(await fieldsOf(person.send, id, foreign)).toEqual([404, ["device_id"]]);
  expect(await fieldsOf(other.person.send, id, foreign)).toEqual([404, ["question_id"]]);
  expect(await fieldsOf(other.person.send, id, { event: "shown" })).toEqual([404, ["question_id"]]);
});

test("deliveries are deleted with their question, and none is made for a deleted question", async () => {
  const { agent, person } = await begin();
  const rows = (id: string) =>
    world.rows(`select status from question_deliveries where question_id = '${id}'`);
  const { id } = await ask(agent.send);
  await settle();
  expect((await rows(id)).flat()).toEqual(["sent"]);
  // While the key's rows are removed, the answer of the service is still on its way.
  await world.change(`delete from questions where id = '${id}'`);
  expect(await rows(id)).toEqual([]);
  await world.change(
    `insert into delivery_records (delivery_id, account_id, recipient_id, key_id, kind, about, lane, outcome, attempts, created_at, done_at)
      values ('x', '${person.account.id}', 'dev_x', '${agent.key.id}', 'question', '${id}', 'sandbox', 'sent', 1, 0, 0)`,
  );
  expect(await rows(id)).toEqual([]);
  expect((await receipt(person.send, id, { event: "shown" })).status).toBe(404);
});
