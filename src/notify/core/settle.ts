/** Makes the statements, for one batch, that end one attempt of a claimed delivery. */

import { channelFailed, channelGone, channelSucceeded } from "../../../db/channels.ts";
import { type AcceptedDelivery, clearLate } from "../../../db/notify/accepted.ts";
import { forgetActivity } from "../../../db/notify/live-activities.ts";
import { settleQuestion } from "../../../db/notify/question-deliveries.ts";
import type { ClaimedDelivery } from "../../../db/notify/queue.ts";
import { addRecord } from "../../../db/notify/records.ts";
import { keepMessage } from "../../../db/notify/replies.ts";
import {
  continueDelivery,
  dropDone,
  dropEndedActivity,
  putBack,
  retryWithTarget,
} from "../../../db/notify/settling.ts";
import { forgetTarget } from "../../../db/notify/targets.ts";
import type { Statement } from "../../../db/store/store.ts";
import { type DeliveryRecord, PURPOSES } from "../../model/notification.ts";
import { HANDLE_CHARACTERS, type Verdict } from "./channel.ts";
import { describeDelivery, leftBy } from "./prepare.ts";

interface Ending {
  readonly claimed: ClaimedDelivery;
  readonly now: number;
  /** True if the channel clears alerts by silent notifications. */
  readonly clears: boolean;
  /** True if the notification said how its subject ended, whatever the kind of the row. */
  readonly ends?: boolean;
}

const nameOf = ({ delivery: { seq, lease } }: ClaimedDelivery) => ({ seq, lease });

/** Queues a `clear` for an alert that may have been accepted, if its subject has ended meanwhile. */
function clearOver(
  { claimed: { delivery }, now, clears }: Ending,
  address: string | null,
): Statement[] {
  if (!clears || address === null || (delivery.kind !== "question" && delivery.kind !== "task"))
    return [];
  return [clearLate({ ...delivery, about: describeDelivery(delivery).about, address }, now)];
}

interface PutBack extends Ending {
  readonly due_at: number;
  /** The address of a request that may have been accepted. */
  readonly unclear?: string | null;
  /** False if no request was made. */
  readonly tried?: boolean | undefined;
  /** The lane to move it to; null if it stays. */
  readonly lane?: string | null;
}

/** Puts the delivery back into the queue, to be tried again at `due_at`. */
export function putOff({ due_at, unclear = null, tried = true, ...ending }: PutBack): Statement[] {
  const { claimed, now, lane = null } = ending;
  const values = { now, due_at, tried: tried ? 1 : 0, lane };
  return [putBack({ ...nameOf(claimed), ...values }), ...clearOver(ending, unclear)];
}

interface EndingWithOutcome extends Ending {
  readonly outcome: DeliveryRecord["outcome"];
  readonly reason: string | null;
  readonly tried?: boolean;
}

const recordOf = (recorded: Omit<EndingWithOutcome, "clears">): Statement[] => {
  const { claimed, now, outcome, reason, tried = true, ends = false } = recorded;
  const { delivery } = claimed;
  const attempts = delivery.attempts - (tried ? 0 : 1);
  const record = addRecord({
    ...delivery,
    ...(ends ? { kind: "clear", about: "" } : describeDelivery(delivery)),
    outcome,
    reason,
    attempts,
    tried_at: attempts > 0 ? delivery.tried_at : null,
    done_at: now,
  });
  if (!ends || delivery.kind !== "question") return [record];
  // If the question was not delivered before, it never will be.
  const { question_id, recipient_id: target_id } = delivery;
  const over = { status: "failed", reason: "question_ended", sent_ms: null };
  return [settleQuestion({ question_id, target_id, ...over }), record];
};

/**
 * Removes the row, or keeps it for the parts that were added meanwhile and those that are `left`. An
 * `end` also removes the registration of its live activity, whatever the outcome.
 */
function leave(
  { claimed, now }: Omit<Ending, "clears">,
  left: readonly string[] = [],
): Statement[] {
  const { delivery } = claimed;
  const statements = [
    continueDelivery({ ...nameOf(claimed), now, rest: JSON.stringify(left) }),
    dropDone(nameOf(claimed)),
  ];
  if (delivery.kind === "end") statements.push(dropEndedActivity(delivery));
  return statements;
}

