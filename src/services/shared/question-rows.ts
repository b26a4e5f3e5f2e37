/** Shared by changes and reads of questions: finding, ending, creating and waiting for one. */

import { markReceived } from "../../../db/inbox.ts";
import type { RowRevision } from "../../../db/outbox.ts";
import {
  type AnswerSource,
  type EndedQuestion,
  expireQuestion,
  type QuestionRow,
  questionById,
} from "../../../db/questions.ts";
import type { Statement } from "../../../db/store/store.ts";
import type { WaitSlot } from "../../events/waiters.ts";
import { type Caller, callerId } from "../../model/caller.ts";
import {
  asListed,
  goesToInbox,
  isOverdue,
  type Question,
  withActionText,
  withAnsweredBy,
  withAnsweredFrom,
} from "../../model/question.ts";
import { eventOf, untilDecided } from "./commit.ts";
import { readOwn, type ServiceDeps } from "./deps.ts";
import { createInboxWriter } from "./inbox-writer.ts";

export type QuestionRevision = RowRevision & { readonly table: "questions" };

interface HoldOptions {
  readonly seconds: number;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
  readonly slot?: WaitSlot | undefined;
  /** Called with each row that the wait reads. */
  readonly found?: ((row: QuestionRow) => Promise<void>) | undefined;
}

export function createQuestionRows(deps: ServiceDeps) {
  const { commit, waits, clock, agreedNow, ids, assertLive, notificationPlans } = deps;
  const inboxWriter = createInboxWriter(deps);
  /** Writes of {@link noteReceived} under way. */
  const noting = new Set<Promise<unknown>>();

  const find = async (caller: Caller, id: string): Promise<QuestionRow> => {
    const row = await readOwn(deps, caller, questionById(caller, id), "question_id");
    const question = withActionText(row.question, row.action_text);
    const with_channel = withAnsweredBy(question, row.answered_by);
    return caller.kind === "account" && !caller.ticket
      ? {
          ...row,
          question: withAnsweredFrom(with_channel, row.answered_from, caller.session_id),
        }
      : { ...row, question: with_channel };
  };

  /** Ends a pending question; false if it has already ended. An answer also goes to the agent's inbox. */
  const finish = (
    { account_id }: QuestionRow,
    next: Question,
    update: (ended: EndedQuestion) => Statement,
    also: (changed: QuestionRevision) => Statement[] = () => [],
    source: AnswerSource | null = null,
  ): Promise<boolean> => {
    const { id: question_id, key_id, task_id } = next;
    const now = agreedNow();
    const cancelled_at = next.status === "cancelled" ? clock.now() : null;
    const revision = ids.unique();
    const changed = { table: "questions", id: question_id, revision } as const;
    const item = {
      type: "question.answered",
      key_id,
      account_id,
      task_id,
      question_id,
    } as const;
    const inbox_write = inboxWriter.write(changed, goesToInbox(next) ? item : null);
    return commit({
      statements: [
        update({ ...next, account_id, revision, now, cancelled_at, ...source }),
        ...inbox_write.statements,
        ...also(changed),
      ],
      inbox: inbox_write.inbox,
      deliveries: notificationPlans.ofQuestion(
        account_id,
        next,
        changed,
        source?.answering_channel,
      ),
      events: [eventOf(changed, "question.updated", account_id, { question: asListed(next) })],
    });
  };

  /** The question as every reader sees it now: an overdue one expires when it is read (§3.1.3). */
  const readNow = (caller: Caller, id: string, effects = true): Promise<QuestionRow> =>
    untilDecided(async () => {
      const row = await find(caller, id);
      if (!isOverdue(row.question, agreedNow())) return row;
      const expired = { ...row, question: { ...row.question, status: "expired" as const } };
      if (!effects) return expired;
      return (await finish(row, expired.question, expireQuestion)) ? expired : undefined;
    });

  /**
   * Notes that the agent gets the answer by this read, if the item with it is unread (§5.9.6). The response does not
   * wait for it: if it is lost, the person sees an unread item more. What comes with a permission is not noted: its
   * program does not read it.
   */
  const noteReceived = (
    { kind }: Caller,
    { question: { action }, unreceived: id }: QuestionRow,
  ): void => {
    if (kind !== "key" || id == null || action) return;
    const revision = ids.unique();
    const note = commit({
      in_background: true,
      statements: [markReceived({ id, received_at: clock.now(), revision })],
      events: [],
    })
      .catch(() => {})
      .finally(() => noting.delete(note));
    noting.add(note);
  };

  /** Waits up to `seconds` until the question leaves `pending`, and returns it as it then is (§6). */
  const hold = (
    caller: Caller,
    { id, key_id }: Pick<Question, "id" | "key_id">,
    { seconds, signal, slot, found }: HoldOptions,
  ): Promise<Question> =>
    waits.wait({
      owner: callerId(caller),
      // The deletion of the key or the account ends the wait at once.
      subjects: [id, key_id, caller.account_id],
      seconds,
      signal,
      slot,
      async read() {
        // Both at once: one round trip. The credential may have ended before the wait listened, too.
        const [row] = await Promise.all([readNow(caller, id), assertLive(caller)]);
        await found?.(row);
        noteReceived(caller, row);
        const { question } = row;
        return {
          value: question,
          done: question.status !== "pending",
          again_in: question.expires_at - agreedNow(),
        };
      },
    });

  /** Creates a question, with its event and its deliveries; false if the statements did nothing. */
  const create = (
    account_id: string,
    question: Question,
    statementsOf: (changed: QuestionRevision) => readonly [Statement, ...Statement[]],
  ): Promise<boolean> => {
    const changed = { table: "questions", id: question.id, revision: ids.unique() } as const;
    return commit({
      is_independent: true,
      statements: statementsOf(changed),
      deliveries: notificationPlans.ofQuestion(account_id, question, changed),
      events: [eventOf(changed, "question.created", account_id, { question: asListed(question) })],
    });
  };

  /** Resolves when what was noted so far is written. */
  const settled = () => Promise.all(noting);

  return { create, finish, readNow, hold, noteReceived, settled };
}
