/** An alert that shows only after its reason ended is cleared again, whatever its answer was. */

import { afterEach, expect, test } from "bun:test";
import { ask, createTask } from "../support/client.ts";
import { createPushWorld } from "../support/push-world.ts";
import { until } from "../support/until.ts";

const world = await createPushWorld();
const { apple } = world;

afterEach(() => {
  apple.behave(() => undefined);
  expect(apple.faults.splice(0)).toEqual([]);
});

async function people() {
  const made = await world.people("a");
  await world.advance(61, 2);
  await made.told();
  apple.forget();
  return { ...made, phone: made.phones[0]! };
}

const delivered = () =>
  apple.delivered.map(({ type, payload }) => (payload.relay.clear ? "clear" : type));

test("an alert whose answer was lost and that was accepted after the clear is cleared once more", async () => {
  const { person, agent } = await people();
  apple.behave(({ type }) => (type === "alert" ? { hang: true, accept: true } : undefined));
  const alert = apple.hold();
  const { id } = await ask(agent.send, { prompt: "Go?" });
  await until(() => apple.openStreams() > 0);
  alert.pass();
  await person.send(`POST /v1/questions/${id}/answer`, { answer: "Yes" });
  await world.clock.advance(1.5);
  await until(() => delivered().length === 1);
  alert.release();
  // The request is given up.
  await world.clock.advance(5);
  await world.advance(70, 2);
  expect(delivered()).toEqual(["clear", "alert", "clear"]);
});

test("an answer lost while the question is pending causes no clear", async () => {
  const { agent } = await people();
  let lost = false;
  apple.behave(({ type }) => {
    if (lost || type !== "alert") return undefined;
    lost = true;
    return { reset: true, accept: true };
  });
  await ask(agent.send, { prompt: "Go?", expires_in: 3_600 });
  await world.advance(20);
  expect(delivered()).toEqual(["alert", "alert"]);
});

test("an alert is cleared once more if its sender died and its task is gone", async () => {
  const { agent, person, phone } = await people();
  const { id } = await createTask(agent.send, { title: "t" });
  await world.settle();
  await person.send(`DELETE /v1/tasks/${id}`);
  await world.advance(3);
  await world.change(
    `insert into deliveries (account_id, recipient_id, kind, subject, key_id, task_id, lane, parts, urgency, due_at, expires_at, created_at, lease, attempts)
      values ('${person.account.id}', '${phone.id}', 'task', '${id}', '${agent.key.id}', '${id}', 'sandbox', '["status"]', 1,
      ${world.clock.now() * 1000}, ${(world.clock.now() + 900) * 1000}, 1, 'dead', 1)`,
  );
  apple.forget();
  // Its lease must end first.
  await world.advance(20);
  expect(delivered()).toEqual(["clear"]);
});

test("an account deleted while an alert is being sent clears it from the devices that remain", async () => {
  const { person, agent, phone } = await people();
  const alert = apple.hold();
  await ask(agent.send, { prompt: "Go?" });
  await until(() => apple.openStreams() > 0);
  alert.pass();
  await person.send("DELETE /v1/account");
  await world.app.jobs.settled();
  await world.clock.advance(1.5);
  await until(() => delivered().includes("clear"));
  // A slow removal has not reached the device yet.
  await world.change(
    `insert into devices (account_id, id, platform, model, os_version, app_version, apns_environment, updated_at)
      values ('${person.account.id}', '${phone.id}', 'ios', 'm', '1', '1', 'sandbox', 1) on conflict do nothing`,
  );
  alert.release();
  await until(() => delivered().includes("alert"));
  await world.settle();
  await world.clock.advance(2);
  await world.settle();
  expect(delivered()).toEqual(["clear", "alert", "clear"]);
});
