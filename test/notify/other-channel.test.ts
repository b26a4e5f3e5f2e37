/** A channel that no other file knows, beside the real ones: it needs only its targets. */

import { expect, test } from "bun:test";
import type { Channel, Verdict } from "../../src/notify/core/channel.ts";
import { exponentialDelay } from "../../src/notify/core/channel.ts";
import type { Notification } from "../../src/notify/core/notification.ts";
import { ADMIN, adminClient, metricsOf } from "../support/admin.ts";
import { ask, createTask, type Person } from "../support/client.ts";
import { sampleOf } from "../support/exposition.ts";
import { createPushWorld } from "../support/push-world.ts";

interface Page {
  readonly to: string;
  readonly id: string;
  readonly notification: Notification;
}

type Reply = "ok" | "gone" | "busy";

/** Pages a phone number of the person: what to show, and what to clear. */
function createPager() {
  const pages: Page[] = [];
  let reply: (page: Page) => Reply | Promise<Reply> = () => "ok";
  const channel: Channel<Page, Reply> = {
    name: "pager",
    lanes: ["pager"],
    supports: (kind) => ["question", "task", "silent"].includes(kind),
    render: (notification, { address, delivery_id }) =>
      notification.kind === "silent" && notification.clear.length === 0
        ? null
        : { to: address, id: delivery_id, notification },
    classify(answer, { attempts }): Verdict {
      if (answer === "ok") return { do: "finish", reason: "ok" };
      const delay = { least: 0, spread: exponentialDelay(1, attempts, 8) };
      if (answer === "gone") return { do: "forget_target", reason: "gone", since: null, delay };
      return { do: "again", reason: "busy", delay, unclear: true };
    },
    async connect() {
      const send = async (page: Page) => {
        pages.push(page);
        return reply(page);
      };
      return [{ lane: "pager", send, abort() {} }];
    },
  };
  return {
    channel,
    pages,
    behave(next: typeof reply) {
      reply = next;
    },
    /** What each number was paged since the last call. */
    told: () =>
      pages.splice(0).map(({ to, notification }) => {
        const { kind } = notification;
        if (kind === "silent") return `${to}: clear ${notification.clear.join(" ")}`;
        return kind === "question" || kind === "task" ? `${to}: ${notification.body}` : kind;
      }),
  };
}

async function begin() {
  const pager = createPager();
  const world = await createPushWorld({ channels: [pager.channel], env: ADMIN });
  const { person, agent } = await world.people("a");
  const register = ({ account }: Person, recipient: string, address: string) =>
    world.change(
      `insert into delivery_targets (account_id, purpose, recipient_id, subject, lane, address, label, updated_at)
        values ('${account.id}', 'alert', '${recipient}', '', 'pager', '${address}', 'Pager ${address}', ${world.clock.now() * 1000})
        on conflict do update set address = excluded.address, updated_at = excluded.updated_at`,
    );
  await register(person, "pgr_1", "112");
  await world.advance(61, 2);
  world.apple.forget();
  pager.told();
  const targets = async () =>
    (await world.rows("select address from delivery_targets where lane = 'pager'")).flat();
  return { ...world, pager, person, agent, register, targets };
}

test("notifications and clears of an unknown channel are planned, merged, sent and recorded", async () => {
  const { pager, agent, person, advance, apple, app, register } = await begin();
  await register(person, "pgr_2", "110");
  const task = await createTask(agent.send, { title: "Ship", status: "in_progress" });
  const { id } = await ask(agent.send, { prompt: "Go?" });
  await advance(2);
  const { body } = await person.send(`GET /v1/questions/${id}/deliveries`);
  const sent = body.deliveries.map(({ target, status }: any) => [
    target.type,
    target.label,
    status,
  ]);
  expect(sent.sort()).toEqual([
    ["apns", "iPhone", "sent"],
    ["pager", "Pager 110", "sent"],
    ["pager", "Pager 112", "sent"],
  ]);
  expect(pager.told().sort()).toEqual(["110: Go?", "110: Started", "112: Go?", "112: Started"]);
  await person.send(`POST /v1/questions/${id}/answer`, { answer: "Yes" });
  await agent.send(`DELETE /v1/tasks/${task.id}`);
  await advance(3);
  const cleared = [id, task.id].sort().join(" ");
  expect(pager.told().sort()).toEqual([`110: clear ${cleared}`, `112: clear ${cleared}`]);
  // The phone has what it would have had without the pager.
  const types = apple.delivered.map(({ type, payload }) => payload.aps.event ?? type);
  expect(new Set(types)).toEqual(new Set(["alert", "start", "widgets", "background"]));

  const { lanes } = await adminClient(app.url).pushes.query();
  const named = { channel: "pager", lane: "pager", environment: "pager" };
  expect(lanes.find(({ lane }) => lane === "pager")).toMatchObject({ ...named, counts: { ok: 6 } });
  const { all } = await metricsOf(app.url);
  expect(sampleOf(all, "relay_push_answers_total", { ...named, reason: "ok" })).toBe(6);
});

test("an address that its service no longer knows is forgotten, and one registered since is tried", async () => {
  const { pager, agent, person, settle, advance, register, targets, clock } = await begin();
  pager.behave(() => "gone");
  await ask(agent.send);
  await settle();
  expect(pager.told()).toEqual(["112: Go on?"]);
  expect(await targets()).toEqual([]);
  await ask(agent.send);
  await settle();
  expect(pager.told()).toEqual([]);

  await register(person, "pgr_1", "112");
  pager.behave(async ({ to }) => {
    if (to !== "112") return "ok";
    // Registered anew while the answer is on the way.
    await register(person, "pgr_1", "113");
    return "gone";
  });
  await clock.advance(1);
  await ask(agent.send);
  await settle();
  await advance(3);
  expect(pager.told()).toEqual(["112: Go on?", "113: Go on?"]);
  expect(await targets()).toEqual(["113"]);
});

test("when the account goes, a page that may have arrived is cleared through a copy of the address", async () => {
  const { pager, agent, person, advance, settle, targets, rows } = await begin();
  pager.behave(() => "busy");
  const { id } = await ask(agent.send);
  await settle();
  pager.behave(() => "ok");
  pager.told();
  await person.send("DELETE /v1/account");
  await advance(30, 1);
  expect(pager.told()).toEqual([`112: clear ${id}`]);
  expect(await targets()).toEqual([]);
  expect(await rows("select * from deliveries")).toEqual([]);
});

test("what waits for the pager stays when a device is registered or removed", async () => {
  const { pager, agent, person, settle, advance, phone } = await begin();
  pager.behave(() => "busy");
  await ask(agent.send);
  await settle();
  pager.told();
  const other = await phone(person, "b");
  await person.send(`DELETE /v1/devices/${other.id}`);
  pager.behave(() => "ok");
  await advance(10);
  expect(pager.told()).toEqual(["112: Go on?"]);
});
