/** Reports to the administrator how a question was delivered (§4.3.3). */

import {
  reportedChannels,
  reportedDevices,
  reportedItem,
  reportedOutcomes,
  reportedQuestion,
  reportedTargets,
} from "../../db/question-report.ts";
import type { Store } from "../../db/store/store.ts";
import type { Clock } from "../clock.ts";
import { failNotFound } from "../errors.ts";
import { type LaneHealth, unblockedLane } from "../model/notification.ts";
import { type QuestionReport, reportOf } from "../model/question-report.ts";

interface QuestionReportsDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** Name of the channel that a lane belongs to; null for a lane of another version. */
  readonly channelOf: (lane: string) => string | null;
  readonly laneHealth: () => readonly LaneHealth[];
}

const seconds = (ms: number): number => ms / 1000;
const maybe = (ms: number | null): number | null => (ms === null ? null : ms / 1000);

/** The attempts of the stored list. */
const attemptsOf = (text: string | null) =>
  (JSON.parse(text ?? "[]") as [number, string][]).map(([ms, reason]) => ({
    at: seconds(ms),
    reason,
  }));

export type QuestionReports = ReturnType<typeof createQuestionReports>;

export function createQuestionReports({
  store,
  clock,
  channelOf,
  laneHealth,
}: QuestionReportsDeps) {
  /** The lane of a target, as this process has it. */
  const laneOf = (lane: string) => laneHealth().find((one) => one.lane === unblockedLane(lane));
  /** True if this process can send in the lane of a target. Webhooks have none. */
  const isOn = (type: string, lane: string | null): boolean =>
    type === "webhook" || (lane !== null && (laneOf(lane)?.state ?? "stopped") !== "stopped");

  return {
    /** The report on the question, whoever it belongs to. `404 not_found`. */
    async read(question_id: string): Promise<QuestionReport> {
      const open = laneHealth().filter(({ state }) => state !== "stopped");
      const lanes = JSON.stringify(open.map(({ lane }) => lane));
      const [found] = await store.read(reportedQuestion({ question_id, lanes }));
      if (!found) return failNotFound("question_id");
      const [account_id, key_id, task_id, status, created_ms, expires_ms, ...later] = found;
      const [answered_ms, cancelled_ms, rings_ms, remind_ms, asks_permission, ...answer] = later;
      const [by, by_type, session_id, by_api, blocked_ms, account_gone, key_gone] = answer;
      const now = clock.now();
      const [targets, outcomes, channels, devices, items] = await Promise.all([
        store.read(reportedTargets({ question_id, account_id })),
        store.read(reportedOutcomes({ question_id, account_id })),
        store.read(reportedChannels({ account_id })),
        store.read(reportedDevices({ account_id, now })),
        store.read(reportedItem({ question_id, key_id })),
      ]);
      const [[device_lanes, page_is_open]] = devices as [(typeof devices)[number]];
      const lanes_of_devices = JSON.parse(device_lanes) as string[];
      const [item] = items;
      // The job that ends questions may not have seen it yet (§3.1.3).
      const is_overdue = status === "pending" && seconds(expires_ms) <= now;
      return reportOf({
        question: {
          ...{ id: question_id, account_id, key_id, task_id },
          status: is_overdue ? "expired" : status,
          asks_permission: asks_permission === 1,
          asked_at: seconds(created_ms),
          expires_at: seconds(expires_ms),
          answered_at: maybe(answered_ms),
          cancelled_at: maybe(cancelled_ms),
        },
        targets: targets.map(
          ([id, lane, delivery, reason, queued, sent, shown, opened, ...rest]) => {
            const [failed_attempts, state, trouble, unconfirmed, due_ms, is_tried] = rest;
            const health = laneOf(lane);
            return {
              ...{ id, type: channelOf(unblockedLane(lane)) ?? lane, status: delivery, reason },
              queued_at: seconds(queued),
              sent_at: maybe(sent),
              shown_at: maybe(shown),
              opened_at: maybe(opened),
              failed_attempts: attemptsOf(failed_attempts),
              next_attempt_at: delivery === "queued" ? maybe(due_ms) : null,
              ...{ state, trouble, is_tried: is_tried === 1, is_unconfirmed: unconfirmed === 1 },
              lane: health?.state ?? "off",
              lane_reason: health?.reason ?? null,
            };
          },
        ),
        outcomes: outcomes.map(([target_id, outcome, reason, done_ms]) => ({
          ...{ target_id, was_sent: outcome === "sent", reason },
          at: seconds(done_ms),
        })),
        at: now,
        channels: channels.map(([id, type, state, error_code, created, lane]) => ({
          ...{ id, type, state, error_code },
          created_at: seconds(created),
          is_on: isOn(type, lane),
        })),
        devices: lanes_of_devices.length,
        devices_are_on: lanes_of_devices.some((lane) => isOn("", lane)),
        page_is_open: page_is_open === 1,
        blocked_at: maybe(blocked_ms),
        account_is_gone: account_gone === 1,
        key_is_gone: key_gone === 1,
        rings_at: maybe(rings_ms),
        remind_at: maybe(remind_ms),
        answered: {
          channel: by === null ? null : { id: by, type: by_type },
          session_id,
          by_api: by_api === 1,
        },
        item: item ? { received_at: maybe(item[0]), read_at: maybe(item[1]) } : null,
      });
    },
  };
}
