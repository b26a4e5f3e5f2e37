/** Kills senders that use four channels at once, and checks that nothing was lost. */

import { expect } from "bun:test";
import { openStore } from "../../db/store/open.ts";
import { sql } from "../../db/store/sql.ts";
import { statement } from "../../db/store/statement.ts";
import { systemClock } from "../../src/clock.ts";
import { startApple } from "./apple.ts";
import { client, createAgent, createPerson, DEVICE, WEBHOOK } from "./client.ts";
import { startNtfy } from "./ntfy.ts";
import { type RelayProcess, startProcess } from "./process.ts";
import { screenOf, startPushService } from "./push-service.ts";
import { newToken } from "./push-world.ts";
import { startReceiver } from "./receiver.ts";
import { createTestStore } from "./store.ts";
import { until } from "./until.ts";

/** Questions that each process accepts in a round. */
const QUESTIONS = 3;
/** Rounds of one person, whose webhook accepts 60 messages a minute. */
const ROUNDS_EACH = 5;
/** Milliseconds that the slower services take to answer. */
const DELAY = 25;
/** Milliseconds without a request after which a round counts as finished, even on a slow machine. */
const GRACE = 2_000;

interface KillsOptions {
  readonly rounds: number;
  readonly random: () => number;
}

/** Acknowledged questions; an answered one may have ended before anyone was told about it. */
interface Made {
  readonly open: string[];
  readonly answered: string[];
}

/**
 * Two processes on one store notify a device, an ntfy topic, a browser and a webhook, while one after the
 * other is killed. Returns how often a kill interrupted a request.
 */
export async function killChannelSenders({ rounds, random }: KillsOptions) {
  const apple = await startApple({ delay: DELAY });
  const service = await startPushService({ delay: DELAY });
  const ntfy = await startNtfy();
  const receiver = startReceiver();
  const { url: database_url } = await createTestStore();
  const env = {
    ...apple.env("SANDBOX"),
    ...service.env,
    DATABASE_URL: database_url,
    OUTBOUND_PRIVATE: "127.0.0.0/8",
    LOG_LEVEL: "error",
  };
  const pair = (await Promise.all([startProcess(env), startProcess(env)])) as RelayProcess[];
  let people = 0;
  /** A person at `url` with a device and a channel of each type. */
  const createReached = async (url: string) => {
    const person = await createPerson(url);
    const apns_token = newToken();
    await person.send(`PUT /v1/devices/dev_${crypto.randomUUID()}`, { ...DEVICE, apns_token });
    const [hook, topic] = [`/hook-${people}`, `${ntfy.url}/topic-${people++}`];
    const channels = [
      { ...WEBHOOK, url: receiver.url(hook) },
      { type: "ntfy", label: "Topic", url: topic },
      { type: "web_push", label: "Browser", subscription: service.subscribe() },
    ];
    for (const body of channels) {
      const made = await person.send("POST /v1/channels", body);
      expect(made.status).toBe(201);
      if (made.body.secret) receiver.expect(hook, made.body.secret);
    }
    await until(() => receiver.got.some(({ path }) => path === hook));
    return person;
  };
  let person = await createReached(pair[0]!.url);

  const made: Made = { open: [], answered: [] };
  const ask = async ({ url }: RelayProcess, secret: string) => {
    const [work, live] = [client(url, secret), client(url, person.token)];
    for (let i = 0; i < QUESTIONS; i++) {
      const { status, body } = await work("POST /v1/questions", { prompt: "Go?" });
      if (status !== 201) return;
      made.open.push(body.id);
      if (i > 0) continue;
      // Usually announced first.
      await Bun.sleep(DELAY * 2);
      // From here on, a kill may leave it unknown whether the question was answered.
      made.open.splice(made.open.indexOf(body.id), 1);
      const answer = { answer: "Yes" };
      const answered = await live(`POST /v1/questions/${body.id}/answer`, answer);
      if (answered.status !== 200) return;
      made.answered.push(body.id);
    }
  };
  let in_send = 0;
  for (let round = 0; round < rounds; round++) {
    const doomed = round % 2;
    if (round > 0 && round % ROUNDS_EACH === 0) person = await createReached(pair[1 - doomed]!.url);
    const agent = await createAgent(pair[1 - doomed]!.url, person, `agent ${round}`);
    // Each process's first question may be answered before it is announced; the others are announced in any case.
    const target = service.accepted.length + Math.floor(random() * 2 * (QUESTIONS - 1));
    let sent = false;
    const acts = Promise.all(pair.map((one) => ask(one, agent.secret).catch(() => {})));
    void acts
      .then(() => Bun.sleep(GRACE))
      .then(() => {
        sent = true;
      });
    const busy = () => service.open() + apple.openStreams() + ntfy.open() + receiver.open() > 0;
    await until(() => sent || (service.accepted.length >= target && busy()));
    if (busy()) in_send++;
    pair[doomed]!.kill("SIGKILL");
    await Promise.all([acts, pair[doomed]!.exited]);
    pair[doomed] = await startProcess(env);
  }

  // The killed processes' leases run out.
  const store = await openStore({ url: database_url, auth_token: undefined }, systemClock);
  const waiting = sql`select (select count(*) from deliveries where kind <> 'silent' or parts <> '[]' or lease is not null)
    + (select count(*) from webhook_messages)`;
  const count = async () => (await store.read(statement(waiting, { returns: "rows" })({})))[0]![0];
  await until(async () => (await count()) === 0);
  await store.close();

  const on_phone = new Set(apple.delivered.map(({ collapse_id }) => collapse_id));
  const cleared = new Set(apple.delivered.flatMap(({ payload }) => payload.relay.clear ?? []));
  const browser = screenOf(service.delivered);
  const topic = Object.fromEntries(
    ntfy.published.map(({ sequence_id, message }) => [sequence_id, message]),
  );
  const events = new Set(
    receiver.got.map(({ type, data }) => `${type} ${data.question?.id} ${data.question?.status}`),
  );
  /** What is wrong with each channel's messages about a question in the end; empty if nothing is. */
  const faultsOf = (id: string, answered: boolean) => {
    const shown = (text: string | undefined) =>
      answered ? text === undefined || text === "Answered: Yes" : text === "Go?";
    return [
      ...((answered ? cleared.has(id) : on_phone.has(id))
        ? []
        : [`phone ${id} ${answered ? "clear" : "alert"}`]),
      ...(shown(browser[id]) ? [] : [`browser ${id} ${browser[id]}`]),
      ...(shown(topic[id]) ? [] : [`topic ${id} ${topic[id]}`]),
      ...(events.has(`question.created ${id} pending`) ? [] : [`webhook ${id}`]),
      ...(!answered || events.has(`question.updated ${id} answered`) ? [] : [`webhook ${id} end`]),
    ];
  };
  expect([
    ...made.open.flatMap((id) => faultsOf(id, false)),
    ...made.answered.flatMap((id) => faultsOf(id, true)),
  ]).toEqual([]);
  const faults = [...apple.faults, ...service.faults, ...ntfy.faults, ...receiver.faults];
  expect(faults).toEqual([]);
  for (const one of pair) one.kill("SIGKILL");
  return { in_send, open: made.open.length, answered: made.answered.length };
}
