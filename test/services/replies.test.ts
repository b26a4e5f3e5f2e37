/** How much of what comes by a channel looks at the store (§19.8.8). */

import { expect, test } from "bun:test";
import { CHOICES, codeOf, subjectOfTest } from "../../src/notify/core/codes.ts";
import { createReplies } from "../../src/services/replies.ts";
import { createSigner } from "../../src/signer.ts";
import { createTestClock } from "../support/clock.ts";

const CHANNEL = `chn_${"1".repeat(32)}`;
const signer = createSigner("sig_test");
const idOf = (i: number) => `qst_${i.toString(16).padStart(32, "0")}`;
const codeFor = (i: number) => codeOf(signer, { subject: idOf(i), channel_id: CHANNEL, choice: 0 });
const testCode = codeOf(signer, {
  ...{ subject: subjectOfTest(1_795_257_360.2), channel_id: CHANNEL, choice: CHOICES.test },
});

function begin() {
  const clock = createTestClock();
  const looks = { codes: 0, tests: 0, texts: 0 };
  const look = async (of: keyof typeof looks, found: unknown) => {
    looks[of]++;
    return found;
  };
  const replies = createReplies({
    ...{ clock, signer, settings: { push_content: "full" } },
    store: { read: () => look("texts", []) },
    tickets: { callerOf: () => look("codes", null) },
    testAnswers: { answer: () => look("tests", null) },
  } as any);
  const press = (code: string, account_id = "acc_1") =>
    replies.handle({ kind: "code", channel_id: CHANNEL, code }, account_id);
  const write = () =>
    replies.handle({ kind: "reply", channel_id: CHANNEL, handle: "m1", text: "Yes" }, "acc_1");
  return { clock, looks, press, write };
}

test("codes that were not handled before are limited for each account, and repeated ones look at nothing [§19.8.8]", async () => {
  const { clock, looks, press } = begin();
  for (let round = 0; round < 2; round++) {
    for (let i = 0; i < 500; i++) await press(codeFor(i));
  }
  expect(looks.codes).toBe(100);
  await press(codeFor(1_000), "acc_2");
  expect(looks.codes).toBe(101);
  await clock.advance(2);
  for (let i = 2_000; i < 2_100; i++) await press(codeFor(i));
  expect(looks.codes).toBe(111);
});

test("who repeats the code of a test takes nothing from the person's own words [§19.8.8]", async () => {
  const { looks, press, write } = begin();
  for (let i = 0; i < 100; i++) await press(testCode);
  await write();
  expect(looks).toMatchObject({ tests: 30, texts: 1 });
});

test("more than the limit again and again leaves the limit, not nothing [§19.8.8]", async () => {
  const { clock, looks, write } = begin();
  for (let i = 0; i < 30; i++) await write();
  for (let i = 0; i < 40; i++) {
    await clock.advance(0.25);
    await write();
  }
  expect(looks.texts).toBe(40);
});
