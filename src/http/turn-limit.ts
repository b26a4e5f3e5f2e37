/** Bounds the requests that one turn of the event loop handles. */

/** Requests that one turn of the event loop handles; the rest wait for the next one. */
export const PER_TURN = 128;

/**
 * Bun handles every request of a packet in one turn while each is answered at once, and one packet can
 * hold thousands. Above `PER_TURN` a request waits for the next turn: a pipelining
 * connection is then closed by Bun, and any other is served a moment later (§1.2.9).
 */
export function createTurnLimit() {
  let handled = 0;
  let next: Promise<void> | undefined;

  const begin = (): void => {
    handled = 0;
    next = undefined;
  };

  return {
    /** Undefined when the request may be handled now; otherwise a promise, after which the client may be gone. */
    wait(): Promise<void> | undefined {
      if (handled++ === 0) setImmediate(begin);
      if (handled <= PER_TURN) return undefined;
      next ??= new Promise((resume) => setImmediate(resume));
      return next;
    },
  };
}
