/** One account with what every route needs, for tests that call each route with something wrong. */

import type { TestApp } from "./app.ts";
import {
  ask,
  createAgent,
  createPerson,
  createTask,
  DEVICE,
  newToken,
  pair,
  WEBHOOK,
} from "./client.ts";
import { FIELDS } from "./fields.ts";
import { connectClient, startRequest } from "./oauth.ts";
import type { Route } from "./routes.ts";
import { type Code, exchange, faultsOf, type WireAnswer } from "./wire.ts";

/** The kinds of credential that a route admits. */
export type Kind = "none" | "account" | "key";

export type World = Awaited<ReturnType<typeof createWorld>>;

type Sent = Omit<NonNullable<Parameters<typeof exchange>[3]>, "credential">;

export async function createWorld({ url }: Pick<TestApp, "url">) {
  const person = await createPerson(url);
  const agent = await createAgent(url, person, "one");
  const other = await createAgent(url, person, "two");
  const task = await createTask(agent.send);
  /** Created by the account and not read by its agent, so that an effect of a read would show. */
  const unseen = await createTask(person.send, { title: "unseen", key_id: agent.key.id });
  const device_id = `dev_${crypto.randomUUID()}`;
  await person.send(`PUT /v1/devices/${device_id}`, DEVICE);
  const { body: hook } = await person.send("POST /v1/channels", WEBHOOK);
  for (const { id } of [agent.key, other.key]) {
    await person.send(`PUT /v1/keys/${id}/webhook`, { url: WEBHOOK.url });
  }
  const text_question = { prompt: "What?", kind: "text" };
  const question = await ask(agent.send, text_question);

  await connectClient(url, person, { key_id: other.key.id });
  const { request } = await startRequest(url);
  const { body: granted } = await person.send(`GET /v1/keys/${other.key.id}/grants`);

  /** The value of each path parameter, and of body fields that name something, if need be for one procedure. */
  const ids: Record<string, string> = {
    key_id: other.key.id,
    task_id: task.id,
    question_id: question.id,
    device_id,
    session_id: (await pair(url, person)).session.id,
    code: (await person.send("POST /v1/pairings", {})).body.code,
    token: newToken(),
    "recovery.claim code": (await person.send("POST /v1/account/recovery-code", {})).body.code,
    "recovery.claim token": newToken(),
    channel_id: hook.channel.id,
    link_id: hook.channel.id.replace("chn", "lnk"),
    grant_id: granted.grants[0].id,
    request,
    secret: "waits for nothing",
  };
  const credentials: Record<Kind, string | undefined> = {
    none: undefined,
    account: person.token,
    key: agent.secret,
  };

  /** The path with its parameters filled in; values from `given` are inserted as they are. */
  const pathOf = (route: Route, given: Record<string, string> = {}): string =>
    route.path.replace(/\{(\w+)\}/g, (_, name: string) => {
      const value = given[name] ?? ids[name];
      if (value === undefined) throw new Error(`test/support/world.ts knows no {${name}}`);
      return value;
    });

  /** An agent names its own key. */
  const ownOf = (route: Route, kind: Kind): string =>
    pathOf(route, kind === "key" ? { key_id: agent.key.id } : {});

  const send = (route: Route, kind: Kind, sent: Sent = {}, path = ownOf(route, kind)) =>
    exchange(url, route.method, path, { ...sent, credential: credentials[kind] });

  return {
    url,
    person,
    agent,
    other,
    task,
    unseen,
    question,
    ids,
    credentials,
    pathOf,
    ownOf,
    send,

    /** A question that can be answered, replacing the previous one. */
    async renewQuestion(): Promise<void> {
      ids.question_id = (await ask(agent.send, text_question)).id;
    },

    /** A client's unapproved request, replacing the previous one; returns its text. */
    async renewRequest(): Promise<string> {
      ids.request = (await startRequest(url)).request;
      return ids.request;
    },

    /** What the account holds, except what any request may change. */
    async stored(): Promise<unknown> {
      const { body: keys } = await person.send("GET /v1/keys");
      const { body: tasks } = await person.send("GET /v1/tasks?limit=500");
      const { body: questions } = await person.send(
        "GET /v1/questions?status=pending,answered,expired,cancelled",
      );
      const { body: account } = await person.send("GET /v1/account");
      // Also counts what happens in the background, such as records of notifications.
      delete account.storage;
      for (const key of keys.keys) {
        delete key.last_used_at;
        key.webhook = key.webhook?.created_at;
      }
      return { account, keys, tasks, questions };
    },
  };
}

/** The kinds of credential that may call it. */
export function kindsOf({ access }: Route): Kind[] {
  return access === "any" ? ["account", "key"] : [access];
}

/** A body that the route accepts, as JSON text; undefined for a route without one. */
export function bodyOf(world: World, route: Route, kind: Kind): string | undefined {
  if (!route.in_body) return undefined;
  const fields = route.required.map((name) => [
    name,
    world.ids[`${route.procedure} ${name}`] ??
      world.ids[name] ??
      JSON.parse(rowOf(route.procedure, name).good[0]!),
  ]);
  const key_id = route.procedure === "tasks.create" && kind === "account" && world.agent.key.id;
  // Required by the field's rule.
  const url = route.procedure === "channels.create" && WEBHOOK.url;
  const more = { ...(key_id && { key_id }), ...(url && { url }) };
  return JSON.stringify({ ...Object.fromEntries(fields), ...more });
}

function withoutField(body: string, name: string): string {
  return JSON.stringify({ ...JSON.parse(body), [name]: undefined });
}

/** `body` with one more field, given as JSON text. */
export function withField(body: string, name: string, json: string): string {
  const rest = Object.entries(JSON.parse(body)).filter(([other]) => other !== name);
  const members = rest.map(([other, value]) => `${JSON.stringify(other)}:${JSON.stringify(value)}`);
  return `{${[...members, `${JSON.stringify(name)}:${json}`].join()}}`;
}

/** `body` as it must be for the field `name` to be valid: with what its row requires beside it. */
export function bodyBeside(body: string, procedure: string, name: string): string {
  const { beside = {}, without = [] } = rowOf(procedure, name);
  let result = body;
  for (const [other, value] of Object.entries(beside)) {
    result = withField(result, other, JSON.stringify(value));
  }
  for (const other of without) result = withoutField(result, other);
  return result;
}

/** The row of a procedure's body field; every field must have one. */
export function rowOf(procedure: string, name: string) {
  const row = FIELDS[`${procedure} ${name}`] ?? FIELDS[name];
  if (!row) throw new Error(`test/support/fields.ts has no row for the body field ${name}`);
  return row;
}

/** Collects everything wrong over many requests, so that one run shows all of it. */
export function createCollector() {
  const faults: string[] = [];
  return {
    faults,
    add(label: string, answer: WireAnswer, code: Code, fields?: readonly string[]): void {
      for (const fault of faultsOf(answer, code, fields)) faults.push(`${label}: ${fault}`);
    },
  };
}
