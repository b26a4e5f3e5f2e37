/** Answers that come by way of a channel that listens (§19.8): who may give them, and what becomes of them. */

import { subjectOfMessage } from "../../db/notify/replies.ts";
import type { Tickets } from "../auth/tickets.ts";
import type { Clock } from "../clock.ts";
import { failFields, ServiceError } from "../errors.ts";
import type { AccountCaller } from "../model/caller.ts";
import type { Question } from "../model/question.ts";
import { REPLY_LIMITS } from "../notification-limits.ts";
import { CHOICES, REMINDERS, readCode } from "../notify/core/codes.ts";
import { describeAnswer } from "../notify/core/compose.ts";
import type { ReplyEvent, ReplyOutcome } from "../notify/replies/source.ts";
import type { Nudges } from "./nudges.ts";
import type { Questions } from "./questions.ts";
import type { ServiceDeps } from "./shared/deps.ts";
import type { TestAnswers } from "./test-answers.ts";

interface RepliesDeps extends Pick<ServiceDeps, "store" | "clock" | "signer" | "settings"> {
  readonly questions: Pick<Questions, "read" | "answer">;
  readonly tickets: Pick<Tickets, "callerOf">;
  readonly nudges: Pick<Nudges, "remind">;
  readonly testAnswers: TestAnswers;
}

/** What an account may still send at once. */
interface Allowance {
  left: number;
  counted_at: number;
}

/** Accounts whose allowance is remembered, and codes. A forgotten allowance is full. */
const REMEMBERED = 10_000;
const UNKNOWN: ReplyOutcome = { is: "unknown" };
const OVER = "This button no longer works.";
const IN_PARTS =
  "is too long for one message: none of it was taken. Shorten it, or answer in Relay";
/** For reads that end at once. */
const { signal: NEVER } = new AbortController();

const remember = <T>(map: Map<string, T>, key: string, value: T): void => {
  map.delete(key);
  map.set(key, value);
  if (map.size > REMEMBERED) map.delete(map.keys().next().value!);
};

/** Counts what costs a look at the store: returns false if the account has sent too much. */
function createAllowances(clock: Pick<Clock, "elapsed">, at_once: number, per_second: number) {
  const allowances = new Map<string, Allowance>();
  return (account_id: string): boolean => {
    const now = clock.elapsed();
    const { left, counted_at } = allowances.get(account_id) ?? { left: at_once, counted_at: now };
    const grown = Math.min(at_once, left + (now - counted_at) * per_second);
    remember(allowances, account_id, { left: grown >= 1 ? grown - 1 : grown, counted_at: now });
    return grown >= 1;
  };
}

