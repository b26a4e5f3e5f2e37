/** How far questions got (§5.7.7), and receipts from devices and web pages (§5.7.8). */

import {
  type DeliveryRow,
  deliveriesOfQuestion,
  reachFacts,
  receiptFacts,
  recordDeviceReceipt,
  recordPageReceipt,
  recordReceipt,
} from "../../db/notify/question-deliveries.ts";
import { PAGE } from "../../db/notify/schema.ts";
import { questionById } from "../../db/questions.ts";
import { failFields, failNotFound } from "../errors.ts";
import type { AccountCaller, Caller } from "../model/caller.ts";
import { type Delivery, type Reach, type ReceiptEvent, reachOf } from "../model/delivery.ts";
import { unblockedLane } from "../model/notification.ts";
import type { Question } from "../model/question.ts";
import { readOwn, type ServiceDeps } from "./shared/deps.ts";
import { failInTrial, trialSince } from "./shared/trial.ts";

/** Seconds that a tool's result waits for the deliveries of its question. */
const REACH_SECONDS = 1;

interface DeliveriesDeps extends Pick<ServiceDeps, "store" | "clock" | "assertLive"> {
  /** The lanes that can send questions now. */
  readonly openLanes: () => readonly string[];
  /** Name of the channel that a lane belongs to; null for a lane that this version does not know. */
  readonly channelOf: (lane: string) => string | null;
}

interface Receipt {
  readonly event: ReceiptEvent;
  /** The device that showed the question; absent for a web page. */
  readonly device_id?: string | undefined;
}

const seconds = (ms: number | null): number | null => (ms === null ? null : ms / 1000);

export function createDeliveries(deps: DeliveriesDeps) {
  const { store, clock, openLanes, channelOf, assertLive } = deps;

  const readReach = async (
    caller: Caller,
    { id, key_id }: Pick<Question, "id" | "key_id">,
    within?: number,
  ): Promise<Reach> => {
    const lanes = JSON.stringify(openLanes());
    const values = {
      question_id: id,
      key_id,
      account_id: caller.account_id,
      lanes,
      store_now: clock.now(),
    };
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

  const deliveryOf = ({ id, lane, target_id, label, ...rest }: DeliveryRow): Delivery => ({
    id,
    target: { type: channelOf(unblockedLane(lane)) ?? lane, id: target_id, label },
    ...rest,
  });

  return {
    /** The deliveries of a question. A key gets none: it is not told which devices the person has (§5.7.7). */
    async list(caller: Caller, question_id: string) {
      const { question } = await readOwn(
        deps,
        caller,
        questionById(caller, question_id),
        "question_id",
      );
      const [rows, reach] = await Promise.all([
        caller.kind === "account" ? store.read(deliveriesOfQuestion({ question_id })) : [],
        readReach(caller, question),
      ]);
      return { deliveries: rows.map(deliveryOf), reach };
    },

    /** How far a question got, for the result of a tool; null if it cannot be read within {@link REACH_SECONDS}. */
    reach: (caller: Caller, question: Question): Promise<Reach | null> =>
      readReach(caller, question, REACH_SECONDS).catch(() => null),

    /**
     * Records a receipt; for each target, the first of each kind counts. `403 forbidden` for another sign-in's device
     * in the caller's trial, `404 not_found`.
     */
    async receive(caller: AccountCaller, question_id: string, { event, device_id }: Receipt) {
      const { account_id, ticket } = caller;
      // A ticket belongs to a channel.
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
      const insert = device_id === undefined ? recordPageReceipt : recordDeviceReceipt;
      const added = ticket ? [] : [insert(values)];
      const results = await store.write([recordReceipt(values), ...added]);
      if (results.some(({ changes }) => changes > 0)) return;
      const [grounds] = await store.read(receiptFacts(values));
      const [question, target, may_receive] = grounds!;
      if (question && may_receive && (target || (device_id === undefined && !ticket))) return;
      await assertLive(caller);
      if (question && target && !may_receive) failInTrial();
      failNotFound(question ? "device_id" : "question_id");
    },
  };
}
