/** Where a draft can be approved: only in a notification that shows all of it (§14.3.9, §14.3.7). */

import { expect, test } from "bun:test";
import { newQuestion, type QuestionInput } from "../../src/model/question.ts";
import { render as renderApns } from "../../src/notify/apns/payloads.ts";
import { codeOf, readCode } from "../../src/notify/core/codes.ts";
import { composeEndedQuestion, composeQuestion } from "../../src/notify/core/compose.ts";
import { codesOf } from "../../src/notify/core/prepare.ts";
import { render as renderNtfy } from "../../src/notify/ntfy/payload.ts";
import { render as renderTelegram } from "../../src/notify/telegram/payload.ts";
import { fit, render as renderWebPush } from "../../src/notify/web-push/payload.ts";
import { createSigner } from "../../src/signer.ts";
import { startTestApp } from "../support/app.ts";
import { ask } from "../support/client.ts";
import { startNtfy, tap } from "../support/ntfy.ts";
import { startNtfyWorld } from "../support/ntfy-world.ts";
import { buttonOf, createRepliesPerson, labelsOf } from "../support/replies.ts";
import { startTelegramWorld } from "../support/telegram-world.ts";
import { until } from "../support/until.ts";

const now = 1_800_000_000;
const key = { label: "builder", last_host: null };
const channel_id = `chn_${"2".repeat(32)}`;
const id = `qst_${"1".repeat(32)}`;
const signer = createSigner("sig_secret");

const DRAFT = "Hello Ada,\n\nthe build is green.\n\nTom";
const PROMPT = "Send this?";

function renderAll(input: Partial<QuestionInput>, full = true) {
  const asked = { prompt: PROMPT, kind: "text" as const, draft: DRAFT, ...input };
  const question = newQuestion(asked, { id, key_id: "key_1", now });
  const alert = composeQuestion(question, key, { full });
  const codes = codesOf(alert, channel_id, (of) => codeOf(signer, of), question.options);
  const destination = (address: object, more: object = {}) => ({
    address: JSON.stringify(address),
    ...{ delivery_id: "x", base_url: "https://relay.example", ticket: "mcq_x", shown: null },
    ...{ badge: 1, handle: null, codes: null, ...more },
  });
  const ntfy = (address: object, more: object = {}) => {
    const to = { server: "https://ntfy.example", topic: "t", token: null, ...address };
    return renderNtfy(alert, destination(to, more))!.publish;
  };
  const subscription = { endpoint: "https://fcm.googleapis.com/x", keys: { p256dh: "", auth: "" } };
  const apns = renderApns(alert, destination({}))!.payload as any;
  const tickets = ntfy({ buttons: true });
  const replies = ntfy({ replies: "r" }, { codes });
  const web_push = renderWebPush(alert, destination(subscription))!;
  const { body, actions, data } = web_push.message.notification;
  const chat = { token: null, bot_id: 1, username: "b", chat: 5 };
  const { message } = renderTelegram(alert, destination(chat, { codes }))!;
  const [open] = message.reply_markup!.inline_keyboard.flat().slice(-1);
  expect(open).toMatchObject({ text: "Open" });
  return {
    bodies: [apns.aps.alert.body, tickets.message, replies.message, body],
    telegram: message.text,
    offers: {
      apns: [apns.aps.category, apns.relay.draft, apns.relay.options],
      ntfy: tickets.actions?.map((one) => [one.label, JSON.parse((one as any).body).answer]),
      replies: replies.actions?.map(({ label }) => label),
      web_push: actions.map(({ action, title }) => `${action} ${title}`),
      answers: data.answers,
      telegram: message
        .reply_markup!.inline_keyboard.flat()
        .slice(0, -1)
        .map(({ text }) => text),
    },
    codes,
    web_push,
    apns,
  };
}

const offersOf = (draft: string) => ({
  apns: ["QUESTION_DRAFT", draft, undefined],
  ntfy: [["Approve", draft]],
  replies: ["Approve"],
  web_push: ["answer-0 Approve"],
  answers: [draft],
  telegram: ["Approve"],
});
const NO_OFFERS = {
  apns: ["QUESTION_TEXT", undefined, undefined],
  ntfy: undefined,
  replies: undefined,
  web_push: [],
  answers: undefined,
  telegram: [],
};

