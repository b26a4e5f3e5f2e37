/** Rings questions again: once before they expire, and when the person wants to be reminded (§5.7.10). */

import { claimNudges, dueNudges, remindOfQuestion } from "../../db/nudges.ts";
import { IN_BACKGROUND } from "../../db/store/store.ts";
import { fail, failFields } from "../errors.ts";
import type { AccountCaller } from "../model/caller.ts";
import { asListed, describeEnd, type Question } from "../model/question.ts";
import { NOTIFICATION_LIMITS } from "../notification-limits.ts";
import { eventOf, untilDecided } from "./shared/commit.ts";
import type { ServiceDeps } from "./shared/deps.ts";
import { createQuestionRows } from "./shared/question-rows.ts";

/** Questions of one step. Each may have a delivery for each of 40 targets. */
const STEP = 25;
/** Seconds. A reminder that is so close to the one that is set counts as the same request, sent again. */
const SAME = 60;
/** Seconds from now of the earliest reminder. */
const SOONEST = 60;

export type Nudges = ReturnType<typeof createNudges>;

export function createNudges(deps: ServiceDeps) {
  const { store, commit, agreedNow, ids, notificationPlans, wakeSender } = deps;
  const { readNow } = createQuestionRows(deps);

  return {
    /**
     * Rings what is due at `now` (epoch seconds), and returns whether more may be due. What rings is planned in the
     * batch that claims it, so that each question rings once, whichever processes run.
     */
    async ring(now: number): Promise<boolean> {
      const due = await store.read(dueNudges({ now, limit: STEP }));
      if (due.length === 0) return false;
      const claim = { ids: JSON.stringify(due.map(([id]) => id)), revision: ids.unique(), now };
      const batch = [claimNudges(claim), ...notificationPlans.ofNudges(claim)];
      const [claimed, planned] = await store.write(batch, IN_BACKGROUND);
      if (planned && planned.changes > 0) wakeSender();
      return claimed!.changes > 0 && due.length === STEP;
    },

    /**
     * Reminds the person of a pending question in `minutes`, or when only `nudge_left` seconds are left if that is
     * earlier: it rings on all channels, in place of an earlier reminder and of the nudge. Returns the question as
     * lists show it, with `remind_at`. The same request again within a minute changes nothing. `404 not_found`,
     * `409 question_not_pending`, `422 fields.minutes` if the question expires too soon.
     */
    remind: (caller: AccountCaller, id: string, minutes: number): Promise<Question> =>
      untilDecided(async () => {
        const row = await readNow(caller, id);
        const question = asListed(row.question);
        if (question.status !== "pending") {
          fail("question_not_pending", { detail: describeEnd(question) });
        }
        const now = agreedNow();
        const latest = question.expires_at - NOTIFICATION_LIMITS.nudge_left;
        const remind_at = Math.round(Math.min(now + minutes * 60, latest) * 1000) / 1000;
        if (remind_at < now + SOONEST) failFields({ minutes: "the question expires too soon" });
        const { remind_at: before } = question;
        if (before !== undefined && before > now && Math.abs(before - remind_at) < SAME) {
          return question;
        }
        const revision = ids.unique();
        const changed = { table: "questions", id, revision } as const;
        const next: Question = { ...question, remind_at };
        const happened = await commit({
          statements: [
            remindOfQuestion({
              ...{ id, remind_at, nudge_at: remind_at, revision, now },
              before: before ?? null,
            }),
          ],
          events: [eventOf(changed, "question.updated", row.account_id, { question: next })],
          deliveries: notificationPlans.ofAccountChange(row.account_id, changed),
        });
        return happened ? next : undefined;
      }),
  };
}
