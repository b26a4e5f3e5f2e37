/** The contract of a channel (src/notify/core/channel.ts), tested on every registered channel. */

import { describe, expect, test } from "bun:test";
import { readConfig } from "../../src/config.ts";
import { NOTIFICATION_KINDS } from "../../src/model/notification.ts";
import { newQuestion } from "../../src/model/question.ts";
import { newTask } from "../../src/model/task.ts";
import { NOTIFICATION_LIMITS } from "../../src/notification-limits.ts";
import type { Channel, Network, Verdict } from "../../src/notify/core/channel.ts";
import {
  composeActivity,
  composeEndedQuestion,
  composeEndedTask,
  composeQuestion,
  composeSilent,
  composeTask,
  composeTest,
} from "../../src/notify/core/compose.ts";
import type { Notification } from "../../src/notify/core/notification.ts";
import { TIME_LIMIT } from "../../src/notify/core/requests.ts";
import { CHANNELS } from "../../src/notify/registry.ts";
import { createSigner } from "../../src/signer.ts";
import { startTestApp } from "../support/app.ts";
import { FIXTURES, type Treatment } from "../support/channels.ts";
import { ask, createPair } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { createNetwork } from "../support/outbound.ts";
import { until } from "../support/until.ts";

/** Bytes of a request as JSON: the payload and its metadata. */
const REQUEST_BYTES = 2 * NOTIFICATION_LIMITS.payload_bytes;
/** The longest wait that a verdict may ask for: as long as a service may ask for. */
const WAIT = 1_000_000;

/** Notifications of every kind, from short to the longest possible, full and generic. */
function notifications(): Notification[] {
  const now = 1_800_000_000.25;
  const ids = { id: `qst_${"0".repeat(32)}`, key_id: `key_${"0".repeat(32)}`, now };
  const all: Notification[] = [];
  for (const letter of ["x", "語", "👩‍👩‍👧", '"', "\u0001"]) {
    for (const length of [1, 80, 2_000]) {
      const text = (most: number) => [...letter.repeat(length)].slice(0, most).join("");
      const key = { label: text(80), last_host: "h".repeat(Math.min(length, 253)) };
      const task = {
        ...newTask({ ...ids, title: text(200), source: "agent", host: null }),
        status_note: text(200),
        priority: "urgent" as const,
      };
      for (const full of [true, false]) {
        const about = { task, key, expires_at: now + 60 };
        all.push(
          composeTask({ ...about, changes: ["created"] }, { full }),
          composeTask({ ...about, changes: ["status_note"] }, { full }),
          composeQuestion(newQuestion({ prompt: text(2_000) }, ids), key, { full }),
        );
        const options = ["a", "b", "c", "d"].map((end) => text(79) + end);
        const choice = newQuestion({ prompt: text(2_000), kind: "choice", options }, ids);
        all.push(composeQuestion(choice, key, { full }));
        const answered = { ...choice, status: "answered" as const, answer: options[0]! };
        all.push(composeEndedQuestion(choice.id, answered, key, { full, expires_at: now + 60 }));
        for (const kind of ["start", "update", "end"] as const) {
          const news = { kind, task_id: task.id, key_id: ids.key_id, key, now };
          const rest = { pending_questions: 20, changes: [], timestamp: 1_800_000_000 };
          all.push(composeActivity({ ...news, ...rest, task }, { full }));
          all.push(composeActivity({ ...news, ...rest, task: null, key: null }, { full }));
        }
      }
    }
  }
  const clear = Array.from({ length: NOTIFICATION_LIMITS.clear_ids }, () => ids.id);
  for (const ids_cleared of [[], clear]) {
    const change = { key_id: null, clear: ids_cleared, expires_at: now + 60, now };
    all.push(composeSilent(change));
  }
  all.push({ kind: "widget", key_id: null, expires_at: now });
  all.push(
    composeEndedTask(ids.id, null, { expires_at: now + 60 }),
    composeEndedQuestion(ids.id, null, null, { full: true, expires_at: now + 60 }),
  );
  all.push(composeTest(`chn_${"0".repeat(32)}`, { asked_at: now, expires_at: now + 60 }));
  return all;
}

/** Requests to this machine, as in a test app. */
const network = (): Network => createNetwork({ private_networks: ["127.0.0.0/8"] });

function freeze<Value>(value: Value): Value {
  if (typeof value === "object" && value !== null) Object.values(Object.freeze(value)).map(freeze);
  return value;
}