test("a notification that shows the whole draft offers to approve it, in every channel [§14.3.9] [§14.3.7]", () => {
  const { bodies, telegram, offers, codes } = renderAll({ context: "Ada is the customer" });
  for (const body of bodies) expect(body).toBe(`${PROMPT}\nDraft:\n${DRAFT}`);
  expect(telegram).toBe(
    `Question from builder\n\n${PROMPT}\nDraft:\n${DRAFT}\n\nTo change it, reply with the whole text.`,
  );
  expect(offers).toEqual(offersOf(DRAFT));
  expect([...codes.keys()]).toEqual(["Approve"]);
  expect(readCode(signer, codes.get("Approve")!, channel_id)).toMatchObject({ choice: 251 });
  const { bodies: below } = renderAll({ fallback: "Don't send it" });
  for (const body of below)
    expect(body).toBe(`${PROMPT}\nIf you don't answer: Don't send it\nDraft:\n${DRAFT}`);
  // Text of any direction, and the longest that fits.
  for (const draft of ["مرحبا آدا،\nالبناء أخضر.", "語".repeat(400 - 18), "x\n".repeat(7)]) {
    expect(renderAll({ draft }).offers).toEqual(offersOf(draft));
  }
});

test("a longer draft can be approved only where messages are shown whole, and nowhere once it is cut [§14.3.9]", () => {
  for (const draft of [
    "x".repeat(400 - 17),
    "x\n".repeat(9),
    "a\u2028".repeat(9),
    "x".repeat(3_000),
  ]) {
    const { offers } = renderAll({ draft });
    expect(offers).toEqual({ ...NO_OFFERS, telegram: ["Approve"] });
  }
  // Glyphs that are wider than a letter push its end out of view.
  for (const [wide, most] of [
    ...[
      ["😀", 191],
      ["ஔ", 191],
      ["꧅", 47],
      ["⸻", 47],
      ["\ufdfd", 47],
      ["\u{1242b}", 47],
    ],
    ...[
      ["\ufdfa", 21],
      ["㍿", 95],
      ["語", 382],
    ],
  ] as [string, number][]) {
    const { offers } = renderAll({ draft: `${wide.repeat(most)}${wide}` });
    expect([wide, offers]).toEqual([wide, { ...NO_OFFERS, telegram: ["Approve"] }]);
    expect(renderAll({ draft: wide.repeat(most) }).offers).toEqual(offersOf(wide.repeat(most)));
  }
  // A long prompt pushes the draft out of view, too.
  expect(renderAll({ prompt: "p".repeat(390) }).offers).toEqual({
    ...NO_OFFERS,
    telegram: ["Approve"],
  });
  for (const draft of ["x".repeat(4_000), "😀".repeat(4_000)]) {
    const { offers, telegram, bodies } = renderAll({ draft, prompt: "p".repeat(90) });
    expect(offers).toEqual(NO_OFFERS);
    expect(telegram).toEndWith(
      "…\n\nTo approve it, open Relay. To answer with another text, reply to this message.",
    );
    expect(telegram.length).toBeLessThanOrEqual(4_096);
    for (const body of bodies) expect(body).toMatch(/(…|x)$/);
  }
});

