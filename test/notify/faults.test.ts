/** Failing connections and streams lose nothing, and what is repeated is the same push. */

import { expect, test } from "bun:test";
import { TIME_LIMIT } from "../../src/notify/core/requests.ts";
import type { AppleOptions, Behaviour } from "../support/apple.ts";
import { ask, createTask } from "../support/client.ts";
import { createPushWorld } from "../support/push-world.ts";
import { until } from "../support/until.ts";

const PHONES = 20;

/** A person with twenty phones, after the pushes of the setup were sent. */
async function crowd(apple_options: AppleOptions = {}) {
  const world = await createPushWorld({ apple: apple_options });
  const { person, agent } = await world.people();
  const phones = [];
  for (let i = 0; i < PHONES; i++) phones.push(await world.phone(person, `p${i}`));
  await world.settle();
  await world.skip(61);
  world.apple.forget();
  return { world, apple: world.apple, person, agent, phones };
}

type Crowd = Awaited<ReturnType<typeof crowd>>;

/**
 * Waits out the back-off. Time moves on only while requests hang and nothing waits to be claimed or
 * settled, so that a slow machine or store makes nothing expire.
 */
async function pass({ world }: Pick<Crowd, "world">) {
  const { app, apple, clock } = world;
  let hanging = 0;
  /** For how many seconds this many requests have been hanging. */
  let seconds = 0;
  const onlyHangs = async () => {
    const [lane] = app.sender.health();
    // The stand-in learns a moment later that the sender has given up a request.
    if (apple.silentStreams() === 0 || lane!.in_flight !== apple.silentStreams()) return false;
    // Requests that hang for longer than the time limit have been given up.
    if (apple.silentStreams() === hanging && seconds > TIME_LIMIT) return false;
    const due = lane!.state === "open" ? `due_at <= ${clock.now() * 1000}` : "false";
    const busy = await world.rows(`select 1 from deliveries where lease is not null or ${due}`);
    return busy.length <= apple.silentStreams();
  };
  for (let i = 0; i < 24; i++) {
    let settled = false;
    void world.settle().then(() => {
      settled = true;
    });
    await until(() => settled || onlyHangs());
    seconds = apple.silentStreams() === hanging ? seconds + 1 : 1;
    hanging = apple.silentStreams();
    await clock.advance(1);
  }
  await world.settle();
}

/** Asks three questions and returns how many alerts were delivered twice. */
async function askThree(made: Crowd) {
  const { world, apple, agent } = made;
  for (const prompt of ["one", "two", "three"]) await ask(agent.send, { prompt });
  await pass(made);
  const alerts = apple.delivered.filter(({ type }) => type === "alert");
  const times = new Map<string, number>();
  const ids = new Map<string, Set<string>>();
  for (const { token, collapse_id, apns_id } of alerts) {
    const name = `${token} ${collapse_id}`;
    times.set(name, (times.get(name) ?? 0) + 1);
    ids.set(name, (ids.get(name) ?? new Set()).add(apns_id));
  }
  // None is lost, and a repetition has the same apns-id and collapse id.
  expect(times.size).toBe(3 * PHONES);
  expect(Math.max(...[...ids.values()].map((set) => set.size))).toBe(1);
  expect(await world.rows("select * from deliveries where kind = 'question'")).toEqual([]);
  expect(world.app.sender.health()[0]).toMatchObject({ state: "open", in_flight: 0 });
  return { doubles: alerts.length - times.size };
}

/** The fault befalls the twentieth, thirtieth and fortieth request. */
const sometimes = (behaviour: Behaviour) => {
  let count = 0;
  return () => ([20, 30, 40].includes(++count) ? behaviour : undefined);
};

