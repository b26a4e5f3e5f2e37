/** Devices: a PUT replaces, and a push token belongs to one registration (§5.3). */

import { expect, test } from "bun:test";
import { openStore } from "../../db/store/open.ts";
import { sql } from "../../db/store/sql.ts";
import { statement } from "../../db/store/statement.ts";
import { systemClock } from "../../src/clock.ts";
import { startTestApp } from "../support/app.ts";
import { client, createPerson, DEVICE } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { createTestStore } from "../support/store.ts";

const clock = createTestClock();
const { url: database_url } = await createTestStore();
const app = await startTestApp({ clock, database_url });

const newId = () => `dev_${crypto.randomUUID()}`;
const TOKENS = { apns_token: "aa01", push_to_start_token: "bb02", widget_push_token: "cc03" };
const NONE = { apns_token: null, push_to_start_token: null, widget_push_token: null };

test("a PUT creates a device, then replaces it; a missing token becomes null [§2.2] [§5.3.2] [§5.3.2(2)] [§5.3.2(1)]", async () => {
  const { send } = await createPerson(app.url);
  const id = newId();
  const made = await send(`PUT /v1/devices/${id}`, { ...DEVICE, ...TOKENS, apns_token: "AA01" });
  expect(made.status).toBe(200);
  expect(made.body).toEqual({ id, ...DEVICE, ...TOKENS, updated_at: clock.now() });
  await clock.advance(5);
  const other = { ...DEVICE, platform: "ipados", model: "iPad17,3" };
  const partial = await send(`PUT /v1/devices/${id}`, { ...other, widget_push_token: "dd04" });
  expect(partial.body).toEqual({
    id,
    ...other,
    ...NONE,
    widget_push_token: "dd04",
    updated_at: clock.now(),
  });
  // updated_at grows even within one millisecond.
  const again = await send(`PUT /v1/devices/${id}`, { ...other, ...NONE });
  expect(again.body).toEqual({ id, ...other, ...NONE, updated_at: expect.any(Number) });
  expect(again.body.updated_at).toBeGreaterThan(partial.body.updated_at);
});

test("the list has the account's own devices, the last registered first", async () => {
  const { send } = await createPerson(app.url);
  const stranger = await createPerson(app.url);
  expect((await send("GET /v1/devices")).body).toEqual({ devices: [] });
  const ids = [newId(), newId(), newId()];
  const made: unknown[] = [];
  for (const id of [...ids, ids[0]]) {
    await clock.advance(1);
    made.push((await send(`PUT /v1/devices/${id}`, { ...DEVICE, ...TOKENS })).body);
  }
  const [, second, third, again] = made as object[];
  // A push token belongs to one registration.
  const list = { devices: [again, { ...third, ...NONE }, { ...second, ...NONE }] };
  expect((await send("GET /v1/devices")).body).toEqual(list);
  expect((await stranger.send("GET /v1/devices")).body).toEqual({ devices: [] });
  await send(`DELETE /v1/devices/${ids[1]}`);
  expect((await send("GET /v1/devices")).body).toEqual({ devices: list.devices.slice(0, 2) });
});

test("a DELETE removes a device, and is 404 for a device that is not there [§5.3.3]", async () => {
  const { send } = await createPerson(app.url);
  const stranger = await createPerson(app.url);
  const id = newId();
  await send(`PUT /v1/devices/${id}`, DEVICE);
  expect((await stranger.send(`DELETE /v1/devices/${id}`)).status).toBe(404);
  expect((await send(`DELETE /v1/devices/${id}`)).status).toBe(204);
  expect((await send(`DELETE /v1/devices/${id}`)).status).toBe(404);
});

test("a device id is dev_ and a lowercase UUID [§1.4.1]", async () => {
  const { send } = await createPerson(app.url);
  for (const id of [newId().toUpperCase(), newId().slice(0, -1), crypto.randomUUID(), "dev_1"]) {
    const { status, body } = await send(`PUT /v1/devices/${id}`, DEVICE);
    expect([status, Object.keys(body.fields)]).toEqual([422, ["device_id"]]);
  }
});

test("a push token moves with the device's other tokens to its newest registration, in any account [§5.3.2(3)]", async () => {
  const one = await createPerson(app.url);
  const two = await createPerson(app.url);
  const id = newId();
  const tokens = { ...TOKENS, apns_token: "f00d" };
  await one.send(`PUT /v1/devices/${id}`, { ...DEVICE, ...tokens });
  // The same id under another account is another device.
  const moved = await two.send(`PUT /v1/devices/${id}`, { ...DEVICE, ...tokens });
  expect(moved.body).toMatchObject(tokens);
  const rows = await stored(`id = '${id}'`);
  expect(new Map(rows.map(([account, , ...tokens]) => [account, tokens]))).toEqual(
    new Map([
      [one.account.id, [null, null, null]],
      [two.account.id, [tokens.apns_token, tokens.push_to_start_token, tokens.widget_push_token]],
    ]),
  );
});

test("a push token that many concurrent PUTs claim in two processes ends up with one device [§5.3.2(3)]", async () => {
  const second = await startTestApp({ clock, database_url });
  const people = await Promise.all(Array.from({ length: 6 }, () => createPerson(app.url)));
  const puts = people.flatMap(({ token }, i) =>
    [app.url, second.url].map((url) =>
      client(url, token)(`PUT /v1/devices/${newId()}`, {
        ...DEVICE,
        apns_token: "beef",
        model: `m${i}`,
      }),
    ),
  );
  for (const { status, body } of await Promise.all(puts)) {
    expect([status, body.apns_token]).toEqual([200, "beef"]);
  }
  const tokens = await stored("alert = 'beef'");
  expect(tokens.length).toBe(1);
});

test("a 21st device replaces the least recently updated one", async () => {
  const { send, account } = await createPerson(app.url);
  const ids = Array.from({ length: 20 }, newId);
  for (const id of ids) {
    await clock.advance(0.01);
    await send(`PUT /v1/devices/${id}`, DEVICE);
  }
  await clock.advance(0.01);
  await send(`PUT /v1/devices/${ids[0]}`, DEVICE);
  await clock.advance(0.01);
  const last = newId();
  await send(`PUT /v1/devices/${last}`, DEVICE);
  const left = (await stored(`account_id = '${account.id}'`)).map(([, id]) => id);
  expect(new Set(left)).toEqual(new Set([...ids.filter((id) => id !== ids[1]), last]));
});

/** Account, id and tokens of the devices that match, read directly from the store. */
async function stored(where: string) {
  const store = await openStore({ url: database_url, auth_token: undefined }, systemClock);
  const token = (purpose: string) =>
    `(select address from delivery_targets t where t.account_id = v.account_id and t.recipient_id = v.id and t.purpose = '${purpose}')`;
  const query = sql.raw(
    `select * from (select account_id, id, ${token("alert")} as alert, ${token("activity_start")}, ${token("widget")} from devices v) where ${where}`,
  );
  const rows = await store.read(statement(query, { returns: "rows" })({}));
  await store.close();
  return rows;
}
