/** `relay why`, and the sentences of the report that it prints. */

import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  type ReportedTarget,
  type ReportFacts,
  reportOf,
} from "../../src/model/question-report.ts";
import { ADMIN, ADMIN_TOKEN, adminClient } from "../support/admin.ts";
import { startTestApp } from "../support/app.ts";
import { createUser } from "../support/cli.ts";
import { ask, createPair } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { tempFolder } from "../support/temp.ts";

const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const NONE =
  "It has reached nobody yet: the account has no notification channel and no open page got it.";

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
  expect(lines[1]).toStartWith(
    `${"now".padEnd(20)}  The administrator has blocked the account since `,
  );
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

const target = (changes: Partial<ReportedTarget>): ReportedTarget => ({
  ...{ id: "chn_1", type: "ntfy", status: "queued", reason: null, queued_at: 1, sent_at: null },
  ...{ shown_at: null, opened_at: null, failed_attempts: [], next_attempt_at: null, state: "ok" },
  ...changes,
});

const waitsAs = (changes: Partial<Wait>): ReportFacts["waits"] =>
  new Map([
    ["chn_1", { is_tried: false, lane: "open", lane_reason: null, trouble: null, ...changes }],
  ]);

type Wait = ReportFacts["waits"] extends ReadonlyMap<string, infer W> ? W : never;
type Changes = Partial<Omit<ReportFacts, "question">> & {
  readonly question?: Partial<ReportFacts["question"]>;
};

const reported = ({ question, ...changes }: Changes) =>
  reportOf({
    question: {
      ...{ id: "qst_1", account_id: "acc_1", key_id: "key_1", task_id: null, status: "expired" },
      ...{ asks_permission: false, asked_at: 1, expires_at: 61, answered_at: null },
      cancelled_at: null,
      ...question,
    },
    ...{ targets: [], outcomes: [], channels: [], unconfirmed: new Set<string>(), devices: 0 },
    ...{ page_is_open: false, blocked_at: null, account_is_gone: false, key_is_gone: false },
    ...{ rings_at: null, remind_at: null, item: null, devices_are_on: true, at: 45 },
    waits: new Map(),
    answered: { channel: null, session_id: null, by_api: false },
    ...changes,
  });