/**
 * Ends a delivery without success. An alert that may have been shown is cleared, and the ids for which a
 * refused `clear` had no room are tried separately.
 */
export function drop(ending: EndingWithOutcome): Statement[] {
  const { delivery, target } = ending.claimed;
  const address = delivery.unclear ? target.address : null;
  const left = ending.outcome === "refused" ? leftBy(delivery) : [];
  return [...recordOf(ending), ...leave(ending, left), ...clearOver(ending, address)];
}

interface AcceptedRequest {
  readonly address: string;
  /** Why it was changed before it was sent, such as `quiet_hours`; null if it was not. */
  readonly reason: string | null;
}

/** Ends an accepted delivery. An alert whose subject ended meanwhile is cleared. */
export function succeed(sent: Ending, { address, reason }: AcceptedRequest): Statement[] {
  const { claimed } = sent;
  const ending = { ...sent, outcome: "sent", reason } as const;
  const left = leftBy(claimed.delivery);
  return [...recordOf(ending), ...leave(ending, left), ...clearOver(ending, address)];
}

/** An accepted delivery as a row that is settled with others; null if it needs statements of its own. */
export function acceptedOf(
  sent: Ending,
  { address, reason }: AcceptedRequest,
): AcceptedDelivery | null {
  const { claimed, now, clears, ends = false } = sent;
  const { delivery } = claimed;
  if (ends || delivery.kind === "end" || leftBy(delivery).length > 0) return null;
  const shows = clears && (delivery.kind === "question" || delivery.kind === "task");
  return {
    ...delivery,
    ...describeDelivery(delivery),
    reason,
    done_at: now,
    address: shows ? address : null,
  };
}

interface ForgetOptions {
  readonly address: string;
  /** Epoch seconds since which it is invalid; null if the service did not say. */
  readonly since: number | null;
  /** When to try the same address again if it was registered after that. */
  readonly later: number;
  readonly reason: string;
}

/**
 * Ends a delivery to an address that the service does not know. Removes the address unless it was
 * registered again since, and retries the delivery if its target has a newer address.
 */
export function forget(
  { claimed, now, ends = false }: Omit<Ending, "clears">,
  { address, since, later, reason }: ForgetOptions,
): Statement[] {
  const { delivery } = claimed;
  const { kind } = delivery;
  const records = recordOf({ claimed, now, ends, outcome: "invalid_token", reason });
  // An address copied into the row belongs to a target that is gone.
  if (delivery.address !== null) return [...records, ...leave({ claimed, now })];
  const purpose = PURPOSES[kind];
  const of = { ...delivery, address, since: since ?? now };
  return [
    ...records,
    purpose === "activity" ? forgetActivity(of) : forgetTarget({ ...of, purpose, subject: "" }),
    retryWithTarget({ ...delivery, address, due_at: now, later }),
    ...leave({ claimed, now }),
  ];
}

interface ChannelAttempt {
  /** Null for a device, which has no such record. */
  readonly id: string | null;
  readonly now: number;
  /** 1 for a test that the person asked for. */
  readonly test?: 0 | 1;
  /** Id of the question or task; absent for a test, whose message is not changed later. */
  readonly subject?: string;
}

/** Records the result of an attempt on its channel (§19.1.5). */
export function noteOutcome(
  { id, now, test = 0, subject }: ChannelAttempt,
  verdict: Verdict,
): Statement[] {
  if (id === null) return [];
  const code = verdict.reason;
  switch (verdict.do) {
    case "finish": {
      const { replaces, handle } = verdict;
      const known = replaces === undefined ? null : Number(replaces);
      const kept = handle !== undefined && subject && handle.length <= HANDLE_CHARACTERS;
      return [
        channelSucceeded({ id, now, test, replaces: known }),
        ...(kept ? [keepMessage({ channel_id: id, subject, handle, now })] : []),
      ];
    }
    case "forget_target":
      return [channelGone({ id, now, code })];
    default:
      if (verdict.do === "again" && verdict.tried === false) return [];
      return [channelFailed({ id, now, code, hold: 0, refused: verdict.do === "drop" ? 1 : 0 })];
  }
}
