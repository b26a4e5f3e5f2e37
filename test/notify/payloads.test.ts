/** What a push says, and that it stays within 4,096 bytes (§14.3). */

import { expect, test } from "bun:test";
import { newQuestion, type Question } from "../../src/model/question.ts";
import { newTask, type Task } from "../../src/model/task.ts";
import { NOTIFICATION_LIMITS } from "../../src/notification-limits.ts";
import { type ApnsRequest, render } from "../../src/notify/apns/payloads.ts";
import {
  composeActivity,
  composeQuestion,
  composeSilent,
  composeTask,
} from "../../src/notify/core/compose.ts";
import type { EndedAlert, Notification, Test } from "../../src/notify/core/notification.ts";
import { ask, createTask } from "../support/client.ts";
import { createPushWorld } from "../support/push-world.ts";

const FULL = { full: true };
const GENERIC = { full: false };
const now = 1_800_000_000.25;
const key = { label: "builder", last_host: "host.example" };

const taskOf = (fields: Partial<Task> = {}): Task => ({
  ...newTask({
    id: "tsk_1",
    key_id: "key_1",
    title: "Ship",
    source: "agent",
    host: "mac.local",
    now,
  }),
  ...fields,
});
const questionOf = (fields: Partial<Question> = {}): Question => ({
  ...newQuestion({ prompt: "Go?" }, { id: "qst_1", key_id: "key_1", now }),
  ...fields,
});
const rendered = (notification: Exclude<Notification, EndedAlert | Test>) =>
  render(notification, {
    address: "ab01",
    delivery_id: "x",
    base_url: null,
    ticket: null,
    shown: null,
    badge: null,
    handle: null,
    codes: null,
  })!;
const renderQuestion = (...of: Parameters<typeof composeQuestion>) =>
  rendered(composeQuestion(...of));
const renderTask = (...of: Parameters<typeof composeTask>) => rendered(composeTask(...of));
const renderSilent = (...of: Parameters<typeof composeSilent>) => rendered(composeSilent(...of));
const renderActivity = (...of: Parameters<typeof composeActivity>) =>
  rendered(composeActivity(...of));
const bytesOf = ({ payload }: ApnsRequest) => Buffer.byteLength(JSON.stringify(payload));
const alertOf = ({ payload }: ApnsRequest) =>
  payload.aps.alert as { title: string; subtitle: string; body: string };

test("a push has a title, a subtitle with the agent and host, and a body [§14.3.2]", () => {
  const visible = (task: Task, changes: string[]) =>
    alertOf(renderTask({ task, key, changes, expires_at: now }, FULL));
  expect(visible(taskOf(), ["created"])).toEqual({
    title: "Ship",
    subtitle: "builder · mac.local",
    body: "New task",
  });
  expect(visible(taskOf({ host: null }), ["created"]).subtitle).toBe("builder · host.example");
  const noted = taskOf({ status: "in_progress", status_note: "compiling", progress: 40 });
  expect(visible(noted, ["status"]).body).toBe("Started");
  expect(visible(noted, ["status", "status_note"]).body).toBe("compiling");
  expect(visible(noted, ["progress"]).body).toBe("40%");
  expect(visible(noted, ["description"]).body).toBe("compiling");
  const asked = alertOf(renderQuestion(questionOf(), { label: "builder", last_host: null }, FULL));
  expect(asked).toEqual({ title: "Question from builder", subtitle: "builder", body: "Go?" });
});

test("the relevance of a push follows its priority", () => {
  const scores = (["low", "medium", "high", "urgent"] as const).map((priority) => {
    const task = taskOf({ priority });
    const { payload } = renderTask({ task, key, changes: ["created"], expires_at: now }, FULL);
    return payload.aps["relevance-score"];
  });
  expect(scores).toEqual(scores.toSorted());
  expect(new Set(scores).size).toBe(4);
});