test("the conclusion says why a question reached nobody, or how far it got", () => {
  const channel = {
    ...{ id: "chn_1", type: "web_push", state: "ok", error_code: null, created_at: 0, is_on: true },
  };
  const answered = { status: "answered", answered_at: 31 };
  const by_phone = { channel: { id: "chn_1", type: "telegram" }, session_id: null, by_api: false };
  const cases: readonly (readonly [Changes, string])[] = [
    [
      { blocked_at: 0.5, channels: [channel] },
      "nobody: the account was blocked and no open page got it.",
    ],
    [{ channels: [{ ...channel, is_on: false }] }, "cannot send to the web_push channel chn_1"],
    [
      { channels: [{ ...channel, is_on: false, state: "gone", error_code: "status_410" }] },
      "nobody: the web_push channel chn_1 is gone (status_410) and no open page got it.",
    ],
    [
      { targets: [target({ status: "failed", reason: "target_removed", state: null })] },
      "the ntfy channel chn_1 got nothing (the channel was removed)",
    ],
    [
      {
        targets: [target({ status: "suppressed", reason: "target_removed", state: "ok" })],
        key_is_gone: true,
      },
      "the ntfy channel chn_1 got nothing (the agent was deleted before)",
    ],
    [
      {
        targets: [target({ status: "suppressed", reason: "question_ended" })],
        question: { status: "cancelled" },
      },
      "got nothing (the question had ended before)",
    ],
    [
      {
        targets: [
          target({ status: "suppressed", reason: "restored" }),
          target({ id: "dev_1", type: "apns", status: "failed", reason: "unclear" }),
        ],
      },
      "Nothing shows that it reached anybody: the ntfy channel chn_1 may have got it before the server was restored from a backup, the device dev_1 may have got it and no open page got it.",
    ],
    [
      {
        targets: [
          target({
            ...{ status: "failed", reason: "question_ended" },
            failed_attempts: [{ at: 2, reason: "unreachable" }],
          }),
        ],
      },
      "It reached nobody: the ntfy channel chn_1 failed (unreachable) and no open page got it.",
    ],
    // Without an answer, the service may have taken it.
    [
      { targets: [target({ failed_attempts: [{ at: 2, reason: "timed_out" }] })] },
      "Nothing shows that it reached anybody: the ntfy channel chn_1 failed (timed_out) and no",
    ],
    [{ targets: [target({ status: "failed", reason: "expired" })] }, "chn_1 was not tried in time"],
    // The job that gives it up has not come to it yet.
    [{ targets: [target({})] }, "It reached nobody: the ntfy channel chn_1 was not tried in time"],
    [
      { devices: 1, devices_are_on: false },
      "this server cannot send to devices, since that is off",
    ],
    [
      { targets: [target({ status: "suppressed", reason: "target_removed", state: "gone" })] },
      "the ntfy channel chn_1 got nothing (the channel is gone: no reason is known)",
    ],
    [
      { targets: [target({ status: "failed", reason: "blocked" })] },
      "the ntfy channel chn_1 got nothing (the person blocked the bot)",
    ],
    [
      { question: { status: "pending" }, targets: [target({})], waits: waitsAs({ lane: "off" }) },
      "yet: the ntfy channel chn_1 waits, since that kind of channel is off on this server and no open page",
    ],
    [
      {
        ...{ question: { status: "pending" }, targets: [target({})] },
        waits: waitsAs({ trouble: "status_429" }),
      },
      "waits, since its last message failed (the service asked Relay to send less, status_429)",
    ],
    [
      { targets: [target({ id: "dev_1", type: "apns", status: "sent", sent_at: 2 })] },
      "It was sent to the device dev_1, and nobody answered before it expired",
    ],
    [
      { targets: [target({ sent_at: 2, shown_at: 3 })], question: { status: "cancelled" } },
      "saw it on the ntfy channel chn_1 and did not answer before it was cancelled.",
    ],
    [
      { question: answered, answered: by_phone, item: { received_at: null, read_at: 40 } },
      "It was answered after 30 s by the telegram channel chn_1, and the agent has read the answer.",
    ],
    [{ question: answered }, "It was answered after 30 s by the account."],
    [
      { targets: [target({ status: "sent", sent_at: 2, reason: "quiet_hours" })] },
      "It was sent without sound to the ntfy channel chn_1, and nobody answered",
    ],
    [
      { question: { status: "pending" }, blocked_at: 5, targets: [target({})] },
      "yet: the ntfy channel chn_1 waits, the account is blocked and no open page got it.",
    ],
    [
      { blocked_at: 5, targets: [target({ status: "failed", reason: "expired" })] },
      "nobody: the ntfy channel chn_1 was not tried in time, the account is blocked and no open page",
    ],
    [
      { channels: [{ ...channel, type: "webhook", error_code: "queue_full" }] },
      "nobody: too many messages waited for the webhook channel chn_1 and no open page got it.",
    ],
    [
      { question: { status: "pending" }, page_is_open: true, channels: [] },
      "the account has no notification channel and no open page got it.",
    ],
    [
      { question: { status: "pending" }, account_is_gone: true },
      "It reached nobody: the account was deleted and no open page got it.",
    ],
    [
      { question: { status: "pending" }, key_is_gone: true, targets: [target({ sent_at: 2 })] },
      "and nobody answered before the agent was deleted; nothing shows that it was seen.",
    ],
  ];
  for (const [facts, said] of cases) expect(reported(facts).conclusion).toContain(said);
});

test("what holds now says what holds a target up", () => {
  const nowOf = (wait: Parameters<typeof waitsAs>[0], next_attempt_at = 50) =>
    reported({
      ...{ question: { status: "pending" }, targets: [target({ next_attempt_at })] },
      waits: waitsAs(wait),
    }).now;
  const begins = "The ntfy channel chn_1 waits. ";
  expect(nowOf({})).toEqual([`${begins}The next attempt is at 1970-01-01T00:00:50Z.`]);
  expect(nowOf({}, 45)).toEqual([`${begins}It is due now.`]);
  expect(nowOf({ is_tried: true })).toEqual([
    `${begins}An attempt is under way. If its outcome is lost, the next one is after 1970-01-01T00:00:50Z.`,
  ]);
  expect(nowOf({ lane: "off" })).toEqual([
    `${begins}This server cannot send to it: that kind of channel is off.`,
  ]);
  expect(nowOf({ lane: "stopped", lane_reason: "BadToken" })).toEqual([
    `${begins}This server sends nothing by that kind of channel until it is restarted: the service refused it (BadToken).`,
  ]);
  expect(nowOf({ lane: "paused", lane_reason: "unreachable" })).toEqual([
    `${begins}This server has paused that kind of channel for a while (unreachable).`,
  ]);
});

