/** The log lines of channels that fail: at most one a minute for each, with ids, and without addresses. */

import { expect, test } from "bun:test";
import { createLog } from "../../src/log.ts";
import { createFailureLog } from "../../src/notify/core/failure-log.ts";
import { startTestApp } from "../support/app.ts";
import { ask, createAgent, createPerson } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { startReceiver } from "../support/receiver.ts";
import { until } from "../support/until.ts";

function createWorld() {
  const clock = createTestClock();
  const lines: Record<string, unknown>[] = [];
  const log = createLog("info", (line) => {
    const { time: _, ...fields } = JSON.parse(line);
    lines.push(fields);
  });
  const failures = createFailureLog({ clock, log });
  const fail = (target_id: string, subject: string, warn = false) =>
    failures.report(
      {
        ...{ channel: "ntfy", lane: "ntfy", account_id: "acc_1", host: "ntfy.sh" },
        ...{ target_id, subject, delivery_id: "d" },
      },
      {
        level: warn ? "warn" : "info",
        event: warn ? "refused" : "not delivered",
        reason: "status_500",
        attempts: 1,
      },
    );
  return { clock, log, lines, failures, fail, take: () => lines.splice(0) };
}

test("a channel has one line a minute: the first failure, then the newest with how many there were", async () => {
  const { clock, log, fail, take } = createWorld();
  fail("chn_1", "qst_1");
  const named = {
    ...{ level: "info", event: "not delivered", channel: "ntfy", lane: "ntfy" },
    ...{ account_id: "acc_1", host: "ntfy.sh", target_id: "chn_1", delivery_id: "d" },
    ...{ reason: "status_500", attempts: 1 },
  };
  expect(take()).toEqual([{ ...named, question_id: "qst_1", count: 1 }]);
  for (const subject of ["qst_2", "tsk_3", "qst_2", "qst_4"]) fail("chn_1", subject);
  fail("chn_2", "");
  expect(take()).toEqual([{ ...named, target_id: "chn_2", count: 1 }]);
  await clock.advance(59);
  expect(take()).toEqual([]);
  await clock.advance(1);
  const newest = { ...named, question_id: "qst_4", count: 4, also: "qst_2,tsk_3" };
  expect(take()).toEqual([newest]);
  // The line has begun another minute.
  fail("chn_1", "qst_5");
  await clock.advance(59);
  expect(take()).toEqual([]);
  // The first warning does not wait.
  fail("chn_1", "qst_6", true);
  expect(take()).toMatchObject([{ level: "warn", question_id: "qst_6", count: 2, also: "qst_5" }]);
  fail("chn_1", "qst_7", true);
  fail("chn_1", "qst_8");
  expect(take()).toEqual([]);
  // The process stops.
  log.flush();
  expect(take()).toMatchObject([{ question_id: "qst_8", count: 2, also: "qst_7" }]);
  log.flush();
  await clock.advance(60);
  expect(take()).toEqual([]);
  expect(clock.pending()).toBe(0);
});

test("beyond 1,000 channels in a minute the others share a line, and nothing is kept of quiet ones", async () => {
  const { clock, fail, take } = createWorld();
  for (let i = 0; i < 1_500; i++) fail(`chn_${i}`, `qst_${i}`);
  const lines = take();
  expect(lines.length).toBe(1_001);
  expect(lines.at(-1)).toMatchObject({ target_id: "chn_1000", channels: "many" });
  await clock.advance(60);
  const [rest, ...more] = take();
  expect([rest!.count, rest!.channels, String(rest!.also).split(",").length]).toEqual([
    499,
    "many",
    10,
  ]);
  expect(more).toEqual([]);
  await clock.advance(60);
  expect([take(), clock.pending()]).toEqual([[], 0]);
});

test("lines about a webhook have the ids of the question, account and channel, and the host alone", async () => {
  const clock = createTestClock();
  const receiver = startReceiver();
  const app = await startTestApp({ clock });
  const person = await createPerson(app.url);
  const agent = await createAgent(app.url, person);
  const path = "/secret-path?token=secret-token";
  const given = { type: "webhook", label: "CI", url: receiver.url(path) };
  const made = (await person.send("POST /v1/channels", given)).body;
  receiver.expect("/secret-path", made.secret);
  await app.webhooks.settled();
  receiver.behave(() => 500);
  const { id } = await ask(agent.send, { prompt: "secret-prompt" });
  await app.webhooks.settled();
  const found = app.lines.map((line) => JSON.parse(line)).filter((line) => line.question_id === id);
  expect(found).toMatchObject([
    {
      ...{ level: "info", event: "webhook not delivered", reason: "status_500", count: 1 },
      ...{ channel: "webhook", target_id: made.channel.id, account_id: person.account.id },
      host: new URL(receiver.url("/")).host,
    },
  ]);
  const { id: later } = await ask(agent.send, { prompt: "secret-prompt" });
  await app.webhooks.settled();
  receiver.behave(() => 200);
  const linesOf = (event: string) => app.lines.filter((line) => line.includes(event));
  await until(async () => {
    await clock.advance(1);
    await app.webhooks.settled();
    const delivered = linesOf("webhook delivered").join("");
    return [id, later].every((one) => delivered.includes(one));
  });
  // The second failure came within the minute of the first line, and the process stops before that is over.
  expect(linesOf("webhook not delivered").join("")).not.toContain(later);
  await app.stop(0);
  expect(linesOf("webhook not delivered").at(-1)).toContain(`"question_id":"${later}"`);
  expect(app.lines.join("")).not.toContain("secret-");
});