const STREAMS: [string, NonNullable<Behaviour>, { doubles: boolean }][] = [
  ["a stream that hangs before acceptance", { hang: true }, { doubles: false }],
  ["a stream that hangs after acceptance", { hang: true, accept: true }, { doubles: true }],
  ["a stream reset before acceptance", { reset: true }, { doubles: false }],
  ["a stream reset after acceptance", { reset: true, accept: true }, { doubles: true }],
  ["a socket dropped before acceptance", { drop: true }, { doubles: false }],
  ["a socket dropped after acceptance", { drop: true, accept: true }, { doubles: true }],
  ["GOAWAY, graceful", { goaway: "graceful" }, { doubles: false }],
  ["GOAWAY, partial", { goaway: "partial" }, { doubles: false }],
  ["GOAWAY with an error", { goaway: "error" }, { doubles: false }],
];

for (const [name, behaviour, { doubles }] of STREAMS) {
  test(`after ${name}, every alert arrives and no live activity is started twice`, async () => {
    const made = await crowd({ delay: 5 });
    const { world, apple, agent } = made;
    apple.behave(sometimes(behaviour));
    const result = await askThree(made);
    if (doubles) expect(result.doubles).toBeGreaterThan(0);

    const starts = () => apple.delivered.filter(({ payload }) => payload.aps.event === "start");
    let count = 0;
    apple.behave(({ payload }) =>
      payload.aps.event === "start" && [5, 10, 15].includes(++count) ? behaviour : undefined,
    );
    await createTask(agent.send, { title: "t", status: "in_progress", notify: false });
    await pass({ world });
    const told = starts().map(({ token }) => token);
    expect(new Set(told).size).toBe(told.length);
    expect(await world.rows("select * from deliveries where kind = 'start'")).toEqual([]);
    // A delivery that is not known to have arrived is recorded as such.
    const records = (await world.app.services.deliveryFigures.read(100)).records.filter(
      ({ kind }) => kind === "start",
    );
    const recipients = new Set(records.map(({ recipient_id }) => recipient_id));
    // Shows the records in case a start has two.
    expect(records.length === recipients.size ? [] : records).toEqual([]);
    const outcomes = records.map(({ outcome }) => outcome);
    expect(outcomes.length).toBe(PHONES);
    const sent = outcomes.filter((outcome) => outcome === "sent").length;
    expect(sent + outcomes.filter((outcome) => outcome === "unclear").length).toBe(PHONES);
    expect(sent).toBeLessThanOrEqual(told.length);
  });
}

test("slow answers lose and repeat no push", async () => {
  const made = await crowd({ delay: 200 });
  expect(await askThree(made)).toEqual({ doubles: 0 });
});

test("a connection that never answers is replaced by another", async () => {
  const made = await crowd();
  await ask(made.agent.send, { prompt: "zero" });
  await made.world.settle();
  made.apple.forget();
  const before = made.apple.sessions();
  expect(before).toBe(1);
  made.apple.swallow();
  await askThree(made);
  expect(made.apple.sessions()).toBeGreaterThan(before);
});

test("a restart of the service pauses the lane, which says why and then continues", async () => {
  const made = await crowd();
  await made.apple.stop();
  await ask(made.agent.send, { prompt: "zero" });
  await made.world.settle();
  expect(made.world.app.sender.health()[0]).toMatchObject({
    state: "paused",
    reason: "ECONNREFUSED",
  });
  await made.apple.start();
  await made.world.advance(3);
  made.apple.forget();
  await askThree(made);
});

test("an untrusted certificate prevents sending and loses nothing", async () => {
  const world = await createPushWorld({ apple: { untrusted: true } });
  const { agent } = await world.people("a");
  await ask(agent.send, { prompt: "one" });
  await world.advance(30);
  expect(world.apple.received).toEqual([]);
  const [lane] = world.app.sender.health();
  expect(lane!.state).toBe("paused");
  expect(lane!.reason).toMatch(/UNABLE_TO_VERIFY|CERT/);
  expect(await world.rows("select kind from deliveries where kind = 'question'")).toEqual([
    ["question"],
  ]);
});

for (const max_streams of [1, 10, 1_000]) {
  test(`a service that allows ${max_streams} streams gets every push once`, async () => {
    const made = await crowd({ max_streams, delay: 5 });
    expect(await askThree(made)).toEqual({ doubles: 0 });
  });
}
