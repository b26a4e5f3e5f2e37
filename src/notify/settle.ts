/** How one round of a claimed push ends, as the statements of one batch. */

import {
  type ClaimedPush,
  clearLate,
  dropActivity,
  dropDone,
  dropEndedActivity,
  goOn,
  INVALID_TOKEN,
  putBack,
  retryUpdate,
} from "../../db/notify/queue.ts";
import { addRecord } from "../../db/notify/records.ts";
import type { Statement } from "../../db/store.ts";
import type { Environment, PushRecord } from "../model/push.ts";
import { describePush, leftBy } from "./prepare.ts";

interface Ending {
  readonly claimed: ClaimedPush;
  readonly now: number;
}

const nameOf = ({ push: { seq, lease } }: ClaimedPush) => ({ seq, lease });

/** Takes an alert back that was accepted, or may have been, if its reason ended meanwhile. */
function clearOver({ claimed: { push }, now }: Ending, token: string | null): Statement[] {
  if (token === null || (push.kind !== "question" && push.kind !== "task")) return [];
  return [clearLate({ ...push, about: describePush(push).about, token, now })];
}

interface PutBack extends Ending {
  readonly due_at: number;
  /** The token of a request that may have been accepted. */
  readonly unclear?: string | null;
  /** False: no request was made. */
  readonly tried?: boolean;
  /** Where the device is by now; null: where it was. */
  readonly environment?: Environment | null;
}

/** It is tried again from `due_at` on. */
export function putOff({ due_at, unclear = null, tried = true, ...ending }: PutBack): Statement[] {
  const { claimed, now, environment = null } = ending;
  const values = { now, due_at, tried: tried ? 1 : 0, environment };
  return [putBack({ ...nameOf(claimed), ...values }), ...clearOver(ending, unclear)];
}

interface Recorded extends Ending {
  readonly outcome: PushRecord["outcome"];
  readonly reason: string | null;
  readonly tried?: boolean;
}

const recordOf = ({ claimed: { push }, now, outcome, reason, tried = true }: Recorded) => {
  const attempts = push.attempts - (tried ? 0 : 1);
  return addRecord({
    ...push,
    ...describePush(push),
    outcome,
    reason,
    attempts,
    tried_at: attempts > 0 ? push.tried_at : null,
    done_at: now,
  });
};

/**
 * It goes, or goes on with what came meanwhile and what it had no room for. With an `end` goes its
 * registration, however it ended.
 */
function leave({ claimed, now }: Ending, left: readonly string[] = []): Statement[] {
  const { push } = claimed;
  const statements = [
    goOn({ ...nameOf(claimed), now, rest: JSON.stringify(left) }),
    dropDone(nameOf(claimed)),
  ];
  if (push.kind === "end") statements.push(dropEndedActivity(push));
  return statements;
}

/**
 * It is done with, for another reason than success; one that may be shown is cleared, and what a
 * refused `clear` had no room for is tried by itself.
 */
export function drop(ending: Recorded): Statement[] {
  const { push, device } = ending.claimed;
  const token = push.unclear ? device.apns_token : null;
  const left = ending.outcome === "refused" ? leftBy(push) : [];
  return [recordOf(ending), ...leave(ending, left), ...clearOver(ending, token)];
}

/** It was accepted; what ended meanwhile is cleared again. */
export function succeed({ claimed, now }: Ending, token: string): Statement[] {
  const ending = { claimed, now, outcome: "sent", reason: null } as const;
  return [recordOf(ending), ...leave(ending, leftBy(claimed.push)), ...clearOver(ending, token)];
}

interface Forgotten {
  readonly token: string;
  /** Since when it is invalid, in epoch seconds; null when the service did not say. */
  readonly since: number | null;
  /** When to try the same token again, if it was registered after that. */
  readonly later: number;
  readonly reason: string;
}

/** The service knows the token no more: neither do we, unless it was registered since. */
export function forgetToken(
  { claimed, now }: Ending,
  { token, since, later, reason }: Forgotten,
): Statement[] {
  const { push } = claimed;
  const values = { ...push, token, since: since ?? now, due_at: now, later };
  const ending = { claimed, now, outcome: "invalid_token", reason } as const;
  return [recordOf(ending), ...forget(push, values), ...leave(ending)];
}

/** With a newer token by now it is tried again. */
function forget({ kind, token }: ClaimedPush["push"], values: Record<string, unknown>) {
  // Its registration goes with it.
  if (kind === "end") return [];
  if (kind === "update") return [dropActivity(values), retryUpdate(values)];
  // A copy is of an account that is gone.
  if (token !== null) return [];
  return [INVALID_TOKEN.forget[kind](values), INVALID_TOKEN.retry[kind](values)];
}