test("what holds now leaves out what will not happen", () => {
  const waits = target({ next_attempt_at: 50 });
  const hook = target({ id: "chn_2", type: "webhook", next_attempt_at: 50 });
  const pending = { status: "pending" };
  const waiting = { question: pending, targets: [waits, hook], rings_at: 40 };
  const next = "waits. The next attempt is at 1970-01-01T00:00:50Z.";
  const nowOf = (changes: Changes) => reported(changes).now;
  expect(nowOf(waiting)).toEqual([
    `The ntfy channel chn_1 ${next}`,
    `The webhook channel chn_2 ${next}`,
    "It rings again at 1970-01-01T00:00:40Z if nobody has answered.",
  ]);
  // Notifications of a question that is over are given up.
  expect(nowOf({ ...waiting, question: {} })).toEqual([`The webhook channel chn_2 ${next}`]);
  expect(nowOf({ ...waiting, blocked_at: 5 })).toEqual([
    "The ntfy channel chn_1 waits.",
    "The webhook channel chn_2 waits.",
    "The administrator has blocked the account since 1970-01-01T00:00:05Z: it gets nothing.",
  ]);
  expect(nowOf({ ...waiting, account_is_gone: true })).toEqual(["The account was deleted."]);
  expect(nowOf({ ...waiting, key_is_gone: true })).toEqual(["The agent was deleted."]);
  const silent = { targets: [target({ status: "sent", sent_at: 2, reason: "quiet_hours" })] };
  expect(reported(silent).history[1]?.text).toBe(
    "The ntfy channel chn_1 accepted it, without sound in its quiet hours.",
  );
});

test("the history says what rang again, and how each delivery ended", () => {
  const sent = target({ status: "sent", sent_at: 2 });
  const rang = {
    targets: [sent],
    outcomes: [2, 50].map((at) => ({ target_id: "chn_1", was_sent: true, reason: null, at })),
  };
  expect(
    reported(rang)
      .history.map(({ at, text }) => [at, text])
      .slice(1),
  ).toEqual([
    [2, "The ntfy channel chn_1 accepted it."],
    [50, "It rang again on the ntfy channel chn_1."],
    [61, "It expired without an answer."],
  ]);
  const given_up = target({
    ...{ status: "failed", reason: "status_403" },
    failed_attempts: [{ at: 5, reason: "timed_out" }],
  });
  const outcome = { target_id: "chn_1", was_sent: false, reason: "status_403", at: 9 };
  const over = { targets: [given_up], outcomes: [outcome] };
  expect(
    reported(over)
      .history.map(({ at, text }) => [at, text])
      .slice(1, 3),
  ).toEqual([
    [5, "The ntfy channel chn_1 failed: timed_out."],
    [9, "The ntfy channel chn_1 was given up: status_403."],
  ]);
  // What rings again says so, whatever became of the first one.
  const again = (was_sent: boolean, reason: string | null) => {
    const report = reported({
      targets: [target({ status: "sent", sent_at: 2, reason: "quiet_hours" })],
      outcomes: [{ ...outcome, was_sent, reason }],
    });
    const { conclusion, history } = report;
    return [history.slice(2, -1).map(({ text }) => text), conclusion.includes("without sound")];
  };
  const name = "the ntfy channel chn_1";
  expect(again(true, "quiet_hours")).toEqual([
    [`It came again to ${name}, without sound in its quiet hours.`],
    true,
  ]);
  expect(again(true, null)).toEqual([[`It rang again on ${name}.`], false]);
  expect(again(false, "quiet_hours")).toEqual([
    [`It did not ring again on ${name}: its quiet hours.`],
    true,
  ]);
  expect(again(false, null)).toEqual([[], true]);
  // A target that came later was not planned for, and one that only showed it was sent nothing.
  const later = target({ id: "dev_2", type: "apns", status: "sent", queued_at: 30, sent_at: 30 });
  const unplanned = reported({ targets: [{ ...later, shown_at: 30 }] }).history;
  expect(unplanned.map(({ text }) => text)).toEqual([
    expect.stringContaining("Nothing was to be sent."),
    "The person saw it on the device dev_2.",
    "It expired without an answer.",
  ]);
  // What was never tried is told when it was planned, not at the end.
  const unwanted = target({ status: "suppressed", reason: "not_wanted" });
  expect(reported({ targets: [unwanted] }).history[1]?.at).toBe(1);
  const { now } = reported({
    question: { status: "pending" },
    rings_at: 40,
    remind_at: 40,
    page_is_open: true,
  });
  expect(now).toEqual([
    "It rings again at 1970-01-01T00:00:40Z, as the person asked.",
    "A page of the account is open.",
  ]);
});
