/** What a browser gets by Web Push, before encryption (§19.6.3). */

import { expect, test } from "bun:test";
import { createECDH } from "node:crypto";
import fc from "fast-check";
import type { PushMessage } from "../../src/model/push-message.ts";
import { newQuestion, type QuestionInput } from "../../src/model/question.ts";
import { newTask } from "../../src/model/task.ts";
import type { Destination } from "../../src/notify/core/channel.ts";
import {
  composeEndedQuestion,
  composeEndedTask,
  composeQuestion,
  composeTask,
  composeTest,
} from "../../src/notify/core/compose.ts";
import type { Notification } from "../../src/notify/core/notification.ts";
import { IN_FLIGHT, SHORT_BYTES } from "../../src/notify/web-push/client.ts";
import { fit, PLAINTEXT_BYTES, render } from "../../src/notify/web-push/payload.ts";
import { endpointFault, keysFault, toAddress } from "../../src/notify/web-push/subscription.ts";
import { sendMany } from "../support/push-load.ts";
import { decrypt, startPushService } from "../support/push-service.ts";
import { SEED } from "../support/random.ts";

const now = 1_800_000_000;
const key = { label: "builder", last_host: "mac.local" };
const ids = { id: "qst_1", key_id: "key_1", now };
const questionOf = (input: Partial<QuestionInput> = {}) =>
  newQuestion({ prompt: "Ship it?", ...input }, ids);
const DESTINATION: Destination = {
  address: JSON.stringify({ endpoint: "https://push.example/1", p256dh: "BA", auth: "AA" }),
  delivery_id: "x",
  base_url: "https://relay.example/base",
  ticket: "mcq_ticket",
  shown: true,
  badge: 3,
  handle: null,
  codes: null,
};
const rendered = (notification: Notification, destination: Partial<Destination> = {}) =>
  render(notification, { ...DESTINATION, ...destination })!;
const asked = (input: Partial<QuestionInput> = {}, full = true) =>
  rendered(composeQuestion(questionOf(input), key, { full }));
const bytes = (message: PushMessage) => Buffer.byteLength(JSON.stringify(message));

test("a Web Push question says who asks, opens itself and has a button for each option", () => {
  const { message, urgency, keep_until, subject } = asked();
  const navigate = "https://relay.example/base/#/questions/qst_1";
  expect(message).toEqual({
    web_push: 8030,
    app_badge: 3,
    notification: {
      title: "Question from builder",
      body: "Ship it?",
      navigate,
      tag: "qst_1",
      lang: "en",
      dir: "auto",
      silent: false,
      requireInteraction: true,
      mutable: true,
      app_badge: 3,
      actions: [
        { action: "answer-0", title: "Yes", navigate },
        { action: "answer-1", title: "No", navigate },
      ],
      data: {
        v: 1,
        event: "question",
        question_id: "qst_1",
        ticket: "mcq_ticket",
        expires_at: now + 3_600,
        answers: ["Yes", "No"],
      },
    },
  });
  expect({ urgency, keep_until, subject }).toEqual({
    urgency: "high",
    keep_until: now + 3_600,
    subject: "qst_1",
  });
});

test("Web Push buttons are for all options or none, and for none with generic content [§14.3.11]", () => {
  const buttons = (input: Partial<QuestionInput>, full = true) => {
    const { actions, data, body } = asked(input, full).message.notification;
    const quoted = (data.answers ?? []).map((one) => (input.kind === "choice" ? `“${one}”` : one));
    expect(actions.map(({ title }) => title)).toEqual(quoted);
    expect(data.ticket).toBe("mcq_ticket");
    return [data.answers ?? [], body];
  };
  const two = ["main", "next"];
  expect(buttons({ kind: "choice", options: two })).toEqual([two, "Ship it?"]);
  const three = [...two, "none"];
  expect(buttons({ kind: "choice", options: three })).toEqual([
    [],
    "Ship it?\n– main\n– next\n– none",
  ]);
  expect(buttons({ kind: "text" })).toEqual([[], "Ship it?"]);
  expect(buttons({}, false)).toEqual([[], "A question is waiting"]);
  expect(buttons({ kind: "choice", options: two }, false)).toEqual([[], "A question is waiting"]);
});