test("a draft with characters that hide a text or reorder it can only be approved in the page [§14.3.9]", () => {
  const tags = (text: string) =>
    [...text].map((one) => String.fromCodePoint(0xe0000 + one.charCodeAt(0))).join("");
  for (const hidden of [
    ...["\u202egnp.exe", "\u2066a", "a\u200bb", "\ufeffa", "a\u{e0041}\u{e007f}"],
    // Words after a flag, in flags that no phone knows, and in selectors of emoji, keys and ideographs.
    ...[`🏴${tags("wire 9000")}`, `🏴${tags("wire90")}\u{e007f}`, "😀\ufe0f\ufe0e", "😀\u{e0110}"],
    ...["1\ufe0f", "葛\u{e0100}", "a\ufe0f", "\ufe0f"],
    // Joiners, selectors and marks of direction where no script needs them, or more than one.
    ...["a\u200db", "a\u200cb", "ب\u200c\u200dب", "क\u200d\u200c", "\u180b\u180e", "ᠠ\u180b\u180c"],
    ...[
      "a\u200e",
      "\u200e\u200f",
      "ב\u200f\u200f\u200f.",
      "a \u200fb",
      "😀\u200d😀\u200d😀\u200d😀\u200d😀",
    ],
    // Blank letters and symbols, soft hyphens, annotations and controls.
    ...[
      "\u3164",
      "\u115f",
      "\uffa0",
      "\u2800",
      "\ufffc",
      "\u{1d159}",
      "\u{13441}",
      "\u{13442}",
      "\u{16fe4}",
    ],
    ...[
      "a\u00adb",
      "\u034f",
      "\u17b4",
      "\ufff9x\ufffay\ufffb",
      "\u0001",
      "\u001b[8m",
      "a\rb",
      "\ue000",
    ],
    "a\u2003\u2009b",
    // Each of them beside a letter that may have one, but so many that they spell words.
    ...["ש\u200fל\u200eו\u061c".repeat(8), "ب\u200cب\u200d".repeat(12), "ᠠ\u180b".repeat(20)],
  ]) {
    const { offers, telegram } = renderAll({ draft: `Hello ${hidden}` });
    expect([hidden, offers]).toEqual([hidden, NO_OFFERS]);
    expect(telegram).toContain("To approve it, open Relay.");
  }
  for (const seen of [
    ...["🏴󠁧󠁢󠁥󠁮󠁧󠁿", "🏴󠁧󠁢󠁳󠁣󠁴󠁿", "👩‍👩‍👧", "❤️", "❤︎", "1️⃣ #️⃣", "👨🏽‍❤️‍💋‍👨🏿", "🏴‍☠️", "🏳️‍🌈", "👁‍🗨", "🇫🇷", "👍🏽"],
    ...["\u200fمرحبا", "می‌خواهم", "שלום\u200f (Relay)\r\nline 2", "Relay!\u200f שלום", "ه\u200d "],
    ...[
      "क्‍ष",
      "ශ්‍රී",
      "ᠠ᠋ᠪ",
      "۝١",
      "Bonjour\u202f!",
      "10\u2009000",
      "a\u00a0\u00a0b",
      "\u3000\u3000日本",
      "a\tb",
    ],
    ...[
      "می‌خواهم بنویسم ".repeat(8),
      `${"שלום (Relay)\u200f ".repeat(8)}שלום`,
      "👨‍👩‍👧‍👦 ".repeat(10),
    ],
  ]) {
    expect([seen, renderAll({ draft: seen }).offers]).toEqual([seen, offersOf(seen)]);
  }
});

test("where buttons and draft do not fit together, the draft stays and the button goes [§14.3.9]", () => {
  // Short enough for a phone, but each syllable in parts takes 9 bytes of JSON, twice with a button.
  const draft = `a${"한".normalize("NFD").repeat(370)}`;
  const { bodies, offers, web_push, apns } = renderAll({ draft });
  const whole = `${PROMPT}\nDraft:\n${draft}`;
  expect(bodies).toEqual([whole, whole, whole, whole]);
  expect(offers).toMatchObject({ web_push: [], telegram: ["Approve"] });
  expect(offers.answers).toBeUndefined();
  expect(offers.apns).toEqual(NO_OFFERS.apns);
  expect(Buffer.byteLength(JSON.stringify(web_push.message))).toBeLessThanOrEqual(3_993);
  expect(Buffer.byteLength(JSON.stringify(apns))).toBeLessThanOrEqual(4_096);
  // A push service that takes less gets the beginning of the draft, without a button.
  const short = renderAll({ draft: "語".repeat(370) }).web_push;
  expect(short.message.notification.actions).toHaveLength(1);
  const { notification } = fit(short.message, 1_500, short.uncut)!;
  expect([notification.actions, notification.data.answers]).toEqual([[], undefined]);
  expect(notification.body).toEndWith("語…");
  expect(Buffer.byteLength(notification.body)).toBeGreaterThan(600);
});

