/** When a device moves to the other environment, its pushes follow and no token is sent to the wrong one. */

import { expect, test } from "bun:test";
import { NOTIFICATION_LIMITS } from "../../src/notification-limits.ts";
import { startApple } from "../support/apple.ts";
import { ask, createTask, DEVICE, type Person } from "../support/client.ts";
import { createPushWorld, type Phone } from "../support/push-world.ts";

async function both() {
  const [production, sandbox] = await Promise.all([startApple(), startApple()]);
  const env = { ...production.env("PRODUCTION"), ...sandbox.env("SANDBOX") };
  const world = await createPushWorld({ env });
  production.setNow(world.clock.now);
  sandbox.setNow(world.clock.now);
  const { person, agent } = await world.people();
  const phone = await world.phone(person, "p");
  return { production, sandbox, world, person, agent, phone };
}

const move = (person: Person, { id, ...tokens }: Phone) =>
  person.send(`PUT /v1/devices/${id}`, { ...DEVICE, ...tokens, apns_environment: "production" });

test("silent pushes follow a device although the lane of its old environment has stopped", async () => {
  const { production, sandbox, world, person, agent, phone } = await both();
  sandbox.behave(() => ({ status: 403, reason: "InvalidProviderToken" }));
  await person.send(`PATCH /v1/keys/${agent.key.id}`, { label: "w" });
  await world.settle();
  expect(await world.rows("select kind, lane from deliveries where kind = 'silent'")).toEqual([
    ["silent", "sandbox"],
  ]);
  await move(person, phone);
  const { id } = await ask(agent.send, { prompt: "Go?" });
  await world.settle();
  await person.send(`POST /v1/questions/${id}/answer`, { answer: "Yes" });
  await world.advance(3);
  const clears = production.delivered.flatMap(({ payload }) => payload.relay.clear ?? []);
  expect(clears).toEqual([id]);
  expect(await world.rows("select kind from deliveries where kind = 'silent'")).toEqual([]);
});

test("a silent push of an environment without a sender delays no others", async () => {
  const { production, world, person, agent, phone } = await both();
  await world.app.sender.stop();
  await person.send(`PATCH /v1/keys/${agent.key.id}`, { label: "w" });
  await world.change(
    `update deliveries set lease = 'gone', attempts = 1 where kind = 'silent' and lane = 'sandbox'`,
  );
  await move(person, phone);
  const next = await world.start({ ...production.env("PRODUCTION") });
  const { id } = await ask(agent.send, { prompt: "Go?" });
  await next.sender.settled();
  await world.clock.advance(20);
  await next.sender.settled();
  await person.send(`POST /v1/questions/${id}/answer`, { answer: "Yes" });
  for (let i = 0; i < 4; i++) {
    await world.clock.advance(1);
    await next.sender.settled();
  }
  const clears = production.delivered.flatMap(({ payload }) => payload.relay.clear ?? []);
  expect(clears).toEqual([id]);
});

test("what a stopped lane holds for a device stays bounded and ends", async () => {
  const world = await createPushWorld();
  const { person, agent } = await world.people("a");
  await world.advance(61, 2);
  world.apple.behave(() => ({ status: 403, reason: "InvalidProviderToken" }));
  await person.send(`PATCH /v1/keys/${agent.key.id}`, { label: "w" });
  await world.advance(4_000, 500);
  const answered = async () => {
    const { id } = await ask(agent.send, { prompt: "Go?" });
    await person.send(`POST /v1/questions/${id}/answer`, { answer: "Yes" });
    return id;
  };
  await answered();
  await world.change(
    `update deliveries set parts = (select json_group_array('qst_0' || value) from (
      with recursive c(value) as (select 100 union all select value + 1 from c where value < 599) select value from c))
      where kind = 'silent'`,
  );
  const last = await answered();
  const kept = async () => {
    const [row] = await world.rows("select parts from deliveries where kind = 'silent'");
    return row ? (JSON.parse(row[0] as string) as string[]) : [];
  };
  const ids = await kept();
  expect(ids.length).toBe(500);
  // The newest stay.
  expect(ids).toContain(last);
  expect(ids).not.toContain("qst_0100");
  expect(ids).toContain("qst_0101");
  // A change every ten minutes keeps it, but not for more than a day.
  const change = async () => {
    await answered();
    await world.advance(540, 540);
  };
  for (let i = 0; i < 3; i++) await change();
  expect((await kept()).length).toBe(500);
  const earlier = (NOTIFICATION_LIMITS.clear_life - 6_000) * 1_000;
  await world.change(
    `update deliveries set created_at = created_at - ${earlier} where kind = 'silent'`,
  );
  for (let i = 0; i < 12 && (await kept()).length >= 500; i++) await change();
  expect((await kept()).length).toBeLessThan(5);
}, 300_000);

test("a live activity ends in its old environment when its device moves", async () => {
  const { production, sandbox, world, person, agent, phone } = await both();
  const { id } = await createTask(agent.send, { title: "t", status: "in_progress" });
  const put = (push_token: string) =>
    person.send(`PUT /v1/tasks/${id}/live-activity`, { device_id: phone.id, push_token });
  await put("aa01");
  await world.advance(6);
  await agent.send(`PATCH /v1/tasks/${id}`, { progress: 1 });
  await agent.send(`PATCH /v1/tasks/${id}`, { progress: 2 });
  await move(person, { ...phone, apns_token: "bb01" });
  await agent.send(`PATCH /v1/tasks/${id}`, { progress: 4 });
  await world.advance(6);
  const eventsOf = ({ received }: typeof production, token: string) =>
    received.filter((one) => one.token === token).map(({ payload }) => payload.aps.event);
  expect(eventsOf(production, "aa01")).toEqual([]);
  expect(eventsOf(sandbox, "aa01").at(-1)).toBe("end");
  expect(await world.rows("select * from live_activities")).toEqual([]);
  // The app in the new environment shows it again.
  await put("bb04");
  await agent.send(`PATCH /v1/tasks/${id}`, { status: "done" });
  await world.advance(6);
  expect(eventsOf(production, "bb04").at(-1)).toBe("end");
  expect(eventsOf(sandbox, "bb04")).toEqual([]);
});

test("a device registered again in the same environment keeps its live activities", async () => {
  const { sandbox, world, person, agent, phone } = await both();
  const { id: task_id } = await createTask(agent.send, { title: "t", status: "in_progress" });
  await person.send(`PUT /v1/tasks/${task_id}/live-activity`, {
    device_id: phone.id,
    push_token: "aa01",
  });
  const { id, ...tokens } = phone;
  await person.send(`PUT /v1/devices/${id}`, { ...DEVICE, ...tokens });
  await world.advance(6);
  expect(await world.rows("select push_token, ended_at from live_activities")).toEqual([
    ["aa01", null],
  ]);
  expect(sandbox.received.filter(({ payload }) => payload.aps.event === "end")).toEqual([]);
});
