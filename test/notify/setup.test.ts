/** How pushes are switched on, and that they cost nothing while off. */

import { expect, test } from "bun:test";
import { join } from "node:path";
import { ConfigError, readConfig } from "../../src/config.ts";
import { startTestApp } from "../support/app.ts";
import { startApple } from "../support/apple.ts";
import { createTask } from "../support/client.ts";
import { createPushWorld, newToken } from "../support/push-world.ts";
import { tempFolder } from "../support/temp.ts";

test("a push configuration that cannot work is rejected, naming the missing variable", () => {
  const team = { APNS_TEAM_ID: "TEAM", APNS_BUNDLE_ID: "com.example" };
  const key = { APNS_PRODUCTION_KEY_ID: "KEY", APNS_PRODUCTION_KEY: "secret" };
  for (const [env, name] of [
    [{ APNS_TEAM_ID: "TEAM" }, "APNS_BUNDLE_ID"],
    [{ APNS_BUNDLE_ID: "com.example" }, "APNS_TEAM_ID"],
    [team, "APNS_PRODUCTION_KEY"],
    [key, "APNS_TEAM_ID"],
    [{ ...team, APNS_PRODUCTION_KEY: "secret" }, "APNS_PRODUCTION_KEY_ID"],
    [{ ...team, APNS_SANDBOX_KEY_ID: "KEY" }, "APNS_SANDBOX_KEY"],
    [{ ...team, ...key, APNS_SANDBOX_URL: "https://127.0.0.1:1" }, "APNS_SANDBOX_KEY"],
    [{ APNS_CA_FILE: "ca.pem" }, "APNS_TEAM_ID"],
  ] as const) {
    const read = () => readConfig(env as Record<string, string>);
    expect(read).toThrow(ConfigError);
    expect(read).toThrow(new RegExp(`^${name}: is needed`));
    expect(read).not.toThrow("secret");
  }
  expect(() => readConfig({ ...team, ...key })).not.toThrow();
});

test("an invalid push key or CA stops the start and is not shown", async () => {
  const apple = await startApple();
  const good = apple.env("SANDBOX");
  const junk = join(tempFolder(), "junk.pem");
  await Bun.write(junk, "secret");
  for (const [env, name] of [
    [{ APNS_SANDBOX_KEY: "secret" }, "APNS_SANDBOX_KEY"],
    [{ APNS_SANDBOX_KEY: junk }, "APNS_SANDBOX_KEY"],
    [{ APNS_CA_FILE: junk }, "APNS_CA_FILE"],
    [{ APNS_CA_FILE: "/nowhere/ca.pem" }, "APNS_CA_FILE"],
  ] as const) {
    const start = startTestApp({ env: { ...good, ...env } });
    const error = await start.then(
      () => null,
      (thrown: Error) => thrown,
    );
    expect(error).toBeInstanceOf(ConfigError);
    expect(error!.message).toStartWith(`${name}: `);
    expect(error!.message).not.toContain("secret");
  }
});

test("the push key may be a file", async () => {
  const apple = await startApple();
  const file = join(tempFolder(), "key.p8");
  await Bun.write(file, apple.key);
  const app = await startTestApp({
    env: { ...apple.env("PRODUCTION"), APNS_PRODUCTION_KEY: file },
  });
  expect(app.sender.health().map(({ lane }) => lane)).toContain("production");
});

test("without push configuration, Relay says nothing of it, writes no row and sends nothing [§14.1.1]", async () => {
  const world = await createPushWorld({
    env: {
      APNS_TEAM_ID: "",
      APNS_BUNDLE_ID: "",
      APNS_SANDBOX_KEY_ID: "",
      APNS_SANDBOX_KEY: "",
      APNS_SANDBOX_URL: "",
      APNS_CA_FILE: "",
    },
  });
  const { agent, person, phones } = await world.people("a");
  const task = await createTask(agent.send, { title: "t", status: "in_progress" });
  const body = { device_id: phones[0]!.id, push_token: "ab" };
  await person.send(`PUT /v1/tasks/${task.id}/live-activity`, body);
  await agent.send(`PATCH /v1/tasks/${task.id}`, { status: "done" });
  await world.advance(10);
  expect(world.app.lines.filter((line) => line.includes("apns"))).toEqual([]);
  expect(await world.rows("select * from deliveries")).toEqual([]);
  expect(await world.rows("select * from live_activities")).toEqual([]);
  expect(world.apple.received).toEqual([]);
  const { lanes, queues, records } = await world.app.services.deliveryFigures.read(10);
  expect(lanes.map(({ lane }) => lane)).toEqual(["ntfy", "web_push", "telegram", "webhook"]);
  expect([queues, records]).toEqual([[], []]);
});

test("an ended live activity leaves nothing behind when its end cannot be sent", async () => {
  const world = await createPushWorld();
  const { person, agent } = await world.people();
  const { id: device_id } = await world.phone(person, "p", { apns_environment: "production" });
  const task = await createTask(agent.send, { title: "t", status: "in_progress" });
  const body = { device_id, push_token: newToken() };
  await person.send(`PUT /v1/tasks/${task.id}/live-activity`, body);
  const activities = () => world.rows("select device_id from live_activities");
  expect(await activities()).toEqual([[device_id]]);
  await agent.send(`PATCH /v1/tasks/${task.id}`, { status: "done" });
  expect(await activities()).toEqual([]);
});

test("an environment without a key gets no row; two environments work at once, each with its own key", async () => {
  const [production, sandbox] = await Promise.all([startApple(), startApple()]);
  const one = await createPushWorld();
  const { person } = await one.people();
  await one.phone(person, "p", { apns_environment: "production" });
  await one.settle();
  expect(await one.rows("select * from deliveries")).toEqual([]);
  expect(await one.take()).toEqual([]);

  const world = await createPushWorld({
    env: { ...production.env("PRODUCTION"), ...sandbox.env("SANDBOX") },
  });
  production.setNow(world.clock.now);
  sandbox.setNow(world.clock.now);
  const two = await world.people();
  const phone = await world.phone(two.person, "p", { apns_environment: "production" });
  const pad = await world.phone(two.person, "s", { apns_environment: "sandbox" });
  await two.person.send("POST /v1/keys", { label: "x" });
  await world.settle();
  expect(production.delivered.map(({ token }) => token)).toEqual([phone.apns_token]);
  expect(sandbox.delivered.map(({ token }) => token)).toEqual([pad.apns_token]);
  expect([...production.faults, ...sandbox.faults]).toEqual([]);

  // Once the device is registered for the other environment, queued pushes go there with its key.
  await two.person.send(`PATCH /v1/keys/${two.agent.key.id}`, { label: "w" });
  await two.person.send(`PATCH /v1/keys/${two.agent.key.id}`, { label: "v" });
  await world.settle();
  await two.person.send(`PATCH /v1/keys/${two.agent.key.id}`, { label: "z" });
  const moved = { ...phone, apns_environment: "sandbox" };
  const { id, ...fields } = moved;
  const device = { platform: "ios", model: "m", os_version: "1", app_version: "1", ...fields };
  expect((await two.person.send(`PUT /v1/devices/${id}`, device)).status).toBe(200);
  production.forget();
  sandbox.forget();
  await world.skip(3_600);
  await world.advance(2);
  expect(production.received).toEqual([]);
  expect(sandbox.delivered.map(({ token }) => token)).toContain(phone.apns_token);
});
