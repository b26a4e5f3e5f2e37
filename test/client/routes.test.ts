/** Every method of the client against a server: what it sends, and what it gives. */

import { expect, test } from "bun:test";
import type { inferRouterInputs, inferRouterOutputs } from "@trpc/server";
import type { AppRouter } from "../../routers/index.ts";
import { type Client, createClient } from "../../src/client/client.ts";
import { startTestApp } from "../support/app.ts";
import { client, DEVICE, WEBHOOK } from "../support/client.ts";
import { connectClient } from "../support/oauth.ts";
import { rejectionOf } from "../support/rejection.ts";
import { nameOf, ROUTES } from "../support/routes.ts";

const app = await startTestApp();
/** Method and path of every request. */
const sent = new Set<string>();
const recording = (url: string, init: RequestInit) => {
  sent.add(`${init.method ?? "GET"} ${new URL(url).pathname}`);
  return fetch(url, init);
};
const connect = (credential?: string) =>
  createClient({
    url: `${app.url}/`,
    fetch: recording,
    agent_host: "studio",
    ...(credential && { credential }),
  });

test("each route has a method, which gives what the route answers", async () => {
  const nobody = connect();
  expect(await nobody.health()).toMatchObject({ status: "ok", store: "ok" });
  expect(await nobody.openapi()).toMatchObject({ openapi: expect.stringMatching(/^3\.1/) });
  expect((await nobody.attest.challenge()).challenge).toHaveLength(43);

  const { account, token } = await nobody.accounts.create();
  const person = connect(token);
  expect(await person.accounts.get()).toEqual(account);
  const settings = { live_activities: false };
  expect((await person.accounts.update({ settings })).settings).toEqual(settings);

  const device_id = `dev_${crypto.randomUUID()}`;
  const device = await person.devices.put(device_id, DEVICE);
  expect(await person.devices.list()).toEqual({ devices: [device] });

  const made = await person.channels.create(WEBHOOK);
  expect(made.secret).toStartWith("whsec_");
  const renamed = await person.channels.update(made.channel.id, { label: "CI" });
  expect(renamed.label).toBe("CI");
  expect(await person.channels.test(renamed.id)).toMatchObject({ status: "failed" });
  expect((await person.channels.list()).channels.map(({ label }) => label)).toEqual(["CI"]);
  await person.channels.delete(renamed.id);
  expect((await rejectionOf(person.channels.key())).code).toBe("not_found");

  const { key, secret } = await person.keys.create({ label: "agent" });
  const other = await person.keys.create({ label: "other" });
  const agent = connect(secret);
  expect((await person.keys.update(other.key.id, { label: "renamed" })).label).toBe("renamed");
  expect((await agent.agents.list()).agents.map(({ label }) => label)).toEqual([
    "renamed",
    "agent",
  ]);

  const { secret: signing } = await agent.keys.setWebhook(key.id, { url: WEBHOOK.url });
  expect(signing).toStartWith("whsec_");
  expect(await agent.keys.webhook(key.id)).toMatchObject({ hint: "hook" });
  expect(await person.keys.removeWebhook(key.id)).toBeUndefined();

  const task = await agent.tasks.create({ title: "Ship it", status: "in_progress" });
  expect(task.host).toBe("studio");
  const open = await agent.tasks.list({ status: ["todo", "in_progress"], limit: 1 });
  expect(open).toEqual({ tasks: [task], next_cursor: null });
  const changed = await agent.tasks.update(task.id, { progress: 50 });
  expect(await person.tasks.get(task.id)).toEqual(changed);
  const live = { task_id: task.id, device_id };
  expect(await person.liveActivities.put({ ...live, push_token: "aa01" })).toBeUndefined();
  expect(await person.liveActivities.delete(live)).toBeUndefined();

  const question = await agent.questions.ask({ prompt: "Now?", task_id: task.id });
  expect(await agent.questions.get(question.id)).toEqual(question);
  expect(await person.questions.deliveries(question.id)).toMatchObject({ deliveries: [] });
  expect(await person.questions.sendReceipt(question.id, { event: "shown" })).toBeUndefined();
  expect((await agent.questions.deliveries(question.id)).reach.state).toBe("shown");
  const answered = await person.questions.answer(question.id, { answer: "Yes", note: "Ship it" });
  expect(answered.note).toBe("Ship it");
  const list = await person.questions.list({ status: ["answered"], key_id: key.id });
  expect(list).toEqual({ questions: [answered], next_cursor: null });
  const withdrawn = await agent.questions.ask({ prompt: "Later?" });
  await agent.questions.cancel(withdrawn.id);

  const item = await person.messages.send({ key_id: key.id, text: "Well done" });
  const unread = await agent.inbox.read({ peek: true, limit: 10 });
  expect(unread.items.map(({ type }) => type)).toEqual(["question.answered", "message"]);
  expect(await agent.inbox.read({ peek: true, ack: item.id })).toEqual({ items: [], unread: 0 });
  expect((await person.keys.inbox(key.id, { limit: 1 })).items[0]).toMatchObject({ id: item.id });
  expect((await person.keys.activity(key.id, { limit: 5 })).items).toBeArray();

  expect((await person.keys.replaceSecret(other.key.id)).secret).toStartWith("mck_");
  const oauth = await connectClient(app.url, { send: client(app.url, token) }, { key_id: key.id });
  const { grants } = await person.keys.grants(key.id);
  await person.keys.revokeGrant(key.id, grants[0]!.id);
  expect((await person.oauth.request(oauth.request)).client_name).toBe("Test client");
  expect((await person.oauth.deny(oauth.request)).redirect_to).toContain("?error=");
  const given = await person.oauth.approve({ request: oauth.request, key_id: key.id });
  expect(given.redirect_to).toContain("?code=");
  const approval = await nobody.oauth.askApproval(oauth.request);
  expect(await nobody.oauth.awaitApproval(approval.secret, { wait: 0 })).toEqual({
    status: "waiting",
    redirect_to: null,
  });

  await agent.tasks.delete(task.id);
  await person.devices.delete(device_id);
  await person.keys.delete(key.id);
  expect((await person.keys.list()).keys.map(({ id }) => id)).toEqual([other.key.id]);
  const {
    sessions: [first],
  } = await person.sessions.list();
  const named = await person.sessions.update(first!.id, { label: "Firefox on Linux" });
  expect(named).toEqual({ ...first!, label: "Firefox on Linux", current: true });
  const { code } = await person.pairings.create();
  expect((await nobody.pairings.lookup(code)).offered_by).toBe("Firefox on Linux");
  const claimed = { code, label: "Phone", token: `mca_${"p".repeat(43)}` };
  const { session } = await nobody.pairings.claim(claimed);
  expect((await person.sessions.list()).sessions).toEqual([{ ...session, current: false }, named]);
  expect((await person.sessions.confirm(session.id)).trial_ends_at).toBeNull();
  await person.sessions.delete(session.id);
  expect((await rejectionOf(person.sessions.delete(first!.id))).code).toBe("last_session");

  const replaced = connect((await person.accounts.replaceToken()).token);
  for await (const { name } of replaced.events()) {
    if (name === "ready") await replaced.accounts.delete();
  }

  const paths = [...sent].map((name) =>
    name.replace(
      /(key|tsk|qst|dev|ses|chn|grt)_[\w-]+/g,
      (_, prefix: string) => PARAMETERS[prefix]!,
    ),
  );
  const others = ["GET /health", "GET /v1/events", "GET /v1/openapi.json"];
  expect([...new Set(paths)].sort()).toEqual([...ROUTES.map(nameOf), ...others].sort());
});