test("text is cut between characters to fit 4,096 bytes, and data stays whole [§14.3.5]", () => {
  // Characters of one to many bytes, some of several code points, some that JSON escapes.
  const alphabets = ["x", "é", "語", "😀", "👩‍👩‍👧", '"', "\\", "\u0001", "e\u0301", "🇩🇪"];
  for (const letter of alphabets) {
    for (let length = 1; length <= 2_000; length += 37) {
      const prompt = [...letter.repeat(length)].slice(0, 2_000).join("");
      const question = questionOf({ prompt, kind: "choice", options: ["語".repeat(80), "b"] });
      const request = renderQuestion(question, key, FULL);
      expect(bytesOf(request)).toBeLessThanOrEqual(NOTIFICATION_LIMITS.payload_bytes);
      const { body } = alertOf(request);
      if (body !== prompt) {
        // The beginning, in whole characters, as much as there is room for.
        const kept = body.slice(0, -1);
        expect(body.at(-1)).toBe("…");
        expect(prompt.startsWith(kept)).toBe(true);
        expect(kept.length % letter.length).toBe(0);
        const room = NOTIFICATION_LIMITS.payload_bytes - bytesOf(request);
        expect(room).toBeLessThan(Buffer.byteLength(JSON.stringify(letter)) - 2);
      }
      expect(request.payload.relay.options).toEqual(question.options);
    }
  }
});

test("a text that just fits stays whole, and a text one byte longer is cut", () => {
  const size = (prompt: string) => bytesOf(renderQuestion(questionOf({ prompt }), key, FULL));
  const room = NOTIFICATION_LIMITS.payload_bytes - size("");
  const fits = "語".repeat(Math.floor(room / 3)) + "x".repeat(room % 3);
  expect(size(fits)).toBe(4_096);
  expect(alertOf(renderQuestion(questionOf({ prompt: fits }), key, FULL)).body).toBe(fits);
  const over = renderQuestion(questionOf({ prompt: `${fits}x` }), key, FULL);
  expect(bytesOf(over)).toBeLessThanOrEqual(4_096);
  expect(alertOf(over).body.endsWith("語…")).toBe(true);
});

test("the longest texts of every kind of push fit", () => {
  const long = "👩‍👩‍👧".repeat(300);
  const cut = (length: number) => [...long].slice(0, length).join("");
  const task = taskOf({
    title: cut(200),
    status_note: cut(200),
    status: "in_progress",
    host: "h".repeat(253),
  });
  const loud = { label: cut(80), last_host: "h".repeat(253) };
  const options = Array.from({ length: 4 }, () => cut(80));
  const question = questionOf({ prompt: cut(2_000), kind: "choice", options });
  const activity = (kind: "start" | "update" | "end") =>
    renderActivity(
      {
        kind,
        task,
        task_id: "tsk_1",
        key_id: "key_1",
        key: loud,
        pending_questions: 20,
        changes: [],
        timestamp: 1,
        now,
      },
      FULL,
    );
  const clear = Array.from(
    { length: NOTIFICATION_LIMITS.clear_ids },
    () => `tsk_${"0".repeat(32)}`,
  );
  for (const request of [
    renderTask({ task, key: loud, changes: ["status_note"], expires_at: now }, FULL),
    renderQuestion(question, loud, FULL),
    activity("start"),
    activity("update"),
    activity("end"),
    renderSilent({ key_id: `key_${"0".repeat(32)}`, clear, expires_at: now, now }),
  ]) {
    expect(bytesOf(request)).toBeLessThanOrEqual(4_096);
  }
  expect(activity("start").payload.aps["content-state"]).toMatchObject({ pending_questions: 20 });
});

