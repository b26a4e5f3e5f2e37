/**
 * Deliveries of questions, and the receipts of this page: which questions it showed, and which were
 * opened.
 */

import { after } from "../clock.ts";
import { type Api, type Delivery, faultOf, LATER } from "./api.ts";
import type { Pace } from "./pace.ts";
import type { Store } from "./store.ts";

type Event = "shown" | "opened";

interface Receipt {
  readonly question_id: string;
  readonly event: Event;
}

/** Seconds for which receipts are collected before they are sent, one after the other. */
const GATHER = 1;
/** Seconds until receipts that the server has not taken are sent again. */
const AGAIN = 30;
/** Receipts that wait for the server, at most; the oldest are dropped. */
const WAITING = 100;
/** Receipts that the page remembers, so as not to send them twice. */
const REMEMBERED = 5_000;

export type Receipts = ReturnType<typeof createReceipts>;

interface ReceiptsOptions {
  readonly api: Api;
  readonly pace: Pace;
  readonly store: Store;
  /** Aborts at sign-out. */
  readonly ended: AbortSignal;
}

/** The receipts of a session. Sends them one after the other while the store is `live`. */
export function createReceipts(first: ReceiptsOptions) {
  const { store, ended } = first;
  let { api, pace } = first;
  /** Receipts sent or waiting, by event and question: each is sent once. */
  const known = new Set<string>();
  let waiting: Receipt[] = [];
  let sending = false;
  let cancel: (() => void) | undefined;

  const arm = (seconds: number) => {
    if (cancel || sending || waiting.length === 0 || ended.aborted) return;
    cancel = after(seconds, () => {
      cancel = undefined;
      void send();
    });
  };

  const send = async () => {
    sending = true;
    while (waiting.length > 0 && store.link() === "live" && !ended.aborted) {
      const [next] = waiting;
      try {
        await pace.call(ended, () => api.deliveries.receive.mutate(next!));
      } catch (error) {
        if (LATER.has(faultOf(error).code)) break;
      }
      waiting = waiting.filter((one) => one !== next);
    }
    sending = false;
    // Otherwise they are sent when the connection is back.
    if (store.link() === "live") arm(AGAIN);
  };

  let was_live = store.link() === "live";
  const stop = store.subscribe(() => {
    const is_live = store.link() === "live";
    if (is_live && !was_live) {
      cancel?.();
      cancel = undefined;
      arm(GATHER);
    }
    was_live = is_live;
  });
  ended.addEventListener("abort", stop);

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
      if (store.link() !== "live") return null;
      try {
        const query = () => api.deliveries.list.query({ question_id }, { signal });
        return (await pace.call(signal, query)).deliveries;
      } catch {
        return null;
      }
    },

    /** Continues with another token. */
    continueWith(next: Pick<ReceiptsOptions, "api" | "pace">): void {
      ({ api, pace } = next);
    },
  };
}