const PARAMETERS: Readonly<Record<string, string>> = {
  key: "{key_id}",
  tsk: "{task_id}",
  qst: "{question_id}",
  dev: "{device_id}",
  ses: "{session_id}",
  chn: "{channel_id}",
  grt: "{grant_id}",
};

test("a parameter of the path cannot lead to another route", async () => {
  const { token } = await connect().accounts.create();
  const { tasks } = connect(token);
  expect(await tasks.get("../account").catch(({ code }) => code)).toBe("not_found");
});

type Input = inferRouterInputs<AppRouter>;
type Output = inferRouterOutputs<AppRouter>;
type Mutable<T> = T extends object ? { -readonly [K in keyof T]: Mutable<T[K]> } : T;
type Fits<A, B> = [Mutable<A>] extends [Mutable<B>] ? true : false;
type Same<A, B> = Fits<A, B> & Fits<B, A>;

type Method = (...given: never[]) => unknown;
type Result<M extends Method> = Awaited<ReturnType<M>>;
/** What a query or body may have, given as the first parameter: the procedure's fields, no more and no fewer. */
type First<M extends Method> = NonNullable<Parameters<M>[0]>;
type SameFields<A, B> = Same<keyof A, keyof B> & Fits<A, B>;

/** Compiles only while the client's types are those of the procedures. */
interface Types {
  create_account: Same<Result<Client["accounts"]["create"]>, Output["accounts"]["create"]>;
  account: Same<Result<Client["accounts"]["get"]>, Output["accounts"]["get"]>;
  token: Same<Result<Client["accounts"]["replaceToken"]>, Output["accounts"]["replaceToken"]>;
  sessions: Same<Result<Client["sessions"]["list"]>, Output["sessions"]["list"]>;
  session: Same<Result<Client["sessions"]["update"]>, Output["sessions"]["update"]>;
  pairing: Same<Result<Client["pairings"]["create"]>, Output["pairings"]["create"]>;
  claim: SameFields<First<Client["pairings"]["claim"]>, Input["pairings"]["claim"]>;
  offer: Same<Result<Client["pairings"]["lookup"]>, Output["pairings"]["lookup"]>;
  claimed: Same<Result<Client["pairings"]["claim"]>, Output["pairings"]["claim"]>;
  new_secret: Same<Result<Client["keys"]["replaceSecret"]>, Output["keys"]["replaceSecret"]>;
  grants: Same<Result<Client["keys"]["grants"]>, Output["keys"]["grants"]>;
  authorization: Same<Result<Client["oauth"]["request"]>, Output["oauth"]["request"]>;
  approve: SameFields<First<Client["oauth"]["approve"]>, Input["oauth"]["approve"]>;
  approved: Same<Result<Client["oauth"]["approve"]>, Output["oauth"]["approve"]>;
  denied: Same<Result<Client["oauth"]["deny"]>, Output["oauth"]["deny"]>;
  approval: Same<Result<Client["oauth"]["askApproval"]>, Output["oauth"]["askApproval"]>;
  approval_state: Same<Result<Client["oauth"]["awaitApproval"]>, Output["oauth"]["awaitApproval"]>;
  challenge: Same<Result<Client["attest"]["challenge"]>, Output["attest"]["challenge"]>;
  devices: Same<Result<Client["devices"]["list"]>, Output["devices"]["list"]>;
  channels: Same<Result<Client["channels"]["list"]>, Output["channels"]["list"]>;
  create_channel: Same<Result<Client["channels"]["create"]>, Output["channels"]["create"]>;
  channel: SameFields<First<Client["channels"]["create"]>, Input["channels"]["create"]>;
  push_key: Same<Result<Client["channels"]["key"]>, Output["channels"]["key"]>;
  test_channel: Same<Result<Client["channels"]["test"]>, Output["channels"]["test"]>;
  keys: Same<Result<Client["keys"]["list"]>, Output["keys"]["list"]>;
  create_key: Same<Result<Client["keys"]["create"]>, Output["keys"]["create"]>;
  set_webhook: Same<Result<Client["keys"]["setWebhook"]>, Output["keys"]["setWebhook"]>;
  webhook: Same<Result<Client["keys"]["webhook"]>, Output["keys"]["webhook"]>;
  activity: Same<Result<Client["keys"]["activity"]>, Output["keys"]["activity"]>;
  inbox_of_key: Same<Result<Client["keys"]["inbox"]>, Output["inbox"]["ofKey"]>;
  tasks: Same<Result<Client["tasks"]["list"]>, Output["tasks"]["list"]>;
  task_query: SameFields<First<Client["tasks"]["list"]>, NonNullable<Input["tasks"]["list"]>>;
  create_task: SameFields<First<Client["tasks"]["create"]>, Input["tasks"]["create"]>;
  questions: Same<Result<Client["questions"]["list"]>, Output["questions"]["list"]>;
  question_query: SameFields<First<Client["questions"]["list"]>, Input["questions"]["list"]>;
  ask: SameFields<First<Client["questions"]["ask"]>, Input["questions"]["ask"]>;
  deliveries: Same<Result<Client["questions"]["deliveries"]>, Output["deliveries"]["list"]>;
  inbox: Same<Result<Client["inbox"]["read"]>, Output["inbox"]["read"]>;
  inbox_query: SameFields<First<Client["inbox"]["read"]>, Input["inbox"]["read"]>;
  message: SameFields<First<Client["messages"]["send"]>, Input["messages"]["send"]>;
  item: Same<Result<Client["messages"]["send"]>, Output["messages"]["send"]>;
  agents: Same<Result<Client["agents"]["list"]>, Output["agents"]["list"]>;
}
null as unknown as Types satisfies Record<keyof Types, true>;