test("an end replaces its alert silently, and does not wait for browsers that saw no alert", () => {
  const answered = { ...questionOf(), status: "answered" as const, answer: "Yes" };
  const end = composeEndedQuestion("qst_1", answered, key, { full: true, expires_at: now + 60 });
  const { message, urgency, keep_until } = rendered(end);
  expect(message.notification).toMatchObject({
    body: "Answered: Yes",
    tag: "qst_1",
    silent: true,
    requireInteraction: false,
    actions: [],
    data: { v: 1, event: "ended", question_id: "qst_1" },
  });
  expect("ticket" in message.notification.data).toBe(false);
  expect({ urgency, keep_until }).toEqual({ urgency: "normal", keep_until: now + 60 });
  expect(rendered(end, { shown: false }).keep_until).toBeNull();
  const task = composeEndedTask("tsk_1", key, { expires_at: now + 60 });
  const ended_task = rendered(task, { shown: null });
  expect(ended_task.keep_until).toBe(now + 60);
  expect(ended_task.message.notification.data).toEqual({ v: 1, event: "ended", task_id: "tsk_1" });
  expect(ended_task.message.notification.navigate).toEndWith("/#/tasks/tsk_1");
});

test("a Web Push message about a task opens the task, and is silent when passive", () => {
  const task = { ...newTask({ ...ids, id: "tsk_1", title: "Ship", source: "agent", host: null }) };
  const of = (changes: string[]) =>
    rendered(composeTask({ task, key, changes, expires_at: now + 60 }, { full: true }), {
      ticket: null,
    });
  const made = of(["created"]);
  expect(made.message.notification).toMatchObject({
    title: "Ship",
    body: "New task\nbuilder · mac.local",
    navigate: "https://relay.example/base/#/tasks/tsk_1",
    tag: "tsk_1",
    silent: false,
    requireInteraction: false,
    data: { v: 1, event: "task", task_id: "tsk_1" },
  });
  expect(made.urgency).toBe("normal");
  const changed = of(["progress"]);
  expect([changed.message.notification.silent, changed.urgency]).toEqual([true, "low"]);
});

test("without a known address of the page, links in Web Push messages are relative", () => {
  const test_ = composeTest("chn_1", { asked_at: now, expires_at: now + 60 });
  const nowhere = { base_url: null, badge: null, ticket: null };
  const { message } = rendered(test_, nowhere);
  expect(message.notification).toMatchObject({
    navigate: "/",
    tag: "chn_1",
    data: { event: "test" },
  });
  expect("app_badge" in message || "app_badge" in message.notification).toBe(false);
  const question = rendered(composeQuestion(questionOf(), key, { full: true }), nowhere);
  expect(question.message.notification.navigate).toBe("/#/questions/qst_1");
  expect("ticket" in question.message.notification.data).toBe(false);
});

test("a kind that is not shown to the person is not rendered for Web Push", () => {
  const silent = { kind: "silent", key_id: null, clear: ["qst_1"], expires_at: now } as const;
  expect(render(silent, DESTINATION)).toBeNull();
  expect(render({ kind: "widget", key_id: null, expires_at: now }, DESTINATION)).toBeNull();
});

test("a Web Push message has at most 3,993 bytes and cuts no character in half", () => {
  const texts = fc
    .string({ unit: "binary", minLength: 1, maxLength: 80 })
    .filter((one) => /\S/.test(one));
  const prompts = fc
    .tuple(texts, fc.integer({ min: 1, max: 60 }))
    .map(([text, times]) => [...text.repeat(times)].slice(0, 2_000).join(""));
  fc.assert(
    fc.property(
      prompts,
      texts,
      fc.array(texts, { minLength: 2, maxLength: 4 }),
      (prompt, label, options) => {
        const question = questionOf({ prompt, kind: "choice", options });
        const notification = composeQuestion(question, { label, last_host: null }, { full: true });
        const { message } = rendered(notification, { ticket: `mcq_${"x".repeat(170)}` });
        expect(bytes(message)).toBeLessThanOrEqual(PLAINTEXT_BYTES);
        const { body } = message.notification;
        expect(body.isWellFormed()).toBe(true);
        const whole = [prompt, ...options.map((option) => `– ${option}`)].join("\n");
        expect(whole.startsWith(body.replace(/…$/, ""))).toBe(true);
        const short = fit(message, SHORT_BYTES);
        if (short) expect(bytes(short)).toBeLessThanOrEqual(SHORT_BYTES);
      },
    ),
    { numRuns: 300, seed: SEED },
  );
  const long = asked({ prompt: "x".repeat(2_000) }).message.notification.body;
  expect(long).toBe("x".repeat(2_000));
  const cut = asked({ prompt: "語".repeat(2_000) }).message;
  expect(bytes(cut)).toBeGreaterThan(PLAINTEXT_BYTES - 4);
});

test("options that leave no room for anything else have no Web Push buttons", () => {
  const options = [`${"\u0001".repeat(79)}a`, `${"\u0001".repeat(79)}b`];
  const { message } = rendered(
    composeQuestion(questionOf({ kind: "choice", options }), key, { full: true }),
    { base_url: `https://relay.example/${"x".repeat(900)}` },
  );
  expect(message.notification.actions).toEqual([]);
  expect(message.notification.data.answers).toBeUndefined();
  expect(message.notification.body).toContain("Ship it?\n– ");
});

