/** The values that each body field of each route refuses, and the largest that it accepts. */

import { expect, test } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { createTask } from "../support/client.ts";
import { BODY_ROUTES, nameOf, type Route } from "../support/routes.ts";
import { startTelegram } from "../support/telegram.ts";
import { MARK } from "../support/wire.ts";
import {
  bodyBeside,
  bodyOf,
  createCollector,
  createWorld,
  type Kind,
  kindsOf,
  rowOf,
  withField,
} from "../support/world.ts";

const telegram = await startTelegram();
const app = await startTestApp({
  env: { TELEGRAM_API_ROOT: telegram.url, TELEGRAM_BOT_TOKEN: telegram.newBot().token },
});
const world = await createWorld(app);

async function forEachField(
  run: (call: { route: Route; kind: Kind; name: string; body: string; label: string }) => unknown,
) {
  for (const route of BODY_ROUTES) {
    for (const kind of kindsOf(route)) {
      for (const name of route.in_body!) {
        const body = bodyBeside(bodyOf(world, route, kind)!, route.procedure, name);
        await run({ route, kind, name, body, label: `${nameOf(route)} ${kind} ${name}` });
      }
    }
  }
}

test("an invalid field value is 422 and stores nothing [§9.2.1 422] [§5.5.5(2)]", async () => {
  const before = await world.stored();
  const { faults, add } = createCollector();
  let tried = 0;
  await forEachField(async ({ route, kind, name, body, label }) => {
    for (const value of rowOf(route.procedure, name).bad) {
      const answer = await world.send(route, kind, { body: withField(body, name, value) });
      add(`${label} ${value.slice(0, 40)}`, answer, "invalid_fields", [name]);
      tried++;
    }
  });
  expect(tried).toBeGreaterThan(500);
  expect(faults).toEqual([]);
  expect(await world.stored()).toEqual(before);
});

test("every invalid field of a body is named, and no valid one [§9.2.1 422]", async () => {
  const before = await world.stored();
  const { faults, add } = createCollector();
  for (const route of BODY_ROUTES) {
    for (const kind of kindsOf(route)) {
      const names = [...route.in_body!, "extra"];
      const bad = names.map(
        (name) => `"${name}":${name === "extra" ? "1" : rowOf(route.procedure, name).bad[0]}`,
      );
      const answer = await world.send(route, kind, { body: `{${bad}}` });
      add(`${nameOf(route)} ${kind}`, answer, "invalid_fields", names);
    }
  }
  expect(faults).toEqual([]);
  expect(await world.stored()).toEqual(before);
});

test("a missing required field is 422 [§9.2.1 422]", async () => {
  const { faults, add } = createCollector();
  // §5: what each body must hold; all other fields are optional.
  const required: Record<string, string[]> = {
    "PATCH /v1/account": ["settings"],
    "PUT /v1/devices/{device_id}": [
      "platform",
      "model",
      "os_version",
      "app_version",
      "apns_environment",
    ],
    "PATCH /v1/sessions/{session_id}": ["label"],
    "POST /v1/pairings/lookup": ["code"],
    "POST /v1/pairings/claim": ["code", "token"],
    "POST /v1/sessions/recover": ["code", "token"],
    "POST /v1/keys": ["label"],
    "POST /v1/oauth/request": ["request"],
    "POST /v1/oauth/approve": ["request"],
    "POST /v1/oauth/deny": ["request"],
    "POST /v1/oauth/approvals": ["request"],
    "POST /v1/oauth/approvals/wait": ["secret"],
    "PATCH /v1/keys/{key_id}": ["label"],
    "PUT /v1/keys/{key_id}/webhook": ["url"],
    "POST /v1/tasks": ["title"],
    "PUT /v1/tasks/{task_id}/live-activity": ["device_id", "push_token"],
    "DELETE /v1/tasks/{task_id}/live-activity": ["device_id"],
    "POST /v1/channels": ["type", "label"],
    "POST /v1/channels/check": ["type"],
    "POST /v1/channels/links": ["type", "label"],
    "POST /v1/channels/{channel_id}/reached": ["code"],
    "POST /v1/questions": ["prompt"],
    "POST /v1/questions/{question_id}/answer": ["answer"],
    "POST /v1/questions/{question_id}/receipts": ["event"],
    "POST /v1/questions/{question_id}/reminder": ["minutes"],
    "POST /v1/messages": ["key_id", "text"],
  };
  // Each type of channel requires another field: all but browsers require this one.
  const by_rule: Record<string, string[]> = { "POST /v1/channels": ["url"] };
  for (const route of BODY_ROUTES) {
    const missing = required[nameOf(route)] ?? [];
    expect([nameOf(route), route.required]).toEqual([nameOf(route), missing]);
    if (missing.length === 0) continue;
    const kind = kindsOf(route).at(-1)!;
    const names = [...missing, ...(by_rule[nameOf(route)] ?? [])];
    add(nameOf(route), await world.send(route, kind, { body: "{}" }), "invalid_fields", names);
  }
  expect(faults).toEqual([]);
});

