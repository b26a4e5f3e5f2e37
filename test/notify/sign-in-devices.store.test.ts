/** Devices end with the sign-in that registered them, and then get no pushes (§5.3.2(7)). */

import { expect, test } from "bun:test";
import { LIMITS } from "../../src/limits.ts";
import { ask, createPerson, DEVICE, pair } from "../support/client.ts";
import { createPushWorld, newToken } from "../support/push-world.ts";

const world = await createPushWorld();
const { app } = world;

const newDevice = () => `dev_${crypto.randomUUID()}` as const;
const device = () => ({ ...DEVICE, apns_token: newToken() });

test("nothing is pushed to a device whose sign-in has ended [§4.1.6] [§5.3.2(7)]", async () => {
  const { person, agent } = await world.people("old phone");
  const phone = await pair(app.url, person);
  const stolen = device();
  const id = newDevice();
  await phone.send(`PUT /v1/devices/${id}`, stolen);
  await ask(agent.send, { prompt: "First?" });
  await world.settle();
  const told = () =>
    world.apple.delivered.splice(0).filter(({ token, type }) => type === "alert" && token);
  const first = told();
  expect(first.map(({ token }) => token)).toContain(stolen.apns_token);

  await person.send(`DELETE /v1/sessions/${phone.session.id}`);
  await ask(agent.send, { prompt: "Second?" });
  await world.settle();
  const second = told();
  expect(second).toHaveLength(1);
  expect(second[0]!.token).not.toBe(stolen.apns_token);
});

test("a registration that arrives as its sign-in ends leaves no device [§5.3.2(7)]", async () => {
  const person = await createPerson(app.url);
  for (let i = 0; i < 10; i++) {
    const phone = await pair(app.url, person);
    const [put, ended] = await Promise.all([
      phone.send(`PUT /v1/devices/${newDevice()}`, device()),
      person.send(`DELETE /v1/sessions/${phone.session.id}`),
    ]);
    expect([200, 401]).toContain(put.status);
    expect(ended.status).toBe(204);
    expect((await person.send("GET /v1/devices")).body.devices).toEqual([]);
  }
});

test("a device belongs to the sign-in that registered it last; the version before registers for none [§5.3.2(7)]", async () => {
  const person = await createPerson(app.url);
  const phone = await pair(app.url, person);
  const [kept, older] = [newDevice(), newDevice()];
  for (const id of [kept, older]) await phone.send(`PUT /v1/devices/${id}`, device());
  await person.send(`PUT /v1/devices/${kept}`, device());
  await world.change(`update devices set session_id = null where id = '${older}'`);
  // A sign-in in its trial does not take over a device without a sign-in.
  const taken = await phone.send(`PUT /v1/devices/${older}`, device());
  expect(taken.status).toBe(403);
  await person.send(`DELETE /v1/sessions/${phone.session.id}`);
  const { devices } = (await person.send("GET /v1/devices")).body;
  expect(devices.map(({ id }: { id: string }) => id).sort()).toEqual([kept, older].sort());
});

test("a sign-in in its trial takes over no device [§4.1.6]", async () => {
  const person = await createPerson(app.url);
  const phone = await pair(app.url, person);
  const own = newDevice();
  await phone.send(`PUT /v1/devices/${own}`, device());
  for (let i = 1; i < LIMITS.devices_per_account; i++) {
    await person.send(`PUT /v1/devices/${newDevice()}`, device());
  }
  expect((await phone.send(`PUT /v1/devices/${newDevice()}`, device())).status).toBe(403);
  expect((await phone.send(`PUT /v1/devices/${own}`, device())).status).toBe(200);
  expect((await person.send("GET /v1/devices")).body.devices).toHaveLength(
    LIMITS.devices_per_account,
  );
});

test("devices of a deleted account still get the clears of their questions, though its sign-ins end", async () => {
  const { person, agent } = await world.people("phone");
  const { id } = await ask(agent.send, { prompt: "Go?" });
  await world.settle();
  world.apple.delivered.splice(0);
  await person.send("DELETE /v1/account");
  await world.advance(5);
  expect(world.apple.delivered.map(({ payload }) => payload.relay.clear)).toEqual([[id]]);
});