export function createReplies(deps: RepliesDeps) {
  const { store, clock, signer, settings, questions, tickets, testAnswers } = deps;
  /**
   * What became of codes. A service repeats them after each break, and anybody may repeat them without end.
   */
  const handled = new Map<string, ReplyOutcome>();
  const { replies_at_once, replies_per_second, codes_at_once, codes_per_second } = REPLY_LIMITS;
  const admitReply = createAllowances(clock, replies_at_once, replies_per_second);
  // Apart, since whoever reads a topic can repeat the code of a test.
  const admitTest = createAllowances(clock, replies_at_once, replies_per_second);
  const admitCode = createAllowances(clock, codes_at_once, codes_per_second);

  /** The account, which the channel stands for on this question; null once one has ended. Throws if it is blocked. */
  const callerOf = async (of: {
    readonly question_id: string;
    readonly channel_id: string;
    readonly account_id: string;
  }): Promise<AccountCaller | null> => {
    const { account_id } = of;
    const ticket = await tickets.callerOf(of);
    if (ticket?.account_id !== account_id) return null;
    const { credential } = ticket;
    return { kind: "account", account_id, credential, session_id: "", ticket };
  };

  /** Answers as the account, which the channel stands for on this question. `choose` picks the answer. */
  const answer = async (
    of: { readonly question_id: string; readonly channel_id: string; readonly account_id: string },
    choose: (question: Question) => string | undefined,
  ): Promise<ReplyOutcome> => {
    const { question_id } = of;
    const caller = await callerOf(of);
    if (!caller) return UNKNOWN;
    const now = { wait: 0, signal: NEVER, effects: true, asking: false };
    const before = await questions.read(caller, question_id, now);
    const chosen = choose(before);
    if (chosen === undefined) return UNKNOWN;
    const is_new = before.status === "pending";
    const answered = await questions.answer(caller, question_id, chosen, {
      idempotent_request: null,
      by_api: false,
    });
    const full = settings.push_content === "full";
    const text = full ? describeAnswer(answered) : "Answered.";
    return { is: is_new ? "answered" : "same", text, question_id };
  };

  const explain = (error: unknown, question_id: string): ReplyOutcome => {
    if (!(error instanceof ServiceError)) throw error;
    const { code, message, fields } = error;
    switch (code) {
      case "question_not_pending":
        return { is: "ended", text: message, question_id };
      case "forbidden":
        return { is: "refused", text: message, question_id };
      case "invalid_fields":
        return {
          is: "refused",
          text: fields?.minutes
            ? "The question expires too soon."
            : `The answer ${fields?.answer ?? "is not valid"}.`,
          question_id,
        };
      case "not_found":
      case "unauthorized":
        return UNKNOWN;
      default:
        throw error;
    }
  };

  const onQuestion = (
    of: { readonly question_id: string; readonly channel_id: string; readonly account_id: string },
    choose: (question: Question) => string | undefined,
  ): Promise<ReplyOutcome> =>
    answer(of, choose).catch((error: unknown) => explain(error, of.question_id));

  /** Reminds the person later, as they ask for it. */
  const putOff = async (
    of: { readonly question_id: string; readonly channel_id: string; readonly account_id: string },
    { minutes }: (typeof REMINDERS)[number],
  ): Promise<ReplyOutcome> => {
    const { question_id, account_id } = of;
    if (!admitReply(account_id)) return UNKNOWN;
    try {
      const caller = await callerOf(of);
      if (!caller) return UNKNOWN;
      await deps.nudges.remind(caller, question_id, minutes);
    } catch (error) {
      return explain(error, question_id);
    }
    const time = minutes === 60 ? "1 hour" : `${minutes} minutes`;
    return { is: "snoozed", text: `Relay reminds you in ${time}.`, question_id };
  };

  const handleCode = async (channel_id: string, account_id: string, code: string) => {
    const said = readCode(signer, code, channel_id);
    if (!said) return UNKNOWN;
    const { subject, choice } = said;
    if (choice === CHOICES.test) {
      if (!admitTest(account_id)) return UNKNOWN;
      const reached_at = await testAnswers.answer(channel_id, code);
      return reached_at === null ? UNKNOWN : ({ is: "reached", text: "It works." } as const);
    }
    const reminder = REMINDERS.find((one) => one.choice === choice);
    if (reminder) return putOff({ question_id: subject, channel_id, account_id }, reminder);
    const before = handled.get(code);
    if (before) return before;
    if (!admitCode(account_id)) return UNKNOWN;
    const of = { question_id: subject, channel_id, account_id };
    const found = await onQuestion(of, ({ options, draft }) =>
      choice === CHOICES.approve ? draft : options[choice],
    );
    // Nobody else has the code, which was made here: its channel, or the question long ago, has ended.
    const outcome: ReplyOutcome =
      found.is === "unknown" ? { is: "ended", text: OVER, question_id: subject } : found;
    // A refusal may end: the code is good again once its account is no longer blocked.
    if (outcome.is !== "refused") {
      remember(handled, code, outcome.is === "answered" ? { ...outcome, is: "same" } : outcome);
    }
    return outcome;
  };

  const handleReply = async (
    { channel_id, handle, codes = [], text, in_parts }: Extract<ReplyEvent, { kind: "reply" }>,
    account_id: string,
  ) => {
    if (!admitReply(account_id)) return UNKNOWN;
    const [by_code] = codes.flatMap((code) => readCode(signer, code, channel_id)?.subject ?? []);
    const subject =
      by_code ?? (await store.read(subjectOfMessage({ channel_id, handle })))[0]?.[0] ?? "";
    if (!subject.startsWith("qst_")) return UNKNOWN;
    const of = { question_id: subject, channel_id, account_id };
    return onQuestion(of, (question) => {
      if (in_parts && question.status === "pending") return failFields({ answer: IN_PARTS });
      return optionFor(question, text);
    });
  };

  return {
    /**
     * Handles what came by a channel of `account_id` (null for a link). The caller has checked that the sender may
     * answer for the channel. Throws `store_unavailable`; nothing was then done, or it will do nothing a second time.
     */
    async handle(event: ReplyEvent, account_id: string | null): Promise<ReplyOutcome> {
      if (event.kind === "link" || account_id === null) return UNKNOWN;
      if (event.kind === "code") return handleCode(event.channel_id, account_id, event.code);
      return handleReply(event, account_id);
    },
  };
}

/** The option that a person means who writes it, whatever its case; otherwise their own words. */
function optionFor({ options }: Question, text: string): string {
  const said = text.trim();
  const same = (option: string) => option.trim().toLowerCase() === said.toLowerCase();
  return options.find(same) ?? said;
}
