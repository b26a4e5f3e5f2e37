/** The change feed of a libSQL server, which reports that some process committed an event. */

import type { Clock } from "../../src/clock.ts";
import { proxyOptions } from "../../src/loopback.ts";
import type { Endpoint } from "./hrana.ts";

/** Seconds until a second look: the feed fires just before the commit is visible. */
const SECOND_LOOK = 0.01;
/** Seconds until a feed is opened again that ended, or that the server does not have. */
const REOPEN = { ended: 0.25, missing: 60 };

export function createChangeFeed({ base, auth_token }: Endpoint, clock: Clock) {
  const closing = new AbortController();
  let is_open = false;
  let letGo = () => {};

  const follow = async (changed: () => void): Promise<void> => {
    while (!closing.signal.aborted) {
      let pause = REOPEN.ended;
      const leaving = new AbortController();
      letGo = () => leaving.abort();
      try {
        const response = await fetch(`${base}/beta/listen?table=events&action=insert`, {
          ...proxyOptions(base),
          signal: AbortSignal.any([closing.signal, leaving.signal]),
          ...(auth_token !== undefined && { headers: { authorization: `Bearer ${auth_token}` } }),
        });
        if (!response.ok || !response.body) {
          pause = REOPEN.missing;
        } else {
          is_open = true;
          for await (const _ of response.body) {
            changed();
            clock.after(SECOND_LOOK, changed);
          }
        }
      } catch {
        // The look below finds out what happened.
      }
      is_open = false;
      if (closing.signal.aborted) return;
      changed();
      await new Promise<void>((next) => clock.after(pause, next));
    }
  };

  return {
    /** Calls `changed` soon after each commit, and when the feed ended. */
    watch(changed: () => void): void {
      void follow(changed);
    },
    /** False while the server has no feed, or cannot be reached. */
    isOpen: (): boolean => is_open,
    /**
     * Ends the connection, and opens it again. A server that is stopped accepts no more connections, and waits for those
     * that are open: for this one, which has no end, 30 seconds.
     */
    letGo: (): void => letGo(),
    close: (): void => closing.abort(),
  };
}