function checkVerdict(verdict: Verdict) {
  expect(verdict.reason).toMatch(/^[\w .-]{1,60}$/);
  const waits =
    "delay" in verdict
      ? [verdict.delay.least, verdict.delay.spread]
      : "least" in verdict
        ? [verdict.least]
        : [];
  for (const seconds of waits) {
    expect(seconds).toBeGreaterThanOrEqual(0);
    expect(seconds).toBeLessThanOrEqual(WAIT);
  }
}

/** A whole service with the channel's stand-in behind it, and one person with one address. */
async function begin(channel: Channel) {
  const fixture = await FIXTURES[channel.name]!();
  const clock = createTestClock();
  fixture.setNow(clock.now);
  const app = await startTestApp({ clock, env: fixture.env, jitter: () => 1 });
  const { person, agent } = await createPair(app.url);
  await fixture.register(person, clock);
  /** Waits until nothing is being sent. */
  const settled = async () => {
    let is_settled = false;
    const sent = app.sender.settled().then(() => {
      is_settled = true;
    });
    if (fixture.is_paced) {
      await until(async () => {
        await clock.advance(0.5);
        return is_settled;
      });
    }
    await sent;
  };
  await settled();
  const records = async () => (await app.services.deliveryFigures.read(100)).records;
  return {
    ...fixture,
    register: () => fixture.register(person, clock),
    person,
    agent,
    async advance(seconds: number) {
      for (let i = 0; i < seconds; i++) {
        await settled();
        await clock.advance(1);
      }
      await settled();
    },
    settled,
    /** Outcome and attempts of the questions, newest first. */
    outcomes: async () =>
      (await records())
        .filter(({ kind }) => kind === "question")
        .map(({ outcome, attempts }) => [outcome, attempts]),
  };
}

