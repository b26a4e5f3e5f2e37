/**
 * Looks again how many items of an inbox an agent has not got. A read that returned an answer to the agent sends no event
 * (§5.9.6), and comes right after the answer.
 */

import { pause, systemTimers } from "../../client/timers.ts";
import type { Api } from "./api.ts";
import type { Pace } from "./pace.ts";
import type { Store } from "./store.ts";

/** Seconds between an event and the look, and between two looks, of whatever agents. */
const LOOK_AFTER = 2;

interface UnreceivedOptions {
  readonly api: Api;
  readonly pace: Pace;
  readonly store: Pick<Store, "inboxChanged" | "unreadOf">;
}

/** Call the result with the id of the agent whose inbox has items; `signal` ends all looks of its connection. */
export function createUnreceivedLooks({ api, pace, store }: UnreceivedOptions) {
  const waiting = new Set<string>();
  let busy = false;

  const look = async (key_id: string, signal: AbortSignal): Promise<void> => {
    const before = store.unreadOf(key_id);
    const { unreceived } = await pace.call(signal, () =>
      api.inbox.ofKey.query({ key_id, limit: 1 }, { signal }),
    );
    // An event that arrived meanwhile has a newer number.
    if (store.unreadOf(key_id) === before && unreceived !== before) {
      store.inboxChanged(key_id, unreceived);
    }
  };

  return async (key_id: string, signal: AbortSignal): Promise<void> => {
    waiting.add(key_id);
    if (busy) return;
    busy = true;
    try {
      while (waiting.size > 0) {
        await pause(systemTimers, LOOK_AFTER, signal);
        const [next] = waiting;
        waiting.delete(next!);
        // An agent may be gone.
        await look(next!, signal).catch(() => {});
      }
    } catch {
      // The connection ended; the page loads everything anew.
      waiting.clear();
    } finally {
      busy = false;
    }
  };
}
