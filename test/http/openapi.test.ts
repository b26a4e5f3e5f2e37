/** `GET /v1/openapi.json`: a valid document that describes each route as it really is. */

import { expect, test } from "bun:test";
import { Validator } from "@seriousme/openapi-schema-validator";
import { Ajv2020 } from "ajv/dist/2020.js";
import { startTestApp } from "../support/app.ts";
import {
  type Answer,
  client,
  createAgent,
  createPerson,
  DEVICE,
  type Send,
  WEBHOOK,
} from "../support/client.ts";
import { startNtfy } from "../support/ntfy.ts";
import { connectClient, startRequest } from "../support/oauth.ts";
import { OPERATIONS } from "../support/operations.ts";
import { buttonOf } from "../support/replies.ts";
import { nameOf, ROUTES, type Route } from "../support/routes.ts";
import { startTelegram } from "../support/telegram.ts";
import { until } from "../support/until.ts";
import { rowOf } from "../support/world.ts";

const ntfy = await startNtfy();
const telegram = await startTelegram();
const bot = telegram.newBot();
const app = await startTestApp({
  env: {
    TELEGRAM_API_ROOT: telegram.url,
    TELEGRAM_BOT_TOKEN: bot.token,
  },
});
const { body: document } = await client(app.url)("GET /v1/openapi.json");

const operationOf = (name: string): any => {
  const [method, path] = name.split(" ") as [string, string];
  return document.paths[path]?.[method.toLowerCase()];
};

test("the OpenAPI document is valid OpenAPI 3.1 [§17.1]", async () => {
  expect(document.openapi).toMatch(/^3\.1\./);
  const validator = new Validator();
  const { valid, errors } = await validator.validate(structuredClone(document));
  expect(errors ?? []).toEqual([]);
  expect([valid, validator.version]).toEqual([true, "3.1"]);
  // Rules that the schema of such documents cannot express.
  const operations = Object.keys(OPERATIONS).map(operationOf);
  const ids = operations.map((operation) => operation.operationId);
  expect(new Set(ids).size).toBe(ids.length);
  const tags = document.tags.map((tag: { name: string }) => tag.name);
  for (const { tags: used } of operations) expect(tags).toContain(used[0]);
  const text = JSON.stringify(document);
  for (const [, ref] of text.matchAll(/"\$ref":"#\/([^"]+)"/g)) {
    const found = ref!.split("/").reduce((node, step) => node?.[step], document);
    expect([ref, typeof found]).toEqual([ref, "object"]);
  }
  expect(text).not.toContain('"error.');
  expect(document.servers).toEqual([{ url: app.url }]);
});