for (const channel of CHANNELS) {
  const fixture = FIXTURES[channel.name];

  describe(`channel ${channel.name}`, () => {
    /** An address in the form of the channel. */
    const destinationOf = async () => ({
      address: (await fixture?.())?.address ?? "",
      delivery_id: crypto.randomUUID(),
      base_url: "https://relay.example",
      ticket: `mcq_${"x".repeat(200)}`,
      shown: false,
      badge: 20,
      handle: null,
      codes: null,
    });
    const shows = (kind: Notification["kind"]) => {
      if (kind === "ended") return channel.replaces !== undefined;
      return kind === "test" ? channel.register !== undefined : channel.supports(kind);
    };

    test("render is pure and bounded, and returns nothing for an unsupported kind", async () => {
      const destination = freeze(await destinationOf());
      const most = (await fixture?.())?.request_bytes ?? REQUEST_BYTES;
      const kinds = new Set<string>();
      for (const notification of notifications()) {
        const request = channel.render(freeze(notification), destination);
        expect(channel.render(notification, destination)).toEqual(request);
        kinds.add(notification.kind);
        if (!shows(notification.kind)) expect(request).toBeNull();
        const bytes = Buffer.byteLength(JSON.stringify(request));
        expect(bytes).toBeLessThanOrEqual(most);
      }
      expect([...kinds].sort()).toEqual([...NOTIFICATION_KINDS, "ended", "test"].sort());
    });

    test("classify gives a bounded verdict on each answer and never retries for ever", async () => {
      const answers = (await fixture?.())?.answers ?? [];
      for (const answer of answers) {
        freeze(answer);
        for (const kind of NOTIFICATION_KINDS.filter(channel.supports)) {
          for (const attempts of [1, 2, 50, 10_000]) {
            const attempt = freeze({ kind, attempts, resent: false });
            const verdict = channel.classify(answer, attempt);
            expect(channel.classify(answer, attempt)).toEqual(verdict);
            checkVerdict(verdict);
            const again = channel.classify(answer, { ...attempt, resent: true });
            checkVerdict(again);
            expect(again.do).not.toBe("resend");
            // A start that may have arrived must not arrive twice.
            if (kind === "start" && verdict.do === "again") expect(verdict.unclear).toBe(false);
          }
        }
      }
    });

    test("send never throws, whatever the service does, and each answer has a verdict", async () => {
      const clock = createTestClock();
      const service = await fixture?.();
      service?.setNow(clock.now);
      const connections = await channel.connect(readConfig(service?.env ?? {}), clock, network());
      // A channel that needs a service needs a stand-in for it.
      expect(connections.length).toBeGreaterThan(0);
      const question = notifications().find(({ kind }) => kind === "question")!;
      for (const connection of connections) {
        expect(channel.lanes).toContain(connection.lane);
        const secretOf = async (_name: string, fresh: string) => fresh;
        await connection.prepare?.({ secretOf, signer: createSigner("signing") });
        const send = async (treatment?: Treatment) => {
          // A host that failed is left alone for a while.
          await clock.advance(120);
          const address = service?.address ?? "";
          const delivery_id = crypto.randomUUID();
          const about = { ticket: null, shown: null, badge: null, handle: null, codes: null };
          const destination = { address, delivery_id, base_url: null, ...about };
          const before = service?.received() ?? 0;
          const request = channel.render(question, destination);
          const sent = connection.send(request, { owner: "acc", is_test: false });
          if (treatment === "silent") {
            await until(() => service!.received() > before);
            await clock.advance(TIME_LIMIT);
          }
          const attempt = { kind: "question" as const, attempts: 1, resent: false };
          const verdict = channel.classify(await sent, attempt);
          checkVerdict(verdict);
          return verdict.do;
        };
        if (!service) {
          await send();
          continue;
        }
        const done: Record<string, string> = {};
        for (const how of ["ok", "gone", "busy", "refused", "silent", "lost", "junk"] as const) {
          service.treat(how);
          done[how] = await send(how);
        }
        await service.stop();
        done.stopped = await send();
        expect(done).toMatchObject({
          ok: "finish",
          gone: "forget_target",
          busy: "hold_target",
          refused: "drop",
          silent: "again",
          lost: "again",
        });
        expect(done.junk).not.toBe("finish");
        expect(["again", "pause_lane"]).toContain(done.stopped!);
      }
      for (const { abort } of connections) abort();
    });

    if (!fixture) return;

    test("a channel without configuration connects to nothing, unless it needs none", async () => {
      const { env, works_without_env = false } = await fixture();
      const needs = Object.keys(env).length > 0 && !works_without_env;
      const connections = await channel.connect(readConfig({}), createTestClock(), network());
      expect(connections.length === 0).toBe(needs);
    });

    test("a delivery refused for now is sent again until accepted, and not after", async () => {
      for (const how of ["busy", "broken", "lost"] as const) {
        const world = await begin(channel);
        world.treat(how);
        const before = world.accepted();
        await ask(world.agent.send, { prompt: "Go?", expires_in: 86_400 });
        await world.settled();
        expect(await world.outcomes()).toEqual([]);
        world.treat("ok");
        await world.advance(100);
        expect((await world.outcomes()).map(([outcome]) => outcome)).toEqual(["sent"]);
        expect(world.accepted() - before).toBe(1);
      }
    });

    test("a delivery refused for good is dropped at once, and its target stays", async () => {
      const world = await begin(channel);
      world.treat("refused");
      const before = world.received();
      await ask(world.agent.send);
      await world.advance(60);
      expect(await world.outcomes()).toEqual([["refused", 1]]);
      expect(world.received() - before).toBe(1);
      world.treat("ok");
      await ask(world.agent.send);
      await world.settled();
      expect(await world.outcomes()).toEqual([
        ["sent", 1],
        ["refused", 1],
      ]);
    });

    test("a target that the service no longer knows is forgotten until registered again", async () => {
      const world = await begin(channel);
      world.treat("gone");
      await ask(world.agent.send);
      await world.settled();
      expect(await world.outcomes()).toEqual([["invalid_token", 1]]);
      world.treat("ok");
      const before = world.received();
      await ask(world.agent.send);
      await world.advance(5);
      expect(world.received()).toBe(before);
      await world.register();
      await ask(world.agent.send);
      await world.settled();
      expect(world.received()).toBe(before + 1);
    });

    test("a delivery that never succeeds is given up when it expires", async () => {
      const world = await begin(channel);
      world.treat("broken");
      await ask(world.agent.send, { prompt: "Go?", expires_in: 60 });
      await world.advance(150);
      const [[outcome] = []] = await world.outcomes();
      // Where the delivery may have arrived, its end is queued and tried in its place.
      const { replaces = "never" } = channel;
      const ways = {
        never: ["expired"],
        if_known: ["pointless"],
        always: [undefined, "expired", "pointless"],
      };
      const expected: readonly unknown[] = ways[replaces];
      expect(expected).toContain(outcome);
    });
  });
}
