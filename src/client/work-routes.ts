/** What agents and the person exchange: tasks, questions and messages. */

import type { Agent, Item, MessageInput } from "../model/item.ts";
import type { Question } from "../model/question.ts";
import type { Task, TaskPatch } from "../model/task.ts";
import { createIdempotencyKey } from "./idempotency.ts";
import { retry } from "./retry.ts";
import { type CallOptions, type IdempotentOptions, path, type Send } from "./send.ts";
import type { Timers } from "./timers.ts";
import type {
  Answer,
  Ask,
  InboxQuery,
  NewTask,
  QuestionDeliveries,
  QuestionPage,
  QuestionQuery,
  Receipt,
  TaskPage,
  TaskQuery,
  UnreadItems,
} from "./types.ts";
import { waitForAnswer, waitForItems } from "./waits.ts";

/** Longest life of a question, in seconds: `expires_in_max` (§10.4). */
const DAY = 86_400;

interface WaitOptions extends CallOptions {
  /** Seconds to wait in all, over as many requests as that takes; 86,400 when absent. */
  readonly within?: number;
}

export function workRoutes(send: Send, timers: Timers) {
  const getQuestion = (
    question_id: string,
    { wait }: { readonly wait?: number } = {},
    given?: CallOptions,
  ) => send<Question>("GET", path`/v1/questions/${question_id}`, { wait }, given);

  const ask = ({ wait, ...body }: Ask, given?: IdempotentOptions) =>
    send<Question>("POST", "/v1/questions", { body, wait }, given);

  const readInbox = ({ wait, ...query }: InboxQuery = {}, given?: CallOptions) =>
    send<UnreadItems>("GET", "/v1/inbox", { query, wait }, given);

  const answerOf = (question_id: string, { within = DAY, signal }: WaitOptions = {}) =>
    waitForAnswer(timers, { within, signal }, (wait) =>
      getQuestion(question_id, { wait }, signal && { signal }),
    );

  return {
    tasks: {
      /** Most recently updated first. Codes: `not_found` (docs/interface.md §5.5.2). */
      list: (query: TaskQuery = {}, given?: CallOptions) =>
        send<TaskPage>("GET", "/v1/tasks", { query: { ...query } }, given),

      /** Creates a task. Codes: `not_found`, `too_many_tasks` (§5.5.3). */
      create: (body: NewTask, given?: IdempotentOptions) =>
        send<Task>("POST", "/v1/tasks", { body }, given),

      /** Reads a task. Codes: `not_found` (§5.5.4). */
      get: (task_id: string, given?: CallOptions) =>
        send<Task>("GET", path`/v1/tasks/${task_id}`, {}, given),

      /** Changes the fields that are given. Codes: `not_found` (§5.5.5). */
      update: (task_id: string, body: TaskPatch, given?: CallOptions) =>
        send<Task>("PATCH", path`/v1/tasks/${task_id}`, { body }, given),

      /** Deletes a task and cancels its pending questions. Codes: `not_found` (§5.5.6). */
      delete: (task_id: string, given?: CallOptions) =>
        send<void>("DELETE", path`/v1/tasks/${task_id}`, {}, given),
    },

    questions: {
      /** Newest first. Codes: `not_found` (§5.7.1). */
      list: (query: QuestionQuery = {}, given?: CallOptions) =>
        send<QuestionPage>("GET", "/v1/questions", { query: { ...query } }, given),

      /** Asks. Codes: `not_found`, `too_many_pending_questions`, `too_many_waits` (§5.7.2). */
      ask,

      /** Reads a question. Codes: `not_found`, `too_many_waits` (§5.7.3). */
      get: getQuestion,

      /**
       * Answers; a note goes beside the answer. Codes: `not_found`, `question_not_pending`
       * (docs/interface.md §5.7.4).
       */
      answer: (question_id: string, answer: string | Answer, given?: IdempotentOptions) =>
        send<Question>(
          "POST",
          path`/v1/questions/${question_id}/answer`,
          { body: typeof answer === "string" ? { answer } : answer },
          given,
        ),

      /** Cancels a question that is pending. Codes: `not_found`, `question_not_pending` (§5.7.5). */
      cancel: (question_id: string, given?: CallOptions) =>
        send<void>("DELETE", path`/v1/questions/${question_id}`, {}, given),

      /** How far a question got. Codes: `not_found` (docs/interface.md §5.7.7). */
      deliveries: (question_id: string, given?: CallOptions) =>
        send<QuestionDeliveries>("GET", path`/v1/questions/${question_id}/deliveries`, {}, given),

      /** Says that a question was shown or opened. Codes: `not_found` (docs/interface.md §5.7.8). */
      sendReceipt: (question_id: string, body: Receipt, given?: CallOptions) =>
        send<void>("POST", path`/v1/questions/${question_id}/receipts`, { body }, given),

      /**
       * The question once it has left `pending`, through lost connections and restarts of the server; still
       * pending if `within` has passed (docs/interface.md §6.2).
       */
      waitForAnswer: answerOf,

      /**
       * Asks once, whatever happens to the connection, and waits for the answer: `ask` under one
       * `Idempotency-Key`, then `waitForAnswer`.
       */
      async askAndWait(
        input: Omit<Ask, "wait">,
        { within = DAY, signal }: WaitOptions = {},
      ): Promise<Question> {
        const begun = timers.elapsed();
        const given = { idempotency_key: createIdempotencyKey(), ...(signal && { signal }) };
        const question = await retry(timers, { within, signal }, () => ask(input, given));
        const left = within - (timers.elapsed() - begun);
        return answerOf(question.id, { within: left, ...(signal && { signal }) });
      },
    },

    inbox: {
      /** Unread items, oldest first. Codes: `too_many_waits` (docs/interface.md §5.9.2). */
      read: readInbox,

      /**
       * The unread items once there are any, through lost connections; none if `within` has passed. Use
       * `peek` and `ack` to get every item at least once (docs/interface.md §5.9.2(5)).
       */
      waitForItems: (
        query: Omit<InboxQuery, "wait"> = {},
        { within = DAY, signal }: WaitOptions = {},
      ) =>
        waitForItems(timers, { within, signal }, (wait) =>
          readInbox({ ...query, wait }, signal && { signal }),
        ),
    },

    messages: {
      /** Sends a message to a key. Codes: `not_found`, `inbox_full` (§5.10.1). */
      send: (body: MessageInput, given?: IdempotentOptions) =>
        send<Item>("POST", "/v1/messages", { body }, given),
    },

    agents: {
      /** The keys of the account as other keys see them, newest first (§5.11.1). */
      list: (given?: CallOptions) =>
        send<{ readonly agents: readonly Agent[] }>("GET", "/v1/agents", {}, given),
    },
  };
}
