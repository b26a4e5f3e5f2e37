/** How far questions got, and the receipts that say so (docs/interface.md §5.7.7, §5.7.8). */

import {
  type DeliveryRow,
  deliveriesOfQuestion,
  reachFacts,
  receiptGrounds,
  takeDeviceReceipt,
  takePageReceipt,
  takeReceipt,
} from "../../db/notify/question-deliveries.ts";
import { PAGE } from "../../db/notify/schema.ts";
import { questionById } from "../../db/questions.ts";
import type { StoreClock } from "../../db/store-time.ts";
import { failFields, failNotFound } from "../errors.ts";
import type { AccountCaller, Caller } from "../model/caller.ts";
import { type Delivery, type Reach, type ReceiptEvent, reachOf } from "../model/delivery.ts";
import type { Question } from "../model/question.ts";
import type { ServiceDeps } from "./deps.ts";
import { failInTrial, trialSince } from "./trial.ts";

/** Seconds that a tool's result waits for the deliveries of its question. */
const REACH_SECONDS = 1;

export type Deliveries = ReturnType<typeof createDeliveries>;

interface DeliveriesDeps extends Pick<ServiceDeps, "store" | "clock" | "assertLive"> {
  readonly storeClock: StoreClock;
  /** The lanes that can send a question now. */
  readonly openLanes: () => readonly string[];
  /** Name of the channel that a lane belongs to; null for a lane of another version. */
  readonly channelOf: (lane: string) => string | null;
}

interface Receipt {
  readonly event: ReceiptEvent;
  /** A page when absent. */
  readonly device_id?: string | undefined;
}

const seconds = (ms: number | null): number | null => (ms === null ? null : ms / 1000);

export function createDeliveries(deps: DeliveriesDeps) {
  const { store, clock, storeClock, openLanes, channelOf, assertLive } = deps;

  const readReach = async (
    caller: Caller,
    { id, key_id }: Pick<Question, "id" | "key_id">,
    within?: number,
  ): Promise<Reach> => {
    const store_now = await storeClock.now();
    const lanes = JSON.stringify(openLanes());
    const values = { question_id: id, key_id, account_id: caller.account_id, lanes, store_now };
    const [row] = await store.read(reachFacts(values), { within });
    const [sent, shown, opened, reachable, answers] = row!;
    const facts = {
      sent_at: seconds(sent),
      shown_at: seconds(shown),
      opened_at: seconds(opened),
      reachable: reachable === 1,
      answers: JSON.parse(answers) as number[],
    };
    return reachOf(facts, caller.kind === "account");
  };

  const deliveryOf = ({ id, lane, target_id, label, ...rest }: DeliveryRow): Delivery => {
    const { status, reason, queued_at, sent_at, shown_at, opened_at } = rest;
    return {
      id,
      target: { type: channelOf(lane) ?? lane, id: target_id, label },
      status,
      reason,
      queued_at,
      sent_at,
      shown_at,
      opened_at,
    };
  };

  return {
    /** A key gets no deliveries: which devices there are is the person's business (§5.7.7). */
    async list(caller: Caller, question_id: string) {
      const [row] = await store.read(questionById(caller, question_id));
      if (!row) {
        await assertLive(caller);
        return failNotFound("question_id");
      }
      const [rows, reach] = await Promise.all([
        caller.kind === "account" ? store.read(deliveriesOfQuestion({ question_id })) : [],
        readReach(caller, row.question),
      ]);
      return { deliveries: rows.map(deliveryOf), reach };
    },

    /** For a tool's result, which does not wait long for it; null when it cannot be read now. */
    reach: (caller: Caller, question: Question): Promise<Reach | null> =>
      readReach(caller, question, REACH_SECONDS).catch(() => null),

    /**
     * The first of each kind counts, for each target; `404` for another's question or device, `403 forbidden` for
     * another sign-in's device in the caller's trial.
     */
    async receive(caller: AccountCaller, question_id: string, { event, device_id }: Receipt) {
      const { account_id } = caller;
      const { ticket } = caller;
      // A ticket says which channel it is.
      if (ticket && device_id !== undefined) failFields({ device_id: "is not for a ticket" });
      const target_id = ticket?.channel_id ?? device_id ?? PAGE;
      const now_ms = Math.round(clock.now() * 1000);
      const values = {
        question_id,
        account_id,
        target_id,
        now_ms,
        shown_ms: event === "shown" ? now_ms : null,
        opened_ms: event === "opened" ? now_ms : null,
        device_id: device_id ?? null,
        session_id: caller.session_id,
        credential: caller.credential,
        trial_since: trialSince(clock.now()),
      };
      const insert = device_id === undefined ? takePageReceipt : takeDeviceReceipt;
      const added = ticket ? [] : [insert(values)];
      const results = await store.write([takeReceipt(values), ...added]);
      if (results.some(({ changes }) => changes > 0)) return;
      const [grounds] = await store.read(receiptGrounds(values));
      const [question, target, may_receive] = grounds!;
      if (question && may_receive && (target || (device_id === undefined && !ticket))) return;
      await assertLive(caller);
      if (question && target && !may_receive) failInTrial();
      failNotFound(question ? "device_id" : "question_id");
    },
  };
}
