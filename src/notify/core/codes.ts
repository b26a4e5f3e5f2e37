/**
 * Codes: what a button says to Relay by way of a service that others read and write (§19.8.3). A code is for one
 * subject, one choice and one channel, and only Relay can make it.
 */

import { timingSafeEqual } from "node:crypto";
import type { Signer } from "../../signer.ts";

/** The choice of a code. Numbers below these are the option of a question, by its place from 0. */
export const CHOICES = {
  /** The draft of a question, as it is. */
  approve: 251,
  /** Remind the person of the question later. */
  remind_soon: 252,
  remind_later: 253,
  /** A test of the channel was seen. Its subject is that test ({@link subjectOfTest}). */
  test: 254,
} as const;

/** The reminders that a question can offer (§5.7.10). */
export const REMINDERS = [
  { choice: CHOICES.remind_soon, minutes: 10, label: "Remind me in 10 minutes" },
  { choice: CHOICES.remind_later, minutes: 60, label: "In 1 hour" },
] as const;

export interface CodeSubject {
  /** Id of the question, or {@link subjectOfTest}. */
  readonly subject: string;
  readonly channel_id: string;
  /** 0 to 255; see {@link CHOICES}. */
  readonly choice: number;
}

const PURPOSE = "code";
/** Bytes of an id, and of the mark. */
const PART = 16;
/** 16 bytes of the subject, one of the choice, and 16 of the mark. */
const CODE = /^[\w-]{44}$/;
/** Prefixes by whether the code is for a test. */
const ID = /^(?:qst|tst)_([0-9a-f]{32})$/;

/**
 * The subject of a test that was asked for at `at` (epoch seconds). It says when, so that nothing has to be stored: an
 * older code than the last that was used does nothing.
 */
export const subjectOfTest = (at: number): string =>
  `tst_${Math.round(at * 1_000)
    .toString(16)
    .padStart(PART * 2, "0")}`;

/** When the test of {@link subjectOfTest} was asked for, epoch seconds. */
export const timeOfTest = (subject: string): number =>
  Number.parseInt(subject.slice(4), 16) / 1_000;

/** The code. Every process makes the same one. 44 characters of base64url. */
export function codeOf(signer: Signer, { subject, channel_id, choice }: CodeSubject): string {
  const head = Buffer.concat([bytesOf(subject), Buffer.from([choice])]);
  const mark = Buffer.from(
    signer.sign(PURPOSE, `${head.toString("hex")}.${channel_id}`),
    "base64url",
  );
  return Buffer.concat([head, mark.subarray(0, PART)]).toString("base64url");
}

/** The subject of a code that came by this channel; null if it was not made for it. */
export function readCode(signer: Signer, code: string, channel_id: string): CodeSubject | null {
  if (!CODE.test(code)) return null;
  const bytes = Buffer.from(code, "base64url");
  const choice = bytes[PART]!;
  const prefix = choice === CHOICES.test ? "tst" : "qst";
  const said = { subject: `${prefix}_${bytes.toString("hex", 0, PART)}`, channel_id, choice };
  // The whole text, so that no other spelling of the same bytes passes.
  return timingSafeEqual(Buffer.from(codeOf(signer, said)), Buffer.from(code)) ? said : null;
}

const bytesOf = (id: string): Buffer => Buffer.from(ID.exec(id)?.[1] ?? "", "hex");
