/**
 * Deliveries of questions, and the receipts of this page: which questions it showed, and which were
 * opened.
 */

import { type Delivery, faultOf, LATER } from "./api.ts";
import type { Calls } from "./pace.ts";
import { createSender } from "./sender.ts";
import type { Store } from "./store.ts";

type Event = "shown" | "opened";

interface Receipt {
  readonly question_id: string;
  readonly event: Event;
}

/** Seconds that receipts are collected before they are sent one by one. */
const GATHER = 1;
/** Seconds until receipts that the server has not accepted are sent again. */
const AGAIN = 30;
/** Most receipts that wait for the server; the oldest are dropped. */
const WAITING = 100;
/** Receipts that the page remembers, so as not to send them twice. */
const REMEMBERED = 5_000;

export type Receipts = ReturnType<typeof createReceipts>;

interface ReceiptsOptions {
  readonly calls: Calls;
  readonly store: Store;
  /** Aborts at sign-out. */
  readonly ended: AbortSignal;
}

/** The receipts of a session. Sends them one after the other while the store is `live`. */
export function createReceipts({ calls, store, ended }: ReceiptsOptions) {
  /** Receipts sent or waiting, by event and question: each is sent once. */
  const known = new Set<string>();
  let waiting: Receipt[] = [];
  const send = async () => {
    while (waiting.length > 0 && store.connection() === "live" && !ended.aborted) {
      const [next] = waiting;
      try {
        await calls.pace.call(ended, () => calls.api.deliveries.receive.mutate(next!));
      } catch (error) {
        if (LATER.has(faultOf(error).code)) break;
      }
      waiting = waiting.filter((one) => one !== next);
    }
    return AGAIN;
  };
  const isWaiting = () => waiting.length > 0;
  const { arm } = createSender({ store, ended, isWaiting, send, onLive: () => GATHER });

  return {
    /** Sends a receipt soon, once for each question and event. Never fails. */
    add(question_id: string, event: Event): void {
      const name = `${event} ${question_id}`;
      if (known.has(name)) return;
      if (known.size >= REMEMBERED) known.delete(known.values().next().value!);
      known.add(name);
      waiting = [...waiting, { question_id, event }].slice(-WAITING);
      arm(GATHER);
    },

    /** The deliveries of a question; null if they cannot be read now. */
    read: async (question_id: string, signal: AbortSignal): Promise<readonly Delivery[] | null> => {
      if (store.connection() !== "live") return null;
      try {
        const query = () => calls.api.deliveries.list.query({ question_id }, { signal });
        return (await calls.pace.call(signal, query)).deliveries;
      } catch {
        return null;
      }
    },
  };
}
