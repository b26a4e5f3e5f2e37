/** Live-activity registrations: one per task and device, while the task is in progress (§5.6). */

import { afterAll, expect, test } from "bun:test";
import { openStore } from "../../db/store/open.ts";
import { sql } from "../../db/store/sql.ts";
import { statement } from "../../db/store/statement.ts";
import { systemClock } from "../../src/clock.ts";
import { startTestApp } from "../support/app.ts";
import {
  client,
  createAgent,
  createPair,
  createTask,
  DEVICE,
  type Person,
} from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { createTestStore } from "../support/store.ts";

const clock = createTestClock();
const { url: database_url } = await createTestStore();
const app = await startTestApp({ clock, database_url });
const store = await openStore({ url: database_url, auth_token: undefined }, systemClock);
afterAll(() => store.close());

/** Device, task and token of each of the account's registrations, oldest first. */
async function stored({ account }: Person) {
  const query = sql.raw(
    `select device_id, task_id, push_token, created_at, updated_at from live_activities where account_id = '${account.id}' order by rowid`,
  );
  return store.read(statement(query, { returns: "rows" })({}));
}
const tasksShown = async (person: Person) => (await stored(person)).map(([, task_id]) => task_id);

const putDevice = async ({ send }: Person, body: object = DEVICE): Promise<string> => {
  const id = `dev_${crypto.randomUUID()}`;
  expect((await send(`PUT /v1/devices/${id}`, body)).status).toBe(200);
  return id;
};

const pathOf = (task_id: string) => `/v1/tasks/${task_id}/live-activity` as const;

const register = async ({ send }: Person, task_id: string, device_id: string, token = "ab") => {
  const body = { device_id, push_token: token };
  expect((await send(`PUT ${pathOf(task_id)}`, body)).status).toBe(204);
};

/** A person with an agent, a device, and tasks in progress that the device shows. */
async function showing(count: number) {
  const { person, agent } = await createPair(app.url);
  const device_id = await putDevice(person);
  const ids: string[] = [];
  for (let i = 0; i < count; i++) {
    const { id } = await createTask(agent.send, { title: `t${i}`, status: "in_progress" });
    await register(person, id, device_id);
    ids.push(id);
  }
  return { person, agent, device_id, ids: ids as [string, ...string[]] };
}

test("a PUT registers a live activity, and a second one replaces its token, stored in lowercase [§5.6.1(1)]", async () => {
  const { person, device_id, ids } = await showing(1);
  const other = await putDevice(person);
  const made = Math.round(clock.now() * 1000);
  await clock.advance(3);
  await register(person, ids[0], other, "0A");
  await register(person, ids[0], device_id, "FFee");
  expect(await stored(person)).toEqual([
    [device_id, ids[0], "ffee", made, made + 3_000],
    [other, ids[0], "0a", made + 3_000, made + 3_000],
  ]);
});

test("a DELETE removes one registration, and is 204 without one too [§5.6.2(1)]", async () => {
  const { person, device_id, ids } = await showing(2);
  const other = await putDevice(person);
  await register(person, ids[0], other);
  const remove = () => person.send(`DELETE ${pathOf(ids[0])}`, { device_id });
  expect((await remove()).status).toBe(204);
  expect((await stored(person)).map(([device, task]) => [device, task])).toEqual([
    [device_id, ids[1]!],
    [other, ids[0]],
  ]);
  expect((await remove()).status).toBe(204);
});

test("a task or device that is unknown or belongs to another account is 404 and changes nothing [§5.6.1(2)]", async () => {
  const mine = await showing(1);
  const other = await showing(1);
  for (const [task_id, device_id] of [
    [other.ids[0], mine.device_id],
    [mine.ids[0], other.device_id],
    [other.ids[0], other.device_id],
    ["tsk_0", mine.device_id],
    [mine.ids[0], "dev_0"],
  ] as const) {
    for (const [method, body] of [
      ["PUT", { device_id, push_token: "cd" }],
      ["DELETE", { device_id }],
    ] as const) {
      const { status, body: problem } = await mine.person.send(
        `${method} ${pathOf(task_id)}`,
        body,
      );
      expect([status, problem.code]).toEqual([404, "not_found"]);
    }
  }
  for (const { person, device_id, ids } of [mine, other]) {
    expect((await stored(person)).map((row) => row.slice(0, 3))).toEqual([
      [device_id, ids[0], "ab"],
    ]);
  }
});

test("a PUT for a task that is not in progress, or with the setting off, is 204 and stores nothing [§5.6.1(3)]", async () => {
  const { person, agent } = await createPair(app.url);
  const device_id = await putDevice(person);
  for (const status of ["todo", "done", "cancelled"]) {
    const { id } = await createTask(agent.send, { title: "t", status });
    await register(person, id, device_id);
  }
  expect(await stored(person)).toEqual([]);
  const { id } = await createTask(agent.send, { title: "t", status: "in_progress" });
  await person.send("PATCH /v1/account", { settings: { live_activities: false } });
  await register(person, id, device_id);
  expect(await stored(person)).toEqual([]);
  await person.send("PATCH /v1/account", { settings: { live_activities: true } });
  await register(person, id, device_id);
  expect(await tasksShown(person)).toEqual([id]);
});

