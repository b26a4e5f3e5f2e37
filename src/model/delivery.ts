/** How far a question got: deliveries (§2.11), reach (§2.12) and receipts. */

import { z } from "zod";
import { LIMITS } from "../limits.ts";
import { Id, Timestamp } from "./text.ts";

export const DeliveryStatus = z
  .enum(["queued", "sent", "failed", "suppressed"])
  .meta({ id: "DeliveryStatus" });
export type DeliveryStatus = z.infer<typeof DeliveryStatus>;

const DeliveryTarget = z
  .object({
    type: z.string().meta({ description: "Name of the channel; `page` for open web pages" }),
    id: z.string().meta({ description: "Id of the device or channel; `page` for open web pages" }),
    label: z.string().meta({ description: "As it was when the question was asked" }),
  })
  .meta({ id: "DeliveryTarget" });

/** One question to one target. */
export const Delivery = z
  .object({
    id: z.string(),
    target: DeliveryTarget,
    status: DeliveryStatus,
    reason: z.string().nullable(),
    queued_at: Timestamp,
    sent_at: Timestamp.nullable(),
    shown_at: Timestamp.nullable(),
    opened_at: Timestamp.nullable(),
  })
  .meta({ id: "Delivery" });
export type Delivery = z.infer<typeof Delivery>;

/** The outcome of the test of a channel (§19.2.5). */
export const TestOutcome = Delivery.extend({
  answer_by: Timestamp.nullable().meta({
    description:
      "Until when its button can be pressed, which sets `reached_at`; null if it has none, or was not sent",
  }),
}).meta({ id: "ChannelTestOutcome" });
export type TestOutcome = z.infer<typeof TestOutcome>;

/** How far one delivery got: its status, or more than `sent`. */
export const Furthest = z.enum([...DeliveryStatus.options, "shown", "opened"]);
export type Furthest = z.infer<typeof Furthest>;

const ReachState = z.enum(["none", "sent", "shown", "opened"]).meta({ id: "ReachState" });

/** The furthest state of a question over all its deliveries, and what to expect. */
export const Reach = z
  .object({
    state: ReachState,
    at: Timestamp.nullable(),
    reachable: z.boolean(),
    typical_answer_seconds: z.int().min(0).max(LIMITS.expires_in_max).nullable(),
  })
  .meta({ id: "Reach" });
export type Reach = z.infer<typeof Reach>;

/** `shown`: the person could see it. `opened`: they opened or answered it. */
export const ReceiptEvent = z.enum(["shown", "opened"]).meta({ id: "ReceiptEvent" });
export type ReceiptEvent = z.infer<typeof ReceiptEvent>;

/** Body of `POST /v1/questions/{question_id}/receipts`. */
export const ReceiptInput = z.strictObject({
  event: ReceiptEvent,
  device_id: Id.exactOptional().meta({
    description: "The device that showed it; a web page if absent",
  }),
});

/** When a question first reached each state, epoch seconds; null if it has not. */
interface FirstTimes {
  readonly sent_at: number | null;
  readonly shown_at: number | null;
  readonly opened_at: number | null;
}

interface ReachFacts extends FirstTimes {
  readonly reachable: boolean;
  /** Seconds that the last answers of the key took. */
  readonly answers: readonly number[];
}

/** `exact`: false rounds the time down to the minute, as for keys. */
export function reachOf({ answers, reachable, ...times }: ReachFacts, exact: boolean): Reach {
  const [state, at] = stateOf(times);
  return {
    state,
    at: at === null || exact ? at : Math.floor(at / 60) * 60,
    reachable,
    typical_answer_seconds: typicalOf(answers),
  };
}

function stateOf({ sent_at, shown_at, opened_at }: FirstTimes): [Reach["state"], number | null] {
  if (opened_at !== null) return ["opened", opened_at];
  if (shown_at !== null) return ["shown", shown_at];
  return sent_at === null ? ["none", null] : ["sent", sent_at];
}

/** The median, in whole seconds; null for too few answers. */
function typicalOf(answers: readonly number[]): number | null {
  if (answers.length < LIMITS.typical_answers_min) return null;
  const sorted = answers.toSorted((a, b) => a - b);
  const median = Math.round(sorted[Math.floor((sorted.length - 1) / 2)]!);
  // Clocks of two processes may differ.
  return Math.min(Math.max(0, median), LIMITS.expires_in_max);
}

/** The reach of a pending question as a sentence for its agent (§12.3.6). */
export function describeReach(reach: Reach, now: number): string {
  const { state, at, reachable, typical_answer_seconds: typical } = reach;
  if (state === "none" && !reachable) {
    return "Nobody can be reached now: no device, no channel, no open page.";
  }
  const done = at === null ? "" : DONE[state](agoOf(now - at));
  const usual = typical === null ? "" : `; your questions usually take ${spanOf(typical)}`;
  return `${done || "Not sent yet"}${usual}.`;
}

const DONE: Readonly<Record<Reach["state"], (ago: string) => string>> = {
  none: () => "",
  sent: (ago) => `Sent ${ago}, not seen yet`,
  shown: (ago) => `Seen ${ago}`,
  opened: (ago) => `Opened ${ago}`,
};

const agoOf = (seconds: number): string => (seconds < 60 ? "just now" : `${spanOf(seconds)} ago`);

/** A duration in its largest unit. */
function spanOf(seconds: number): string {
  if (seconds < 60) return `${Math.max(1, Math.round(seconds))} s`;
  if (seconds < 3_600) return `${Math.round(seconds / 60)} min`;
  return `${Math.round(seconds / 3_600)} h`;
}