test("the prompt is followed by the fallback and the first lines of the context, within their limits [§14.3.7]", () => {
  const bodyOf = (fields: Partial<Question>) =>
    composeQuestion(questionOf(fields), key, FULL).body.split("\n").slice(1);
  expect(bodyOf({})).toEqual([]);
  expect(bodyOf({ fallback: "No" })).toEqual(["If you don't answer: No"]);
  const context = "\n# Plan\n\n```diff\n-a\n+b\n```\nmore";
  expect(bodyOf({ fallback: "No", context })).toEqual([
    "If you don't answer: No",
    "# Plan",
    "-a",
    "+b",
    "…",
  ]);
  expect(bodyOf({ context: "# Plan\n\n-a\n+b\n" })).toEqual(["# Plan", "-a", "+b"]);
  expect(bodyOf({ context: "```\n```\n \u200b" })).toEqual([]);
  for (const letter of ["x", "語", "👩‍👩‍👧", "\\"]) {
    const [otherwise, lines] = bodyOf({
      fallback: letter.repeat(400),
      context: letter.repeat(1_000),
    });
    expect(otherwise!.endsWith("…") && lines!.endsWith("…")).toBe(true);
    const size = (text: string) => Buffer.byteLength(JSON.stringify(text));
    expect(size(otherwise!.slice("If you don't answer: ".length))).toBeLessThanOrEqual(
      NOTIFICATION_LIMITS.fallback_bytes,
    );
    expect(size(lines!)).toBeLessThanOrEqual(NOTIFICATION_LIMITS.context_bytes);
  }
  // A long prompt is cut like any other, and the buttons stay as before.
  const long = questionOf({
    prompt: "語".repeat(2_000),
    fallback: "No",
    context,
    allow_other: true,
  });
  const request = renderQuestion(long, key, FULL);
  expect(bytesOf(request)).toBeLessThanOrEqual(NOTIFICATION_LIMITS.payload_bytes);
  expect(request.payload.aps.category).toBe("QUESTION_CONFIRM");
  expect(request.payload.relay.options).toEqual(["Yes", "No"]);
});

test("a generic push has no title, prompt or note; the app fetches them [§14.3.6]", () => {
  const secret = "SECRET";
  const task = taskOf({ title: secret, status_note: secret, status: "in_progress", progress: 40 });
  const question = questionOf({
    ...{ prompt: secret, kind: "choice", options: [secret, "b"] },
    ...{ context: secret, fallback: secret, url: `https://${secret}/` },
  });
  const ids = { task_id: "tsk_1", key_id: "key_1" };
  const requests = [
    renderTask({ task, key, changes: ["created", "status_note"], expires_at: now }, GENERIC),
    renderQuestion(question, key, GENERIC),
    ...(["start", "update", "end"] as const).map((kind) =>
      renderActivity(
        { kind, task, ...ids, key, pending_questions: 1, changes: [], timestamp: 1, now },
        GENERIC,
      ),
    ),
  ];
  for (const { payload } of requests) expect(JSON.stringify(payload)).not.toContain(secret);
  expect(alertOf(requests[1]!).body).toBe("A question is waiting");
  expect(requests[1]!.payload.relay).toMatchObject({ question_id: "qst_1", kind: "choice" });
});

test("Apple accepts multi-byte text at exactly 4,096 bytes, and a generic push stays generic on the wire", async () => {
  const world = await createPushWorld();
  const { agent } = await world.people("a");
  await world.settle();
  world.apple.forget();
  await ask(agent.send, { prompt: "語".repeat(2_000) });
  await ask(agent.send, { prompt: `x${"語".repeat(1_999)}` });
  await ask(agent.send, { prompt: `xx${"語".repeat(1_998)}` });
  await ask(agent.send, {
    prompt: "Merge?",
    fallback: "No",
    context: `# Plan\n${"x".repeat(19_000)}`,
  });
  const taken = await world.take();
  expect(JSON.stringify(taken)).toContain(
    String.raw`"Merge?\nIf you don't answer: No\n# Plan\nxxx`,
  );
  const sizes = taken.map(({ bytes }) => bytes);
  expect(sizes).toContain(4_096);
  expect(Math.max(...sizes)).toBe(4_096);
  expect(world.apple.faults).toEqual([]);

  const quiet = await createPushWorld({ env: { PUSH_CONTENT: "generic" } });
  const other = await quiet.people("a");
  await createTask(other.agent.send, { title: "SECRET", status: "in_progress" });
  await ask(other.agent.send, { prompt: "SECRET", context: "SECRET", fallback: "No" });
  const got = await quiet.take();
  expect(got.length).toBeGreaterThan(3);
  expect(JSON.stringify(got)).not.toContain("SECRET");
});