test("a task that leaves in_progress loses its registrations, and other tasks keep theirs [§5.6.2(2)]", async () => {
  const { person, agent, ids } = await showing(6);
  const second = await putDevice(person);
  for (const id of ids) await register(person, id, second);
  const change = (id: string, patch: object) => agent.send(`PATCH /v1/tasks/${id}`, patch);
  for (const [i, status] of ["done", "cancelled", "todo"].entries()) {
    await change(ids[i]!, { status, progress: 5 });
    expect(new Set(await tasksShown(person))).toEqual(new Set(ids.slice(i + 1)));
  }
  await person.send(`DELETE /v1/tasks/${ids[3]}`);
  expect(new Set(await tasksShown(person))).toEqual(new Set(ids.slice(4)));
  // Changes that leave the task in progress end nothing.
  await change(ids[4]!, { progress: 7, status_note: "on it", status: "in_progress" });
  await person.send("PATCH /v1/account", { settings: { live_activities: true } });
  await agent.send("GET /v1/tasks");
  expect((await stored(person)).length).toBe(4);
  // A task that returns to in_progress has none.
  await change(ids[0], { status: "in_progress" });
  expect(new Set(await tasksShown(person))).toEqual(new Set(ids.slice(4)));
});

test("registrations end with their key, their account and the setting [§5.6.2(2)]", async () => {
  const kept = await showing(2);
  const { person, agent, device_id } = kept;
  const second = await createAgent(app.url, person);
  const { id } = await createTask(second.send, { title: "t", status: "in_progress" });
  await register(person, id, device_id);
  await person.send(`DELETE /v1/keys/${second.key.id}`);
  expect(await tasksShown(person)).toEqual(kept.ids);

  const other = await showing(1);
  await other.person.send("PATCH /v1/account", { settings: { live_activities: false } });
  expect(await stored(other.person)).toEqual([]);
  const gone = await showing(1);
  await gone.person.send("DELETE /v1/account");
  expect(await stored(gone.person)).toEqual([]);
  expect(await tasksShown(person)).toEqual(kept.ids);
  expect((await agent.send("GET /v1/tasks")).status).toBe(200);
});

test("a device that is deleted, replaced as the 21st or loses its tokens loses its registrations", async () => {
  const { person, ids } = await showing(1);
  const [task_id] = ids;
  const shown = async () => (await stored(person)).map(([device]) => device);
  const [first] = await shown();
  const phone = await putDevice(person, { ...DEVICE, apns_token: "a1b2" });
  const pad = await putDevice(person, { ...DEVICE, apns_token: "c3d4" });
  for (const id of [phone, pad]) await register(person, task_id, id);
  expect(await shown()).toEqual([first!, phone, pad]);

  // The device registered again keeps them. Another account takes one token, the same account the other.
  await person.send(`PUT /v1/devices/${phone}`, { ...DEVICE, apns_token: "A1B2" });
  expect(await shown()).toEqual([first!, phone, pad]);
  const stranger = await createPair(app.url);
  await putDevice(stranger.person, { ...DEVICE, apns_token: "A1B2" });
  expect(await shown()).toEqual([first!, pad]);
  const next = await putDevice(person, { ...DEVICE, apns_token: "c3d4" });
  expect(await shown()).toEqual([first!]);

  await register(person, task_id, next);
  await person.send(`DELETE /v1/devices/${next}`);
  expect(await shown()).toEqual([first!]);

  const bystander = await showing(1);
  for (let i = 0; i < 20; i++) {
    await clock.advance(0.01);
    await putDevice(person);
  }
  expect(await shown()).toEqual([]);
  expect((await stored(bystander.person)).length).toBe(1);
});

test("a PUT that races with another process ending its task leaves nothing behind", async () => {
  const peer = await startTestApp({ clock, database_url });
  const { person, agent, device_id } = await showing(0);
  const there = client(peer.url, person.token);
  const put = (task_id: string) =>
    person.send(`PUT ${pathOf(task_id)}`, { device_id, push_token: "ab" });
  const answers = new Set<number>();
  for (let round = 0; round < 30; round++) {
    const { id } = await createTask(agent.send, { title: "t", status: "in_progress" });
    const end =
      round % 2
        ? there(`PATCH /v1/tasks/${id}`, { status: "done" })
        : there(`DELETE /v1/tasks/${id}`);
    const puts = await Promise.all([put(id), put(id), end, put(id)]);
    for (const { status } of puts) answers.add(status);
    expect(await stored(person)).toEqual([]);
  }
  for (const status of answers) expect([200, 204, 404]).toContain(status);

  const { id } = await createTask(agent.send, { title: "t", status: "in_progress" });
  for (let round = 0; round < 10; round++) {
    const device = await putDevice(person);
    const body = { device_id: device, push_token: "ab" };
    const ending = [
      there(`DELETE /v1/devices/${device}`),
      person.send(`PUT ${pathOf(id)}`, body),
      there(`PUT ${pathOf(id)}`, body),
    ];
    await Promise.all(ending);
    expect(await stored(person)).toEqual([]);
  }
});