test("Web Push endpoints must belong to browsers' push services or to hosts that the operator names", () => {
  const taken = (endpoint: string, hosts: string[] = []) => endpointFault(endpoint, hosts) === null;
  for (const endpoint of [
    "https://fcm.googleapis.com/fcm/send/abc:def",
    "https://jmt17.google.com/fcm/send/abc",
    "https://updates.push.services.mozilla.com/wpush/v2/abc",
    "https://web.push.apple.com/abc",
    "https://wns2-by3p.notify.windows.com/w/?token=abc",
  ]) {
    expect([endpoint, taken(endpoint)]).toEqual([endpoint, true]);
  }
  for (const endpoint of [
    "http://fcm.googleapis.com/fcm/send/abc",
    "https://fcm.googleapis.com:8443/fcm/send/abc",
    "https://fcm.googleapis.com.evil.example/abc",
    "https://evilgoogle.com/abc",
    "https://google.com/abc",
    "https://.google.com/abc",
    "https://%2egoogle.com/abc",
    "https://a..google.com/abc",
    "https://fcm.googleapis.com./abc",
    "https://a,b.google.com/abc",
    "https://evil.fcm.googleapis.com/abc",
    "https://user:pass@fcm.googleapis.com/abc",
    "https://fcm.googleapis.com/abc#fragment",
    "https://169.254.169.254/latest",
    "https://push.example/abc",
    "fcm.googleapis.com/abc",
    `https://fcm.googleapis.com/${"x".repeat(1_000)}`,
    "file:///etc/passwd",
    "",
  ]) {
    expect([endpoint, taken(endpoint)]).toEqual([endpoint, false]);
  }
  expect(taken("https://push.example/abc", ["push.example"])).toBe(true);
  expect(taken("http://127.0.0.1:9/abc", ["127.0.0.1:9"])).toBe(true);
  expect(taken("http://127.0.0.1:10/abc", ["127.0.0.1:9"])).toBe(false);
  expect(taken("ftp://push.example/abc", ["push.example"])).toBe(false);
});

test("Web Push keys must be a P-256 point in 65 bytes and a secret of 16 bytes", () => {
  const point =
    "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8";
  const auth = "BTBZMqHH6r4Tts7J_aSIgg";
  const fault = (keys: { p256dh: string; auth: string }) => keysFault(keys) === null;
  expect(fault({ p256dh: point, auth })).toBe(true);
  const endpoint = "https://push.example/1";
  const padded = { p256dh: `${point.replaceAll("_", "/")}=`, auth: `${auth.replace("_", "/")}==` };
  const address = toAddress({ endpoint, keys: padded });
  expect(JSON.parse(address)).toEqual({ endpoint, p256dh: point, auth });
  expect(
    fault({ p256dh: `${point.replaceAll("_", "/")}=`, auth: `${auth.replace("_", "/")}==` }),
  ).toBe(true);
  const moved = Buffer.from(point, "base64url");
  moved[64]! ^= 1;
  for (const p256dh of [
    "",
    point.slice(0, -2),
    `${point}AA`,
    moved.toString("base64url"),
    `A${point.slice(1)}`,
  ]) {
    expect([p256dh, fault({ p256dh, auth })]).toEqual([p256dh, false]);
  }
  for (const bad of ["", auth.slice(0, -2), `${auth}AA`, "!".repeat(22)]) {
    expect([bad, fault({ p256dh: point, auth: bad })]).toEqual([bad, false]);
  }
});

test("thousands of Web Push messages share a few connections and all can be decrypted", async () => {
  const service = await startPushService();
  const messages = 2_000;
  expect(await sendMany(service, messages)).toEqual({ finish: messages });
  expect(service.faults).toEqual([]);
  const told = new Set(service.delivered.map(({ message }) => message.notification.body));
  expect([told.size, new Set(service.delivered.map(({ topic }) => topic)).size]).toEqual([
    messages,
    messages,
  ]);
  // All are for the same service and share one VAPID token.
  expect(new Set(service.delivered.map(({ authorization }) => authorization)).size).toBe(1);
  expect(service.connections()).toBeLessThanOrEqual(IN_FLIGHT + 10);
});

test("the stand-in of the push service decrypts the example of RFC 8291", () => {
  const keys = createECDH("prime256v1");
  keys.setPrivateKey(Buffer.from("q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94", "base64url"));
  const auth = Buffer.from("BTBZMqHH6r4Tts7J_aSIgg", "base64url");
  const body = Buffer.from(
    "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN",
    "base64url",
  );
  const text = "When I grow up, I want to be a watermelon";
  expect(decrypt(body, { keys, auth }).toString()).toBe(text);
  body[body.length - 20]! ^= 1;
  expect(() => decrypt(body, { keys, auth })).toThrow();
});