test("a value of exactly the limit, in code points, is accepted and stored as sent", async () => {
  const faults: string[] = [];
  await forEachField(async ({ route, kind, name, body: others, label }) => {
    for (const value of rowOf(route.procedure, name).good) {
      if (["questions.answer", "questions.remind"].includes(route.procedure)) {
        await world.renewQuestion();
      }
      const body =
        route.procedure === "oauth.approve"
          ? withField(others, "request", JSON.stringify(await world.renewRequest()))
          : others;
      const answer = await world.send(route, kind, { body: withField(body, name, value) });
      const fault = `${label} ${value.slice(0, 40)}: ${answer.status} ${answer.text.slice(0, 120)}`;
      if (answer.status >= 300) faults.push(fault);
      const sent = JSON.parse(value);
      const got = answer.body?.key?.[name] ?? answer.body?.[name];
      // The answer has all settings.
      const expected = name === "settings" ? { ...got, ...sent } : sent;
      if (got !== undefined && sent !== null && !Bun.deepEquals(got, expected)) faults.push(fault);
      // A key may have only 20 pending questions.
      if (route.procedure === "questions.ask") {
        await world.agent.send(`DELETE /v1/questions/${answer.body.id}`);
      }
      // There is room for 20.
      if (route.procedure === "channels.create" && answer.body.channel) {
        await world.person.send(`DELETE /v1/channels/${answer.body.channel.id}`);
      }
    }
  });
  expect(faults).toEqual([]);
});

test("null clears progress and status_note of a task, and no other field accepts it [§5.5.5(2)]", async () => {
  const task = await createTask(world.agent.send);
  const path = `PATCH /v1/tasks/${task.id}` as const;
  const set = { progress: 5, status_note: "on it" };
  expect((await world.agent.send(path, set)).body).toMatchObject(set);
  const cleared = { progress: null, status_note: null };
  expect((await world.agent.send(path, cleared)).body).toMatchObject(cleared);
  for (const name of ["title", "description", "status", "priority", "notify"]) {
    const { status, body } = await world.agent.send(path, { [name]: null });
    expect([status, Object.keys(body.fields)]).toEqual([422, [name]]);
  }
});

test("an account names the key of a new task only by its id [§5.5.3(1)] [§9.2.1 422]", async () => {
  const { faults, add } = createCollector();
  const create = BODY_ROUTES.find((route) => route.procedure === "tasks.create")!;
  const without = await world.send(create, "account", { body: '{"title":"a"}' });
  add("missing", without, "invalid_fields", ["key_id"]);
  for (const id of ["", "key_", "KEY_0", `${world.agent.key.id} `, world.task.id, "😀", ".."]) {
    const body = JSON.stringify({ title: "a", key_id: id });
    add(id, await world.send(create, "account", { body }), "not_found");
    add(`key ${id}`, await world.send(create, "key", { body }), "invalid_fields", ["key_id"]);
  }
  expect(faults).toEqual([]);
});

test("the reason of an invalid field names only the rule [§9.2.1 422]", async () => {
  const reasons = async (line: `${string} /${string}`, body: object) =>
    (await (line.endsWith("account") ? world.person : world.agent).send(line, body)).body.fields;
  const ask = "POST /v1/questions";
  for (const options of [[], ["a"], ["a", "b"]]) {
    const unwanted = { options: "is permitted for a choice only" };
    expect(await reasons(ask, { prompt: "p", options })).toEqual(unwanted);
    expect(await reasons(ask, { prompt: "p", kind: "text", options })).toEqual(unwanted);
  }
  expect(await reasons(ask, { prompt: "", kind: "choice" })).toEqual({
    prompt: "must hold a visible character",
    options: "is required for a choice",
  });
  expect(await reasons(ask, { prompt: "p", kind: "choice", options: ["a"] })).toEqual({
    options: "must be at least 2 items",
  });
  const patch = "PATCH /v1/account";
  expect(await reasons(patch, { settings: {} })).toEqual({
    settings: "must have a setting",
  });
  expect(await reasons(patch, { settings: { live_activities: true, [MARK]: 1 } })).toEqual({
    settings: "must have no other fields",
  });
});
