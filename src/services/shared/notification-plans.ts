/** Plans the notifications of a change, as statements of its batch (§14.2). */

import {
  endActivities,
  endActivitiesOff,
  endActivitiesOfMove,
  endUnwanted,
  updateLate,
} from "../../../db/notify/activity-ends.ts";
import {
  type LanesByKind,
  planDeletion,
  planDelivery,
  planEnded,
  planNewTask,
  planQuestion,
  planSetting,
  planUpdate,
} from "../../../db/notify/plan.ts";
import { planNudges } from "../../../db/nudges.ts";
import type { RowRevision } from "../../../db/outbox.ts";
import type { Statement } from "../../../db/store/store.ts";
import type { Clock } from "../../clock.ts";
import { type Device, laneOfDevice } from "../../model/device.ts";
import {
  blockedLane,
  NOTIFICATION_KINDS,
  type NotificationKind,
} from "../../model/notification.ts";
import type { Question } from "../../model/question.ts";
import { planTask, type TaskChange } from "../../notify/core/plan.ts";

export type NotificationPlans = ReturnType<typeof createNotificationPlans>;

type RevisionOf<Table extends RowRevision["table"]> = RowRevision & { readonly table: Table };

interface NotificationPlansOptions {
  /** The lanes that have a worker and send this kind. Without any, no row is made. */
  readonly lanesFor: (kind: NotificationKind) => readonly string[];
  /** The lanes whose channels replace the alert of what has ended. */
  readonly replacingLanes: () => readonly string[];
  readonly clock: Clock;
}

export function createNotificationPlans({
  lanesFor,
  replacingLanes,
  clock,
}: NotificationPlansOptions) {
  /** Without a lane that sends the kind, the change costs no statement. */
  const takes = (kind: NotificationKind) => lanesFor(kind).length > 0;
  const on = { alert: takes("task"), silent: takes("silent"), widget: takes("widget") };
  const activities = takes("end");
  const replaces = replacingLanes().length > 0;
  // What happens to a blocked account, such as the end of a question, is sent after the block (§4.4.3).
  const listed = (lanes: readonly string[]) =>
    JSON.stringify([...lanes, ...lanes.map(blockedLane)]);
  const lanes = {
    ...Object.fromEntries(NOTIFICATION_KINDS.map((kind) => [kind, listed(lanesFor(kind))])),
    ended: listed(replacingLanes()),
  } as LanesByKind;
  const of = (account_id: string) => ({ account_id, lanes, now: clock.now() });

  return {
    /** Plans for a change of a task. `ended`: pending questions that end with it. */
    ofTask(
      account_id: string,
      change: TaskChange,
      changed: RevisionOf<"tasks">,
      ended: readonly string[] = [],
    ): Statement[] {
      const task = change.after ?? change.before;
      if (!task) return [];
      const wants = planTask(change);
      const { id: task_id, key_id } = task;
      const base = { ...of(account_id), key_id };
      const parts = change.changes;
      const about = { ...base, subject: task_id, task_id, parts };
      const gone = change.after === null ? [task_id, ...ended] : [];
      const statements: Statement[] = [];
      if (wants.alert !== "silent") {
        if (on.alert) {
          const is_new = change.before === null && wants.alert === "visible";
          statements.push(
            is_new ? planNewTask(about, changed) : planDelivery(wants.alert, about, changed),
          );
        }
      } else if (on.silent) {
        statements.push(planDelivery("silent", { ...base, parts: gone }, changed));
      }
      if (replaces && gone.length > 0) statements.push(planEnded(gone, base, changed));
      if (wants.widget && on.widget) statements.push(planDelivery("widget", base, changed));
      if (activities) {
        if (wants.activity === "start") statements.push(planDelivery("start", about, changed));
        if (wants.activity === "update") statements.push(planUpdate(about, changed));
      }
      if (wants.activity === "end") statements.push(...endActivities(base, changed));
      return statements;
    },

    /**
     * Plans for a new question, or for one that leaves `pending`. `answered_by`: id of the channel that it was answered
     * by.
     */
    ofQuestion(
      account_id: string,
      question: Question,
      changed: RevisionOf<"questions">,
      answered_by: string | null = null,
    ): Statement[] {
      const { id, key_id, task_id, expires_at, status } = question;
      const base = { ...of(account_id), key_id };
      const asked = status === "pending";
      const statements: Statement[] = [];
      if (asked) {
        const about = { ...base, subject: id, question_id: id, expires_at };
        if (on.alert) statements.push(planQuestion(about, changed));
      } else {
        if (on.silent) statements.push(planDelivery("silent", { ...base, parts: [id] }, changed));
        if (replaces) statements.push(planEnded([id], { ...base, answered_by }, changed));
      }
      if (task_id !== null && activities) {
        statements.push(
          planUpdate({ ...base, task_id, parts: asked ? ["question"] : [] }, changed),
        );
      }
      return statements;
    },

    /** Plans for questions that ring again. Placed after the statement that claims them. */
    ofNudges(claim: { readonly ids: string; readonly revision: string; readonly now: number }) {
      return on.alert ? [planNudges({ ...claim, lanes: lanes.question })] : [];
    },

    /** Plans for any other change by the account: tells its devices that something changed. */
    ofAccountChange(
      account_id: string,
      changed: RevisionOf<"keys" | "items" | "questions">,
    ): Statement[] {
      return on.silent ? [planDelivery("silent", of(account_id), changed)] : [];
    },

    /** Plans for a change of the setting. Placed before the statement that changes it. */
    beforeSetting(account_id: string, live_activities: boolean): Statement[] {
      return on.silent ? [planSetting(of(account_id), live_activities)] : [];
    },

    /** Plans for a change of the setting. Placed after the statement that changes it. */
    afterSetting(account_id: string): Statement[] {
      return endActivitiesOff(of(account_id));
    },

    /**
     * Plans for the registration of a device. Placed before the statement that registers it. Plans nothing if no lane
     * sends live activities.
     */
    beforeDevice(account_id: string, device: Device): Statement[] {
      const lane = laneOfDevice(device);
      return endActivitiesOfMove({ ...of(account_id), device_id: device.id, lane });
    },

    /** Plans for a deletion. Placed after the tombstone of the key or account. */
    ofDeletion(account_id: string, changed: RevisionOf<"keys" | "accounts">): Statement[] {
      const base = of(account_id);
      return [...endActivities(base, changed), ...(on.alert ? planDeletion(base, changed) : [])];
    },

    /** Plans for a new live activity. Placed after the statement that registers it. */
    ofRegistration(registered: {
      readonly account_id: string;
      readonly session_id: string;
      readonly credential: string;
      readonly trial_since: number;
      readonly device_id: string;
      readonly task_id: string;
      readonly push_token: string;
    }): Statement[] {
      if (!activities) return [];
      const values = { ...of(registered.account_id), ...registered };
      return [
        endUnwanted({ ...values, lanes: lanes.end }),
        updateLate({ ...values, lanes: lanes.update }),
      ];
    },
  };
}