test("generic content shows no draft and offers nothing [§14.3.9]", () => {
  const rendered = renderAll({ draft: "SECRET" }, false);
  expect(rendered.offers).toEqual(NO_OFFERS);
  expect(JSON.stringify([rendered.bodies, rendered.telegram, rendered.web_push])).not.toContain(
    "SECRET",
  );
});

test("the end of a draft says that it was approved, or the text that was sent", () => {
  const asked = newQuestion(
    { prompt: PROMPT, kind: "text", draft: DRAFT },
    { id, key_id: "key_1", now },
  );
  const bodyOf = (answer: string) => {
    const ended = { ...asked, status: "answered" as const, answer, edited: answer !== DRAFT };
    return composeEndedQuestion(id, ended, key, { full: true, expires_at: now }).body;
  };
  expect(bodyOf(DRAFT)).toBe("Approved");
  expect(bodyOf("Hello")).toBe("Answered: Hello");
});

test("a tap on Approve in ntfy answers with the draft, by its ticket and by a reply [§14.3.9] [§19.5.5] [§19.8.3]", async () => {
  const world = await startNtfyWorld();
  const one = await world.begin({ buttons: true });
  const { id } = await ask(one.agent.send, { prompt: PROMPT, kind: "text", draft: DRAFT });
  await world.settled();
  const [sent] = world.ntfy.take();
  const [{ headers, body, url }] = sent!.actions as any[];
  const path = new URL(url).pathname;
  const pressed = await fetch(`${world.app.local_url}${path}`, { method: "POST", headers, body });
  expect(await pressed.json()).toMatchObject({ answer: DRAFT, edited: false });
  const read = await one.person.send(`GET /v1/questions/${id}`);
  expect(read.body).toMatchObject({ answer: DRAFT, edited: false });

  const app = await startTestApp();
  const ntfy = await startNtfy();
  const other = await createRepliesPerson(app.local_url, ntfy);
  const asked = await other.ask({ prompt: PROMPT, kind: "text", draft: DRAFT });
  expect(labelsOf(asked.sent)).toEqual(["Approve"]);
  expect(buttonOf(asked.sent, "Approve").message).toHaveLength(44);
  await tap(asked.sent, "Approve");
  expect(await other.ended(asked.id)).toMatchObject({ answer: DRAFT, edited: false });
  await until(() => ntfy.published.some(({ message }) => message === "Approved"));
  expect(ntfy.faults).toEqual([]);
});

test("in Telegram a tap approves, and a reply is the edited text [§14.3.9] [§19.9.5]", async () => {
  const world = await startTelegramWorld();
  const one = await world.connect();
  const { eventually } = world;
  const asked = async () => {
    const before = one.chat().length;
    const { id } = await ask(one.agent.send, { prompt: PROMPT, kind: "text", draft: DRAFT });
    await eventually(() => one.chat().length > before);
    return id;
  };
  const ended = async (id: string) => {
    const read = async () => (await one.agent.send(`GET /v1/questions/${id}`)).body;
    await eventually(async () => (await read()).status === "answered");
    return read();
  };
  const first = await asked();
  one.user.tap(world.shared, one.chat().at(-1)!, "Approve");
  expect(await ended(first)).toMatchObject({ answer: DRAFT, edited: false });
  await eventually(() => one.chat().at(-1)!.text.endsWith("\n\nApproved"));
  await eventually(() => world.telegram.toasts.length > 0);
  expect(world.telegram.toasts.splice(0)).toEqual(["Approved"]);
  const second = await asked();
  one.user.reply(world.shared, one.chat().at(-1)!, "Hello Ada, all is well");
  expect(await ended(second)).toMatchObject({ answer: "Hello Ada, all is well", edited: true });
  await eventually(() => one.chat().at(-1)!.text.endsWith("Answered: Hello Ada, all is well"));
  // Words that were copied from the draft are the draft.
  const third = await asked();
  one.user.reply(world.shared, one.chat().at(-1)!, `${DRAFT} `);
  expect(await ended(third)).toMatchObject({ answer: DRAFT, edited: false });
  expect(world.telegram.faults).toEqual([]);
});
