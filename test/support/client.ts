/** Plain HTTP clients for one credential, and the accounts and keys that tests use. */

import type { Account } from "../../src/model/account.ts";
import type { Key } from "../../src/model/key.ts";
import type { Question } from "../../src/model/question.ts";
import type { Session } from "../../src/model/session.ts";
import type { Task } from "../../src/model/task.ts";

export interface Answer<Body = any> {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed JSON; null if there is no body. */
  readonly body: Body;
}

interface SendOptions {
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
}

/** Sends one request; a body that is not a string is sent as JSON. */
export type Send = <Body = any>(
  request: `${string} /${string}`,
  body?: unknown,
  options?: SendOptions,
) => Promise<Answer<Body>>;

/** A client for a base address with an optional credential. */
export function client(url: string, credential?: string): Send {
  return async (request, body, { headers, signal } = {}) => {
    const [method, path] = request.split(" ") as [string, string];
    const response = await fetch(url + path, {
      method,
      headers: {
        ...(credential !== undefined && { authorization: `Bearer ${credential}` }),
        ...(body !== undefined && { "content-type": "application/json" }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
      ...(signal && { signal }),
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      body: text === "" ? null : JSON.parse(text),
    };
  };
}

export interface Person {
  readonly account: Account;
  readonly token: string;
  readonly send: Send;
}

export interface Agent {
  readonly key: Key;
  readonly secret: string;
  readonly send: Send;
}

/** The sign-ins of an account. */
export const sessionsOf = async ({ send }: Pick<Person, "send">): Promise<any[]> =>
  (await send("GET /v1/sessions")).body.sessions;

/** A new account at `url`. */
export async function createPerson(url: string): Promise<Person> {
  const { body } = await client(url)("POST /v1/accounts");
  return { ...body, send: client(url, body.token) };
}

/** A token in the form that clients generate. */
export function newToken(): string {
  return `mca_${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url")}`;
}

/** Signs in with a pairing code; `token` is a new one when absent. */
export function claim(
  url: string,
  { token = newToken(), ...body }: { code: string; label?: string; token?: string },
): Promise<Answer> {
  return client(url)("POST /v1/pairings/claim", { ...body, token });
}

/** Another sign-in of the account, made with a pairing code. */
export async function pair(url: string, { send }: Pick<Person, "send">, label?: string) {
  const { code } = (await send("POST /v1/pairings", {})).body;
  const { status, body } = await claim(url, { code, ...(label !== undefined && { label }) });
  if (status !== 201) throw new Error(`not paired: ${JSON.stringify(body)}`);
  return { ...body, send: client(url, body.token) } as Person & { readonly session: Session };
}

/** Creates a key of the account. */
export async function createAgent(url: string, person: Person, label = "agent"): Promise<Agent> {
  const { body } = await client(url, person.token)("POST /v1/keys", { label });
  return { ...body, send: client(url, body.secret) };
}

/** A person with one agent. */
export async function createPair(url: string): Promise<{ person: Person; agent: Agent }> {
  const person = await createPerson(url);
  return { person, agent: await createAgent(url, person) };
}

/** Creates a task of the caller. */
export async function createTask(send: Send, body: object = { title: "A task" }): Promise<Task> {
  const answer = await send("POST /v1/tasks", body);
  if (answer.status !== 201) throw new Error(`no task: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

/** A body that registers a device. */
export const DEVICE = {
  platform: "ios",
  model: "iPhone18,1",
  os_version: "27.1",
  app_version: "1.4.0",
  apns_environment: "sandbox",
} as const;

/** A body that creates a webhook. Nothing listens there. */
export const WEBHOOK = {
  type: "webhook",
  label: "Build server",
  url: "http://127.0.0.1:9/hook",
} as const;

/** The fields of a channel just created without settings (§19.1). */
export const NEW_CHANNEL = {
  sends: ["questions", "tasks"],
  min_priority: "low",
  quiet_hours: null,
  state: "ok",
  last_sent_at: null,
  last_error: null,
  missed: 0,
} as const;

/** Creates a question of the caller. */
export async function ask(send: Send, body: object = { prompt: "Go on?" }): Promise<Question> {
  const answer = await send("POST /v1/questions", body);
  if (answer.status !== 201) throw new Error(`no question: ${JSON.stringify(answer.body)}`);
  return answer.body;
}
