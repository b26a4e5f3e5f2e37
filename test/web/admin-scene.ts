/** A server with three hours of simulated traffic, for the admin page. */

import { systemClock } from "../../src/clock.ts";
import { ADMIN, adminClient } from "../support/admin.ts";
import { startTestApp, type TestApp } from "../support/app.ts";
import { startApple } from "../support/apple.ts";
import { ask, createAgent, createPerson, createTask, DEVICE } from "../support/client.ts";
import { createTestClock, type TestClock } from "../support/clock.ts";
import { type EventStream, openStream } from "../support/stream.ts";

const HOURS = 3;
/** The first person has no name yet. */
const NAMES = ["Mum", "Jonas", "Grandpa"];

/** Starts the server; the traffic is simulated on first use. */
export async function createAdminScene() {
  // Durations are real.
  const clock = { ...createTestClock(), elapsed: systemClock.elapsed };
  await clock.advance(-HOURS * 3_600);
  const apple = await startApple({ now: clock.now });
  const env = { ...ADMIN, ...apple.env("SANDBOX") };
  const app = await startTestApp({ clock, env, jitter: () => 1 });
  let simulated: Promise<void> | undefined;
  return {
    app,
    /** Resolves once the traffic is simulated; the clock then shows the real time, as the browser does. */
    simulated: (): Promise<void> => (simulated ??= simulate(app, clock, apple)),
  };
}

type Apple = Awaited<ReturnType<typeof startApple>>;

async function simulate(
  { url, jobs, sender }: TestApp,
  clock: TestClock,
  apple: Apple,
): Promise<void> {
  const people = [];
  for (let i = 0; i < 4; i++) people.push(await createPerson(url));
  const admin = adminClient(url);
  const agents = [];
  for (const [i, person] of people.entries()) {
    if (i > 0) await admin.setName.mutate({ account_id: person.account.id, name: NAMES[i - 1]! });
    for (let k = 0; k <= i % 3; k++) agents.push(await createAgent(url, person, `agent ${k}`));
    const device = { ...DEVICE, apns_token: `aa0${i}` };
    await person.send(`PUT /v1/devices/dev_${crypto.randomUUID()}`, device);
  }
  const streams: EventStream[] = [];
  const statuses = ["todo", "in_progress", "done", "done", "cancelled"];
  for (let minute = 0; minute < HOURS * 60; minute++) {
    const away = { status: 503, reason: "ServiceUnavailable" };
    const refused = { status: 400, reason: "PayloadEmpty" };
    const faulty = minute === 40 || minute === 161;
    apple.behave(() => (minute >= 95 && minute < 103 ? away : faulty ? refused : undefined));
    const agent = agents[minute % agents.length]!;
    const busy = Math.round(2 + 2 * Math.sin(minute / 14) + (minute % 3));
    for (let i = 0; i < busy; i++) {
      if (i % 5 === 0) await createTask(agent.send, { title: "t", status: statuses[minute % 5] });
      else if (i === 1) await agent.send("GET /v1/tasks/gone");
      else await agent.send("GET /v1/tasks?limit=5");
    }
    if (minute % 25 === 0) streams.push(await openStream(url, people[minute % 4]!.token));
    if (minute % 60 === 59) streams.shift()!.close();
    if (minute % 9 === 0) {
      const { id } = await ask(agent.send, { prompt: "p", kind: "text" });
      if (minute % 18 === 0) await agent.send(`DELETE /v1/questions/${id}`);
    }
    await sender.settled();
    await clock.skip(60);
    await jobs.settled();
  }
}