test("the OpenAPI document lists every route and no other [§17.1]", () => {
  const listed = Object.entries<object>(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const fixed = ["GET /v1/openapi.json", "GET /health"];
  const others = listed.filter((name) => !fixed.includes(name));
  expect(listed.length - others.length).toBe(2);
  expect(others.sort()).toEqual([...ROUTES.map(nameOf), "GET /v1/events"].sort());
  expect(others).toEqual(Object.keys(OPERATIONS).sort());
});

/** A schema of the document, closed: fields that it does not name must not occur. */
const ajv = new Ajv2020({ strict: false, validateSchema: false, validateFormats: false });
ajv.addSchema(closed(document), "doc");
const matches = (pointer: string, value: unknown): string[] => {
  const validate = ajv.compile({ $ref: `doc#/${pointer}` });
  return validate(value) ? [] : validate.errors!.map((e) => `${e.instancePath} ${e.message}`);
};
const pointerOf = (name: string, ...rest: string[]): string => {
  const [method, path] = name.split(" ") as [string, string];
  const steps = ["paths", path, method.toLowerCase(), ...rest];
  return steps
    .map((step) => encodeURIComponent(step.replaceAll("~", "~0").replaceAll("/", "~1")))
    .join("/");
};

function closed(node: any): any {
  if (typeof node !== "object" || node === null) return node;
  if (Array.isArray(node)) return node.map(closed);
  const entries = Object.entries(node).map(([name, child]) => [name, closed(child)]);
  const copy = Object.fromEntries(entries);
  if (copy.type === "object" && copy.properties) copy.additionalProperties = false;
  return copy;
}

test("real responses have a status and a form that the OpenAPI document lists [§9.1.3] [§17.1]", async () => {
  const faults: string[] = [];
  const met = new Set<string>();
  /** Calls a route; `ids` are its parameters in order. */
  const call = async (send: Send, name: string, ids: string[] = [], body?: unknown, query = "") => {
    const [method, path] = name.split(" ") as [string, string];
    const rest = [...ids];
    const target = path.replace(/\{\w+\}/g, () => rest.shift()!) as `/${string}`;
    const answer: Answer = await send(`${method} ${target}${query}`, body);
    met.add(`${name} ${answer.status}`);
    const type = answer.headers.get("content-type") ?? "";
    if (!operationOf(name).responses[answer.status]) faults.push(`${name}: ${answer.status}`);
    else if (answer.status === 204) expect(answer.body).toBeNull();
    else {
      const pointer = pointerOf(name, "responses", `${answer.status}`, "content", type, "schema");
      faults.push(...matches(pointer, answer.body).map((f) => `${name} ${answer.status}: ${f}`));
    }
    return answer.body;
  };

  const nobody = client(app.url);
  const { token } = await call(nobody, "POST /v1/accounts");
  const person = client(app.url, token);
  await call(nobody, "POST /v1/attest/challenge");
  await call(nobody, "POST /v1/attest/challenge", [], { extra: 1 });
  await call(nobody, "GET /v1/account");
  await call(nobody, "POST /v1/accounts", [], { extra: 1 });
  await call(person, "GET /v1/account");
  await call(person, "PATCH /v1/account", [], { settings: { live_activities: false } });
  await call(person, "PATCH /v1/account", [], "{");
  const spare = client(app.url, (await call(nobody, "POST /v1/accounts")).token);
  await call(spare, "POST /v1/account/token", [], { token: "mca_" });
  await call(spare, "POST /v1/account/token", [], { token: `mca_${"A".repeat(43)}` });
  await call(spare, "POST /v1/account/token", [], {});
  const { key, secret } = await call(person, "POST /v1/keys", [], { label: "a" });
  const agent = client(app.url, secret);
  await call(agent, "GET /v1/keys");
  await call(person, "POST /v1/keys", [], {});
  await call(person, "PATCH /v1/keys/{key_id}", [key.id], { label: "b" });
  await call(person, "PATCH /v1/keys/{key_id}", ["x"], { label: "b" });

  await agent("GET /v1/tasks");
  await until(async () => {
    const { items } = await call(person, "GET /v1/keys/{key_id}/activity", [key.id]);
    return items.length > 0;
  });
  await call(person, "GET /v1/keys/{key_id}/activity", [key.id], undefined, "?limit=0");
  await call(person, "GET /v1/keys/{key_id}/activity", ["x"]);

  const device = `dev_${crypto.randomUUID()}`;
  await call(person, "PUT /v1/devices/{device_id}", [device], { ...DEVICE, apns_token: "AB" });
  await call(person, "PUT /v1/devices/{device_id}", ["x"], DEVICE);
  await call(person, "GET /v1/devices");
  await call(person, "DELETE /v1/devices/{device_id}", [device]);
  await call(person, "DELETE /v1/devices/{device_id}", [device]);

  const { channel } = await call(person, "POST /v1/channels", [], WEBHOOK);
  await call(person, "POST /v1/channels", [], { ...WEBHOOK, url: "x" });
  const quiet_hours = { from: "22:00", to: "07:00", time_zone: "Europe/Berlin" };
  await call(person, "PATCH /v1/channels/{channel_id}", [channel.id], { quiet_hours });
  await call(person, "POST /v1/channels/{channel_id}/test", [channel.id], {});
  await call(person, "GET /v1/channels");
  await call(person, "GET /v1/web-push/key");
  const topic = { type: "ntfy", label: "Phone", url: ntfy.url, replies: true };
  const phone = await call(person, "POST /v1/channels", [], topic);
  await call(person, "POST /v1/channels/{channel_id}/test", [phone.channel.id], {});
  const { message: test_code } = buttonOf(ntfy.published.at(-1)!, "It works");
  const answered = "POST /v1/channels/{channel_id}/reached";
  await call(nobody, answered, [phone.channel.id], { code: test_code });
  await call(nobody, answered, [phone.channel.id], { code: "x" });
  await call(nobody, answered, ["x"], { code: test_code });
  await call(person, "POST /v1/channels/check", [], { type: "webhook", url: "http://10.0.0.1" });
  await call(person, "POST /v1/channels/check", [], { type: "webhook", url: 5 });
  const asked = { type: "telegram", label: "Phone" };
  const link = await call(person, "POST /v1/channels/links", [], asked);
  await call(person, "POST /v1/channels/links", [], { ...asked, token: "x" });
  await call(person, "GET /v1/channels/links/{link_id}", [link.id]);
  await call(person, "GET /v1/channels/links/{link_id}", ["x"]);
  await call(person, "POST /v1/channels/links/{link_id}/confirm", [link.id]);
  await app.services.channelLinks.visited({
    code: new URL(link.link).searchParams.get("start")!,
    from: { name: "Anna", username: "anna" },
    address: JSON.stringify({ token: null, bot_id: bot.id, username: bot.username, chat: 5 }),
  });
  await call(person, "GET /v1/channels/links/{link_id}", [link.id]);
  await call(person, "POST /v1/channels/links/{link_id}/confirm", [link.id], {});
  await call(person, "DELETE /v1/channels/{channel_id}", [channel.id]);
  await call(person, "POST /v1/channels/{channel_id}/test", [channel.id], {});

  const hook = "/v1/keys/{key_id}/webhook";
  await call(agent, `PUT ${hook}`, [key.id], { url: WEBHOOK.url });
  await call(person, `PUT ${hook}`, [key.id], { url: "x" });
  await call(agent, `GET ${hook}`, [key.id]);
  await call(person, "GET /v1/keys");
  await call(agent, `DELETE ${hook}`, [key.id]);
  await call(person, `GET ${hook}`, [key.id]);

  const made = await call(person, "POST /v1/tasks", [], { title: "t", key_id: key.id });
  const task = await call(agent, "POST /v1/tasks", [], { title: "t", status: "done" });
  await call(person, "POST /v1/tasks", [], { title: "t" });
  await call(agent, "GET /v1/tasks", [], undefined, "?limit=1&status=todo,done&priority=medium");
  await call(agent, "GET /v1/tasks", [], undefined, "?limit=0");
  await call(person, "GET /v1/tasks", [], undefined, "?key_id=x");
  await call(agent, "GET /v1/tasks/{task_id}", [made.id]);
  await call(agent, "GET /v1/tasks/{task_id}", ["x"]);
  await call(agent, "GET /v1/tasks/{task_id}/history", [made.id]);
  await call(agent, "GET /v1/tasks/{task_id}/history", ["x"]);
  const patch = { progress: 5, status_note: "n", status: "in_progress" };
  await call(agent, "PATCH /v1/tasks/{task_id}", [task.id], patch);
  await call(agent, "PATCH /v1/tasks/{task_id}", [task.id], { notify: null });

  await call(person, "PUT /v1/devices/{device_id}", [device], DEVICE);
  const activity = { device_id: device, push_token: "AB" };
  const gone = { ...activity, device_id: "x" };
  const live = "/v1/tasks/{task_id}/live-activity";
  await call(person, `PUT ${live}`, [task.id], activity);
  await call(person, `PUT ${live}`, [task.id], gone);
  await call(person, `DELETE ${live}`, [task.id], { device_id: device });
  await call(person, `DELETE ${live}`, ["x"], { device_id: device });
  await call(person, `DELETE ${live}`, [task.id], {});

  const choice = { prompt: "p", kind: "choice", options: ["a", "b"], task_id: task.id };
  const question = await call(agent, "POST /v1/questions", [], choice);
  await call(person, "POST /v1/questions", [], choice);
  await call(agent, "POST /v1/questions", [], { ...choice, task_id: "x" });
  const named = { prompt: "p", request_id: "one" };
  await call(agent, "POST /v1/questions", [], named);
  await call(agent, "POST /v1/questions", [], named);
  await call(agent, "POST /v1/questions", [], { ...named, prompt: "other" });
  const left = await call(agent, "POST /v1/questions", [], { prompt: "p" }, "?wait=0");
  await call(agent, "GET /v1/questions", [], undefined, "?status=pending,answered");
  await call(agent, "GET /v1/questions/{question_id}", [question.id], undefined, "?wait=0");
  const shown = { event: "shown" };
  await call(person, "POST /v1/questions/{question_id}/receipts", [question.id], shown);
  await call(person, "POST /v1/questions/{question_id}/receipts", ["qst_0"], shown);
  for (const caller of [person, agent]) {
    await call(caller, "GET /v1/questions/{question_id}/deliveries", [question.id]);
  }
  const soon = { minutes: 10 };
  await call(person, "POST /v1/questions/{question_id}/reminder", [question.id], soon);
  await call(person, "POST /v1/questions/{question_id}/answer", [question.id], { answer: "c" });
  await call(person, "POST /v1/questions/{question_id}/answer", [question.id], { answer: "a" });
  await call(person, "POST /v1/questions/{question_id}/answer", [question.id], { answer: "a" });
  await call(agent, "GET /v1/questions/{question_id}", [question.id]);
  await call(agent, "DELETE /v1/questions/{question_id}", [question.id]);
  await call(agent, "DELETE /v1/questions/{question_id}", [left.id]);
  await call(agent, "DELETE /v1/tasks/{task_id}", [task.id]);
  await call(agent, "GET /v1/inbox", [], undefined, "?peek=true&limit=2");
  await call(person, "GET /v1/keys/{key_id}/inbox", [key.id], undefined, "?limit=1");
  await call(person, "GET /v1/keys/{key_id}/inbox", ["x"]);
  await call(person, "POST /v1/messages", [], { key_id: key.id, text: "m" });
  await call(agent, "POST /v1/messages", [], { key_id: key.id, text: "m" });
  await call(agent, "POST /v1/messages", [], { key_id: "x", text: "m" });
  await call(agent, "GET /v1/inbox");
  await call(agent, "GET /v1/agents");
  await call(person, "GET /v1/keys");
  await call(nobody, "GET /v1/events");
  await call(agent, "GET /v1/events");
  const { sessions } = await call(person, "GET /v1/sessions");
  const one = "/v1/sessions/{session_id}";
  await call(person, `PATCH ${one}`, [sessions[0].id], { label: "Laptop" });
  await call(person, `PATCH ${one}`, ["x"], { label: "Laptop" });
  await call(person, `POST ${one}/confirm`, [sessions[0].id], {});
  await call(person, `DELETE ${one}`, [sessions[0].id]);
  const { code } = await call(person, "POST /v1/pairings", [], {});
  const claim = { code, token: `mca_${"B".repeat(43)}`, label: "Phone" };
  await call(nobody, "POST /v1/pairings/lookup", [], { code });
  const { session } = await call(nobody, "POST /v1/pairings/claim", [], claim);
  await call(nobody, "POST /v1/pairings/lookup", [], { code });
  await call(nobody, "POST /v1/pairings/claim", [], { ...claim, code: "x" });
  await call(nobody, "POST /v1/pairings/claim", [], { code });
  await call(client(app.url, claim.token), "POST /v1/pairings", [], {});
  await call(person, "GET /v1/account/recovery-code");
  const recovery = await call(person, "POST /v1/account/recovery-code", [], {});
  const back = { code: recovery.code, token: `mca_${"C".repeat(43)}` };
  await call(nobody, "POST /v1/sessions/recover", [], back);
  await call(nobody, "POST /v1/sessions/recover", [], { ...back, code: "x" });
  await call(nobody, "POST /v1/sessions/recover", [], { code: "x" });
  await call(client(app.url, back.token), "POST /v1/account/recovery-code", [], {});
  await call(person, `DELETE ${one}`, [session.id], undefined, "?last=x");
  await call(person, `DELETE ${one}`, [session.id], undefined, "?last=true");
  await connectClient(app.url, { send: person }, { key_id: key.id });
  const { request } = await startRequest(app.url);
  await call(person, "POST /v1/oauth/request", [], { request });
  await call(person, "POST /v1/oauth/request", [], { request: "x" });
  await call(person, "POST /v1/oauth/deny", [], { request });
  await call(person, "POST /v1/oauth/approve", [], { request, label: "A client" });
  await call(person, "POST /v1/oauth/approve", [], { request, label: "A", key_id: key.id });
  const waiting = await call(nobody, "POST /v1/oauth/approvals", [], { request });
  await call(nobody, "POST /v1/oauth/approvals", [], { request: "x.y" });
  await call(person, "POST /v1/oauth/request", [], { request: waiting.code });
  await call(nobody, "POST /v1/oauth/approvals/wait", [], { secret: waiting.secret }, "?wait=0");
  await call(nobody, "POST /v1/oauth/approvals/wait", [], { secret: waiting.secret }, "?wait=x");
  const { grants } = await call(person, "GET /v1/keys/{key_id}/grants", [key.id]);
  await call(person, "GET /v1/keys/{key_id}/grants", ["x"]);
  const grant = "/v1/keys/{key_id}/grants/{grant_id}";
  await call(person, `DELETE ${grant}`, [key.id, grants[0].id]);
  await call(person, `DELETE ${grant}`, [key.id, grants[0].id]);
  await call(person, "POST /v1/keys/{key_id}/secret", [key.id], {});
  await call(person, "POST /v1/keys/{key_id}/secret", ["x"], {});
  await call(person, "DELETE /v1/keys/{key_id}", [key.id]);
  await call(person, "DELETE /v1/account");
  await call(person, "DELETE /v1/account");

  expect(faults).toEqual([]);
  const successes = Object.entries(OPERATIONS).flatMap(([name, { success, existing = success }]) =>
    [...new Set([success, existing])].map((status) => `${name} ${status}`),
  );
  const missed = successes.filter((one) => !met.has(one) && one !== "GET /v1/events 200");
  expect(missed).toEqual([]);
});

/** Name of the schema of a route's body. */
const requestOf = (route: Route): string =>
  operationOf(nameOf(route)).requestBody.content["application/json"].schema.$ref.split("/").at(-1);

test("the request schemas accept what the routes accept, and refuse other types [§5.12.2]", () => {
  const faults: string[] = [];
  for (const route of ROUTES) {
    for (const name of route.in_body ?? []) {
      const pointer = `components/schemas/${requestOf(route)}`;
      const { good, bad } = rowOf(route.procedure, name);
      const check = (value: string, right: boolean) => {
        const got = matches(`${pointer}/properties/${name}`, JSON.parse(value)).length === 0;
        if (got !== right) faults.push(`${nameOf(route)} ${name} ${value.slice(0, 40)}`);
      };
      for (const value of good) check(value, true);
      // Numbers, booleans and null show the type; the content of a text is described in words.
      for (const value of bad.filter((one) => /^(-?\d|true|false|null)/.test(one))) {
        check(value, false);
      }
    }
    if (!route.in_body) continue;
    const schema = document.components.schemas[requestOf(route)];
    expect(schema.additionalProperties).toBe(false);
    expect([...(schema.required ?? [])].sort()).toEqual([...route.required].sort());
    expect(Object.keys(schema.properties).sort()).toEqual([...route.in_body].sort());
  }
  expect(faults).toEqual([]);
});

test("every body has an example that its schema accepts", () => {
  const faults: string[] = [];
  for (const [name, { success, body }] of Object.entries(OPERATIONS)) {
    if (name === "GET /v1/events") continue;
    const places = [
      ...(body ? [["requestBody", "content", "application/json"]] : []),
      ...(success === 204 ? [] : [["responses", String(success), "content", "application/json"]]),
    ];
    for (const place of places) {
      const media = place.reduce((node, step) => node[step], operationOf(name));
      const named = Object.values<{ value: unknown }>(media.examples ?? {}).map(
        ({ value }) => value,
      );
      const examples = [...named, ...(media.example === undefined ? [] : [media.example])];
      const where = `${name} ${place.slice(0, 2).join(" ")}`;
      if (examples.length === 0) faults.push(`${where}: none`);
      for (const example of examples) {
        const found = matches(pointerOf(name, ...place, "schema"), example);
        faults.push(...found.map((fault) => `${where}: ${fault}`));
      }
    }
  }
  expect(faults).toEqual([]);
});

test("the error codes in the OpenAPI document are those that the service returns [§9.1.3]", async () => {
  const { "x-extensible-enum": codes, enum: closed_list } = document.components.schemas.ErrorCode;
  // Codes may be added (§17.2), which a client must survive.
  expect(closed_list).toBeUndefined();
  const known = ["invalid_json", "unauthorized", "forbidden", "account_creation_off", "not_found"];
  const conflicts = ["question_not_pending", "too_many_pending_questions", "too_many_keys"];
  const more = ["too_many_tasks", "body_too_large", "unsupported_media_type", "invalid_fields"];
  const last = [
    "attestation_required",
    "attestation_invalid",
    "rate_limited",
    "too_many_waits",
    "internal",
    "store_unavailable",
  ];
  const paths = ["unknown_path", "method_not_allowed"];
  expect(codes).toEqual(
    expect.arrayContaining([...known, ...paths, ...conflicts, ...more, ...last]),
  );
  const described = Object.keys(OPERATIONS).flatMap((name) =>
    Object.values<any>(operationOf(name).responses).flatMap(({ description }) =>
      [...description.matchAll(/`([a-z_]+)`: /g)].map(([, code]) => code),
    ),
  );
  expect(codes).toEqual(expect.arrayContaining(described));
  // The document is the same for everyone, so it needs no credential.
  const person = await createPerson(app.url);
  const agent = await createAgent(app.url, person);
  for (const send of [person.send, agent.send]) {
    expect((await send("GET /v1/openapi.json")).body).toEqual(document);
  }
});
