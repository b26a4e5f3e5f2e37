/** What a claimed push is now, by the state of the moment: ready to send, or pointless; pure. */

import type { ClaimedPush } from "../../db/notify/queue.ts";
import { PUSH } from "../limits.ts";
import type { Environment, PushRecord } from "../model/push.ts";
import type { Question } from "../model/question.ts";
import type { Task } from "../model/task.ts";
import {
  type Rendered,
  type RenderOptions,
  renderActivity,
  renderQuestion,
  renderSilent,
  renderTask,
  renderWidget,
} from "./channels/apns/payloads.ts";

type Preparation =
  | { readonly is: "ready"; readonly token: string; readonly rendered: Rendered }
  /** What it would say is no longer so, or there is nobody to tell. */
  | { readonly is: "pointless" }
  /** A start that another process may have sent. */
  | { readonly is: "unclear" }
  /** The device has another environment by now, and a token never crosses over. */
  | { readonly is: "elsewhere"; readonly environment: Environment };

interface Moment extends RenderOptions {
  readonly now: number;
  /** Pending questions by the id of their task. */
  readonly pending: ReadonlyMap<string, number>;
}

const OBSOLETE = { is: "pointless" } as const;

export function prepareDelivery(claimed: ClaimedPush, moment: Moment): Preparation {
  const { push, device } = claimed;
  if (push.kind === "start" && push.unclear) return { is: "unclear" };
  const { apns_environment } = device;
  if (push.token === null && apns_environment !== push.environment) {
    return apns_environment === null
      ? OBSOLETE
      : { is: "elsewhere", environment: apns_environment };
  }
  const token = push.token ?? tokenOf(claimed);
  const rendered = token === null ? null : render(claimed, moment);
  return token === null || rendered === null ? OBSOLETE : { is: "ready", token, rendered };
}

/** The registered token; null when there is none to send it to. */
function tokenOf({ push, device, account, activity }: ClaimedPush): string | null {
  if (account.live_activities === null) return null;
  switch (push.kind) {
    case "widget":
      return device.widget_push_token;
    case "start":
      return device.push_to_start_token;
    case "update":
      return activity.ended_at === null ? activity.push_token : null;
    case "end":
      return null;
    default:
      return device.apns_token;
  }
}

/** Null when it has become pointless. */
function render(claimed: ClaimedPush, moment: Moment): Rendered | null {
  const { push, account, activity } = claimed;
  const { now } = moment;
  const { key_id, expires_at } = push;
  const question = known<Question>(claimed.question);
  const task = known<Task>(claimed.task);
  const key =
    claimed.key.label === null
      ? null
      : { label: claimed.key.label, last_host: claimed.key.last_host };
  const showing = activity.push_token !== null && activity.ended_at === null;
  const wanted = task?.status === "in_progress" && account.live_activities === true;
  const activityOf = (event: "start" | "update" | "end", timestamp: number) =>
    renderActivity(
      {
        event,
        task,
        ids: { task_id: push.task_id ?? "", key_id },
        key,
        pending_questions: moment.pending.get(push.task_id ?? "") ?? 0,
        changes: push.parts,
        timestamp,
        now,
      },
      moment,
    );
  switch (push.kind) {
    case "question":
      if (!question || !key || question.status !== "pending" || question.expires_at <= now) {
        return null;
      }
      return renderQuestion(question, key, moment);
    case "task":
      if (!task || !key || !task.notify) return null;
      return renderTask({ task, key, changes: push.parts, expires_at }, moment);
    case "silent":
      return renderSilent({ key_id, clear: clearedBy(push), expires_at, now });
    case "widget":
      return renderWidget(key_id, expires_at);
    case "start":
      return wanted && !showing ? activityOf("start", Math.floor(now)) : null;
    case "update":
      return wanted && showing ? activityOf("update", activity.stamp ?? 0) : null;
    case "end":
      // Later than what a start of the same second said.
      return activityOf("end", Math.max(activity.stamp ?? 0, Math.floor(now) + 1));
  }
}

/** A row of a join; null when there was none. */
function known<T extends { readonly id: string }>(row: { readonly id: unknown }): T | null {
  return row.id === null ? null : (row as unknown as T);
}

/** The ids that one push clears; {@link leftBy} go with the next. */
const clearedBy = ({ kind, parts }: ClaimedPush["push"]) =>
  kind === "silent" ? parts.slice(0, PUSH.clear_ids) : [];

/** Ids for which the `clear` of this push has no room. */
export const leftBy = ({ kind, parts }: ClaimedPush["push"]) =>
  kind === "silent" ? parts.slice(PUSH.clear_ids) : [];

/** What its outcome record says of it. */
export function describePush({ kind, parts, question_id, task_id }: ClaimedPush["push"]): {
  readonly kind: PushRecord["kind"];
  readonly about: string;
} {
  const about = question_id ?? task_id ?? "";
  if (kind === "silent") return { kind: parts.length > 0 ? "clear" : kind, about: "" };
  return kind === "widget" ? { kind, about: "" } : { kind, about };
}
