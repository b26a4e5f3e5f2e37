/** Devices and channels that a sign-in registers in its trial do not displace those of other sign-ins (§4.1.6). */

import { expect, test } from "bun:test";
import type { Device } from "../../src/model/device.ts";
import { createPerson, DEVICE, pair } from "../support/client.ts";
import { startPushService } from "../support/push-service.ts";
import { createPushWorld, newToken as newPushToken } from "../support/push-world.ts";

const service = await startPushService();
const { app, clock } = await createPushWorld({ env: service.env });

const newDevice = () => `dev_${crypto.randomUUID()}` as const;
const device = () => ({ ...DEVICE, apns_token: newPushToken() });

test("what a sign-in registers in its trial never takes a place from other devices [§4.1.6]", async () => {
  const person = await createPerson(app.url);
  const ids = [newDevice(), newDevice()];
  for (const id of ids) await person.send(`PUT /v1/devices/${id}`, device());
  const phone = await pair(app.url, person);
  for (let count = ids.length; count < 20; count++) {
    await clock.advance(1);
    const { status } = await phone.send(`PUT /v1/devices/${newDevice()}`, device());
    expect(status).toBe(200);
  }
  ids.push(newDevice());
  await person.send(`PUT /v1/devices/${ids[2]}`, device());
  const left = (await person.send("GET /v1/devices")).body.devices.map(({ id }: Device) => id);
  expect(left).toHaveLength(20);
  expect(left).toEqual(expect.arrayContaining(ids));
  await person.send(`DELETE /v1/sessions/${phone.session.id}`);
  expect((await person.send("GET /v1/devices")).body.devices).toHaveLength(3);
});

test("a sign-in in its trial cannot take the endpoint of another sign-in's browser [§4.1.6] [§19.6.2]", async () => {
  const person = await createPerson(app.url);
  const phone = await pair(app.url, person);
  const body = { type: "web_push", label: "Browser", subscription: service.subscribe() };
  const { channel } = (await person.send("POST /v1/channels", body)).body;
  const refused = await phone.send("POST /v1/channels", body);
  expect([refused.status, refused.body.code]).toEqual([403, "forbidden"]);
  const list = async () => (await person.send("GET /v1/channels")).body.channels;
  expect(await list()).toEqual([channel]);
  // The browser itself may send it again, and the phone once it is confirmed.
  expect((await person.send("POST /v1/channels", body)).status).toBe(201);
  await person.send(`POST /v1/sessions/${phone.session.id}/confirm`);
  const moved = (await phone.send("POST /v1/channels", body)).body.channel;
  expect(await list()).toEqual([moved]);
});
