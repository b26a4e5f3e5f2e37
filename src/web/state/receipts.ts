/** How far questions got, and the receipts of this page: what it showed and what was opened in it. */

import { after } from "../clock.ts";
import { type Api, type Delivery, faultOf } from "./api.ts";
import type { Pace } from "./pace.ts";
import type { Store } from "./store.ts";

type Event = "shown" | "opened";

interface Receipt {
  readonly question_id: string;
  readonly event: Event;
}

/** Seconds in which receipts gather before they are sent, one after the other. */
const GATHER = 1;
/** Seconds until what the server has not taken is sent again. */
const AGAIN = 30;
/** Receipts that wait for the server, at most; the oldest are dropped. */
const WAITING = 100;
/** Receipts that the page remembers to have sent. */
const REMEMBERED = 5_000;

export type Receipts = ReturnType<typeof createReceipts>;

interface ReceiptsOptions {
  readonly api: Api;
  readonly pace: Pace;
  readonly store: Store;
  /** Aborts at sign-out. */
  readonly ended: AbortSignal;
}

export function createReceipts(first: ReceiptsOptions) {
  const { store, ended } = first;
  let { api, pace } = first;
  /** Sent or waiting: each is sent once. */
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
        if (UNSENT.has(faultOf(error).code)) break;
      }
      waiting = waiting.filter((one) => one !== next);
    }
    sending = false;
    // Without a connection, the store says when there is one.
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
    /** Tells the server, soon; once for each question and event. Never fails. */
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

/** Codes after which the server has not taken the receipt, and may later. */
const UNSENT: ReadonlySet<string> = new Set([
  "offline",
  "unanswered",
  "store_unavailable",
  "internal",
  "unauthorized",
]);
