/** `relay why`, and the sentences of the report that it prints. */

import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type ReportFacts, reportOf, type TargetFacts } from "../../src/model/question-report.ts";
import { ADMIN, ADMIN_TOKEN, adminClient } from "../support/admin.ts";
import { startTestApp } from "../support/app.ts";
import { createUser } from "../support/cli.ts";
import { ask, createPair } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { tempFolder } from "../support/temp.ts";

const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const NONE =
  "It has reached nobody yet: the account has no notification channel; no open page got it.";

test("relay why tells the way of a question in order of time, and ends with one sentence", async () => {
  const app = await startTestApp({ env: ADMIN });
  const { person, agent } = await createPair(app.url);
  const { id } = await ask(agent.send, { prompt: "secret" });
  const account_id = person.account.id;
  await adminClient(app.url).setBlocked.mutate({ account_id, blocked: true });
  const token_file = join(tempFolder(), "admin-token");
  writeFileSync(token_file, `${ADMIN_TOKEN}\n`);
  const env = { ADMIN_TOKEN_FILE: token_file, RELAY_URL: app.url };

  const child = Bun.spawn([process.execPath, MAIN, "why", id], {
    env: { ...env, PATH: process.env.PATH },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  expect([await child.exited, err]).toEqual([0, ""]);
  const lines = out.trimEnd().split("\n");
  expect(lines[0]).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ {2}The agent key_\w+ asked, until /);
  expect(lines[1]).toStartWith(`${"now".padEnd(20)}  The account has been blocked since `);
  expect(lines.slice(2)).toEqual(["", NONE]);
  expect(out).not.toContain("secret");

  const { run } = createUser({ clock: createTestClock() });
  const json = await run(["why", id, "--json", "--url", `${app.url}/mcp`], {
    env: { ADMIN_TOKEN },
  });
  expect(json.code).toBe(0);
  expect(JSON.parse(json.out)).toMatchObject({ question: { id }, targets: [], conclusion: NONE });

  const without = await startTestApp();
  const good = { ADMIN_TOKEN, RELAY_URL: app.url };
  for (const [given, said] of [
    [{ ...good, id: "qst_none" }, "there is no such question: check the id"],
    [{ ...good, id: "" }, "there is no such question"],
    [{ ...good, ADMIN_TOKEN: "x".repeat(40) }, "ADMIN_TOKEN is not that of"],
    [{ RELAY_URL: app.url }, "set ADMIN_TOKEN or ADMIN_TOKEN_FILE"],
    [{ ADMIN_TOKEN_FILE: "/nowhere" }, "ADMIN_TOKEN_FILE: there is no file /nowhere"],
    [{ ADMIN_TOKEN, RELAY_URL: without.url }, "has no ADMIN_TOKEN, or is older"],
    [{ ADMIN_TOKEN, PORT: "1" }, "http://127.0.0.1:1 does not answer"],
  ] as const) {
    const { id: other = id, ...own } = given as { id?: string };
    const { code, err: told, out: printed } = await run(["why", other], { env: own });
    expect([code, printed, told.slice(0, 7)]).toEqual([3, "", "relay: "]);
    expect(told).toContain(said);
    expect(told).not.toContain(ADMIN_TOKEN);
  }
});

const target = (changes: Partial<TargetFacts> = {}): TargetFacts => ({
  ...{ id: "chn_1", type: "ntfy", status: "queued", reason: null, queued_at: 1, sent_at: null },
  ...{ shown_at: null, opened_at: null, failed_attempts: [], next_attempt_at: 50, state: "ok" },
  ...{ is_tried: false, lane: "open", lane_reason: null, trouble: null, is_unconfirmed: false },
  ...changes,
});

type Changes = Partial<Omit<ReportFacts, "question">> & {
  readonly question?: Partial<ReportFacts["question"]>;
};

/** The report on a question asked at 1 that expires at 61, as of 45. */
const reported = ({ question, ...changes }: Changes) =>
  reportOf({
    question: {
      ...{ id: "qst_1", account_id: "acc_1", key_id: "key_1", task_id: null, status: "expired" },
      ...{ asks_permission: false, asked_at: 1, expires_at: 61, answered_at: null },
      cancelled_at: null,
      ...question,
    },
    ...{ targets: [], outcomes: [], channels: [], devices: 0, devices_are_on: true, at: 45 },
    ...{ page_is_open: false, blocked_at: null, account_is_gone: false, key_is_gone: false },
    ...{ rings_at: null, remind_at: null, item: null },
    answered: { channel: null, session_id: null, by_api: false },
    ...changes,
  });

const pending = { status: "pending" };
const failed = (reason: string, at = 2) => [{ at, reason }];
const T = (second: number) => `1970-01-01T00:00:${second}Z`;

test("what waits says what for", () => {
  const cases: readonly (readonly [Partial<TargetFacts>, string])[] = [
    [{}, `the next attempt is at ${T(50)}`],
    [{ next_attempt_at: 45 }, "it is due"],
    [{ next_attempt_at: null }, "it is due"],
    [{ is_tried: true }, "an attempt is under way"],
    [{ is_unconfirmed: true }, "it has not accepted a test"],
    [{ lane: "off" }, "that kind of channel is off on this server"],
    [
      { lane: "stopped", lane_reason: "BadToken" },
      "the service refuses this server until it is restarted (BadToken)",
    ],
    [
      { lane: "paused", lane_reason: "unreachable" },
      "that kind of channel is paused for a while (unreachable)",
    ],
    [
      { trouble: "status_429" },
      `the next attempt is at ${T(50)}, after the service asked Relay to send less, status_429`,
    ],
    [{ failed_attempts: failed("status_500"), next_attempt_at: 45 }, "it is due, after status_500"],
  ];
  for (const [changes, what_for] of cases) {
    const { now, conclusion } = reported({ question: pending, targets: [target(changes)] });
    expect(now).toEqual([`The ntfy channel chn_1 waits: ${what_for}.`]);
    expect(conclusion).toBe(
      `It has reached nobody yet: the ntfy channel chn_1 waits: ${what_for}; no open page got it.`,
    );
  }
});

test("what holds now leaves out what will not happen", () => {
  const hook = target({ id: "chn_2", type: "webhook" });
  const waiting = { question: pending, targets: [target(), hook], rings_at: 40 };
  const nowOf = (changes: Changes) => reported(changes).now;
  const next = `waits: the next attempt is at ${T(50)}.`;
  expect(nowOf(waiting)).toEqual([
    `The ntfy channel chn_1 ${next}`,
    `The webhook channel chn_2 ${next}`,
    `It rings again at ${T(40)} if nobody has answered.`,
  ]);
  // Notifications of a question that is over are given up.
  expect(nowOf({ ...waiting, question: {} })).toEqual([`The webhook channel chn_2 ${next}`]);
  expect(nowOf({ ...waiting, blocked_at: 15 })).toEqual([
    "The ntfy channel chn_1 waits: the account is blocked.",
    "The webhook channel chn_2 waits: the account is blocked.",
    `The account has been blocked since ${T(15)}: it gets nothing.`,
  ]);
  expect(nowOf({ ...waiting, account_is_gone: true })).toEqual(["The account was deleted."]);
  expect(nowOf({ ...waiting, key_is_gone: true })).toEqual(["The agent was deleted."]);
  expect(nowOf({ question: pending, rings_at: 40, remind_at: 40, page_is_open: true })).toEqual([
    `It rings again at ${T(40)}, as the person asked.`,
    "A page of the account is open.",
  ]);
});

test("the conclusion says how far a question got", () => {
  const by_phone = { channel: { id: "chn_1", type: "telegram" }, session_id: null, by_api: false };
  const answered = { status: "answered", answered_at: 31 };
  const device = target({ id: "dev_1", type: "apns", status: "sent", sent_at: 2 });
  const cases: readonly (readonly [Changes, string])[] = [
    [
      { question: answered, answered: by_phone, item: { received_at: null, read_at: 40 } },
      "It was answered after 30 s by the telegram channel chn_1, and the agent has read the answer.",
    ],
    [{ question: answered }, "It was answered after 30 s by the account."],
    [
      { targets: [target({ sent_at: 2, shown_at: 3 })], question: { status: "cancelled" } },
      "It was seen on the ntfy channel chn_1, and not answered before it was cancelled.",
    ],
    [
      { targets: [device] },
      "It was sent to the device dev_1, and not answered before it expired; nothing shows that it was seen.",
    ],
    [
      { question: pending, key_is_gone: true, targets: [device] },
      "It was sent to the device dev_1, and not answered before the agent was deleted; nothing shows that it was seen.",
    ],
  ];
  for (const [facts, said] of cases) expect(reported(facts).conclusion).toBe(said);
});

test("the conclusion says why a question reached nobody", () => {
  const channel = {
    ...{ id: "chn_1", type: "web_push", state: "ok", error_code: null, created_at: 0, is_on: true },
  };
  const over = (changes: Partial<TargetFacts>, rest: Changes = {}): Changes => ({
    ...{ targets: [target({ status: "failed", ...changes })], ...rest },
  });
  const cases: readonly (readonly [Changes, string])[] = [
    // Nothing was to be sent.
    [{ account_is_gone: true }, "the account was deleted"],
    [{ blocked_at: 0.5, channels: [channel] }, "the account was blocked"],
    [
      { channels: [{ ...channel, is_on: false }] },
      "the web_push channel chn_1 is of a kind that is off on this server",
    ],
    [
      { channels: [{ ...channel, is_on: false, state: "gone", error_code: "status_410" }] },
      "the web_push channel chn_1 is gone (status_410)",
    ],
    [{ channels: [{ ...channel, created_at: 2 }] }, "the web_push channel chn_1 was added later"],
    [
      { channels: [{ ...channel, type: "webhook", error_code: "queue_full" }] },
      "too many messages waited for the webhook channel chn_1",
    ],
    [{ channels: [channel] }, "the web_push channel chn_1 could not be used when it was asked"],
    [
      { devices: 1, devices_are_on: false },
      "this server cannot send to devices, since that is off",
    ],
    [{ devices: 1 }, "no device could be used when it was asked"],
    // What was to be sent was given up.
    [
      over({ reason: "target_removed", state: null }),
      "the ntfy channel chn_1 got nothing: it was removed",
    ],
    [
      over({ id: "dev_1", reason: "target_removed", state: null }),
      "the device dev_1 got nothing: it was removed, or its push token was no longer valid",
    ],
    [
      over({ reason: "target_removed" }, { key_is_gone: true }),
      "the ntfy channel chn_1 got nothing: the agent was deleted before",
    ],
    [
      over(
        { reason: "target_removed", state: "gone" },
        { channels: [{ ...channel, error_code: "blocked" }] },
      ),
      "the ntfy channel chn_1 got nothing: it is gone (the person blocked the bot)",
    ],
    [over({ reason: "expired" }), "the ntfy channel chn_1 got nothing: its time was over"],
    [
      over({ reason: "expired" }, { blocked_at: 5 }),
      "the ntfy channel chn_1 got nothing: its time was over; the account is blocked",
    ],
    [
      over({ reason: "question_ended", failed_attempts: failed("unreachable") }),
      "the ntfy channel chn_1 got nothing: the question had ended before, after unreachable",
    ],
    // The job that gives it up has not come to it yet.
    [over({ status: "queued" }), "the ntfy channel chn_1 got nothing: its time was over"],
    [
      over({ status: "queued", is_unconfirmed: true }),
      "the ntfy channel chn_1 got nothing: it had not accepted a test",
    ],
    [
      over({ status: "queued" }, { question: { status: "cancelled" } }),
      "the ntfy channel chn_1 got nothing: the question had ended before",
    ],
    [
      over({ status: "suppressed", reason: "quiet_hours" }),
      "the ntfy channel chn_1 got nothing: its quiet hours",
    ],
  ];
  for (const [facts, said] of cases) {
    const { conclusion } = reported(facts);
    expect(conclusion.replace(/; no open page got it\.$/, "")).toBe(`It reached nobody: ${said}`);
  }
  // What may have arrived is not denied.
  for (const changes of [
    { reason: "restored", status: "suppressed" },
    { reason: "unclear" },
    { reason: "expired", failed_attempts: failed("timed_out") },
  ]) {
    expect(reported(over(changes)).conclusion).toStartWith(
      "Nothing shows that it reached anybody: ",
    );
  }
});

test("the line of a target has each fact once, in order of time", () => {
  const lineOf = (changes: Partial<TargetFacts>, outcomes: ReportFacts["outcomes"] = []) =>
    reported({ targets: [target(changes)], outcomes }).history[1]!.text;
  const begins = "The ntfy channel chn_1: planned 1970-01-01T00:00:01Z";
  const outcome = { target_id: "chn_1", was_sent: true, reason: null, at: 50 };
  const sent = { status: "sent", sent_at: 20, reason: "quiet_hours" };
  const quietly = "without sound, in its quiet hours";
  const accepted = `${begins}; accepted ${T(20)} (${quietly})`;
  expect(lineOf(sent, [{ ...outcome, at: 20 }])).toBe(`${accepted}.`);
  expect(lineOf(sent, [outcome])).toBe(`${accepted}; rang again ${T(50)}.`);
  const quiet = { ...outcome, reason: "quiet_hours" };
  expect(lineOf(sent, [quiet])).toBe(`${accepted}; rang again ${T(50)} (${quietly}).`);
  expect(lineOf(sent, [{ ...quiet, was_sent: false }])).toBe(
    `${accepted}; did not ring again ${T(50)} (its quiet hours).`,
  );
  // The question had ended.
  expect(lineOf(sent, [{ ...outcome, was_sent: false }])).toBe(`${accepted}.`);
  const failed_attempts = [...failed("timed_out", 11), ...failed("status_403", 15)];
  expect(lineOf({ ...sent, reason: null, failed_attempts, shown_at: 30, opened_at: 31 })).toBe(
    `${begins}; failed ${T(11)} (timed_out); last failed ${T(15)} (status_403); accepted ${T(20)}; seen ${T(30)}; opened ${T(31)}.`,
  );
  expect(lineOf({ status: "failed", reason: "status_403", failed_attempts })).toBe(
    `${begins}; failed ${T(11)} (timed_out); last failed ${T(15)} (status_403); got nothing: status_403.`,
  );
  expect(lineOf({ status: "suppressed", reason: "not_wanted" })).toBe(
    "The ntfy channel chn_1: got nothing: its settings leave questions out.",
  );
  // What waits is told among what holds now.
  const waits = reported({ question: pending, targets: [target()] });
  expect(waits.history[1]!.text).toBe(`${begins}.`);
  // A target that came later was not planned for, and one that only showed it was sent nothing.
  const later = { ...{ id: "dev_2", status: "sent", queued_at: 30 }, sent_at: 30, shown_at: 30 };
  const { history } = reported({ targets: [target(later)] });
  expect(history.map(({ text }) => text)).toEqual([
    expect.stringContaining("Nothing was to be sent."),
    `The device dev_2: seen ${T(30)}.`,
    "It expired without an answer.",
  ]);
});
