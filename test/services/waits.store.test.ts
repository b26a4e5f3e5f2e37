/** What an agent's wait reads before it sleeps, and that it listens before it reads. */

import { expect, test } from "bun:test";
import type { AccountCaller, KeyCaller } from "../../src/model/caller.ts";
import { startTestApp } from "../support/app.ts";
import { ask, createAgent, createPair } from "../support/client.ts";
import { openServices } from "../support/services.ts";
import { createTestStore } from "../support/store.ts";
import { until } from "../support/until.ts";

const { url: database_url } = await createTestStore();
const app = await startTestApp({ database_url });
const services = await openServices(database_url);
const { questions, inbox, keys, waits, roundTrips, afterNextRead } = services;

const { signal } = new AbortController();
const OPTIONS = { signal, effects: true };
const PAGE = { ...OPTIONS, page_bytes: 1_000_000 };
const asleep = () => until(() => waits.count() === 1);
const codeOf = (work: Promise<unknown>) => work.catch(({ code }: { code: string }) => code);

const { person } = await createPair(app.url);
const account = (await services.callerOf(person.token)) as AccountCaller;

/** A new key, its authenticated caller, and a pending question of the key. */
async function newAsker() {
  const { key, secret, send } = await createAgent(app.url, person);
  const caller = (await services.callerOf(secret)) as KeyCaller;
  const question = await ask(send);
  // Events of before would wake the waits.
  await services.caughtUp();
  return { key_id: key.id, caller, question };
}

const waitFor = (caller: KeyCaller | AccountCaller, id: string) =>
  questions.read(caller, id, { ...OPTIONS, wait: 50, asking: false });
const answer = (id: string) =>
  questions.answer(account, id, "Yes", { idempotent_request: null, by_api: true }).then(() => {});

test("a wait for a question reads it and the credential in one round trip, then sleeps [§6.1]", async () => {
  const { caller, question } = await newAsker();
  const before = roundTrips();
  const wait = waitFor(caller, question.id);
  await asleep();
  expect(roundTrips() - before).toBe(1);
  await answer(question.id);
  expect((await wait).status).toBe("answered");
});

test("a wait for an inbox item reads the inbox and the credential in one round trip, then sleeps [§6.1]", async () => {
  const { caller, key_id } = await newAsker();
  const before = roundTrips();
  const wait = inbox.read(caller, { wait: 50 }, PAGE);
  await asleep();
  expect(roundTrips() - before).toBe(1);
  await inbox.send(account, { key_id, text: "t" }, { idempotent_request: null });
  expect((await wait).items.map(({ text }) => text)).toEqual(["t"]);
});

test("an answer between the first read of a wait and its sleep is not missed [§6.1]", async () => {
  const { caller, question } = await newAsker();
  for (const waiter of [caller, account]) {
    const { id } = waiter === caller ? question : (await newAsker()).question;
    afterNextRead(() => answer(id));
    expect((await waitFor(waiter, id)).status).toBe("answered");
  }
});

test("a message between the first read of a wait and its sleep is not missed [§6.1]", async () => {
  const { caller, key_id } = await newAsker();
  afterNextRead(async () => {
    await inbox.send(account, { key_id, text: "t" }, { idempotent_request: null });
  });
  const { items } = await inbox.read(caller, { wait: 50 }, PAGE);
  expect(items.map(({ text }) => text)).toEqual(["t"]);
});

test("replacing the secret before or during a wait ends the wait and marks nothing as read [§4.1.5]", async () => {
  for (const moment of ["before", "meanwhile"]) {
    for (const kind of ["question", "inbox"]) {
      const { caller, key_id, question } = await newAsker();
      const replace = () => keys.replaceSecret(account, key_id).then(() => {});
      if (moment === "before") {
        await inbox.send(account, { key_id, text: "t" }, { idempotent_request: null });
        await replace();
      } else {
        afterNextRead(replace);
      }
      const wait: Promise<unknown> =
        kind === "question" ? waitFor(caller, question.id) : inbox.read(caller, { wait: 50 }, PAGE);
      expect(await codeOf(wait)).toBe("unauthorized");
      const { unread } = await inbox.ofKey(account, key_id, {}, PAGE);
      expect(unread).toBe(moment === "before" ? 1 : 0);
    }
  }
});

test("a request that asks counts as asleep once its question exists, and has its slot before", async () => {
  const { caller } = await newAsker();
  const release = services.holdWrites();
  const gone = new AbortController();
  const options = {
    idempotent_request: null,
    asking: false,
    session: null,
    streams: true,
    wait: 50,
  } as const;
  const asked = questions.ask(caller, { prompt: "p" }, { ...options, signal: gone.signal });
  asked.catch(() => {});
  await until(() => waits.owners() === 1);
  expect(waits.count()).toBe(0);
  release();
  await asleep();
  const { questions: listed } = await questions.list(account, { key_id: caller.key_id }, PAGE);
  expect(listed.map(({ prompt }) => prompt)).toContain("p");
  gone.abort();
  await asked.catch(() => {});
  expect([waits.count(), waits.owners()]).toEqual([0, 0]);
});

test("a wait that reads a question hides it from later identical asks [§12.4.5]", async () => {
  const { caller } = await newAsker();
  const asking = { idempotent_request: null, asking: true, session: null, streams: true } as const;
  const gone = new AbortController();
  const left = questions.ask(caller, { prompt: "p" }, { ...asking, wait: 50, signal: gone.signal });
  left.catch(() => {});
  await asleep();
  const [pending] = (await questions.list(account, { key_id: caller.key_id }, { ...PAGE }))
    .questions;
  const { id } = pending!;
  const wait = waitFor(caller, id);
  await until(() => waits.count() === 2);
  gone.abort();
  await until(() => waits.count() === 1);
  // The caller knows the id of the first question, so this ask creates another.
  const second = questions.ask(caller, { prompt: "p" }, { ...asking, wait: 0, signal });
  expect((await second).question.id).not.toBe(id);
  await answer(id);
  expect((await wait).status).toBe("answered");
});
