/** Bodies that are under way, in the whole process: what they may hold together, and who goes first. */

import { ServiceError } from "../errors.ts";

/** One body that is being read. */
interface UnderWay {
  /** Bytes that it is counted with. */
  bytes: number;
  readonly giveUp: (error: ServiceError) => void;
}

/**
 * Bun keeps what came of a body until its request is answered, and anybody can send half of one. Once
 * all of them hold more than `most` bytes, the request whose body has been under way the longest is
 * answered `429 rate_limited`, which frees it: one that gets on is done long before.
 */
export function createBodyRoom(most: number) {
  /** The oldest first. */
  const bodies = new Set<UnderWay>();
  let held = 0;

  const leave = (body: UnderWay): void => {
    if (bodies.delete(body)) held -= body.bytes;
  };

  return {
    enter(giveUp: UnderWay["giveUp"]): UnderWay {
      const body = { bytes: 0, giveUp };
      bodies.add(body);
      return body;
    },

    /** Counts so many bytes more for it, unless it was given up. */
    hold(body: UnderWay, bytes: number): void {
      if (!bodies.has(body)) return;
      body.bytes += bytes;
      held += bytes;
      for (const oldest of bodies) {
        if (held <= most) return;
        leave(oldest);
        oldest.giveUp(
          new ServiceError("rate_limited", {
            detail: "Too many bodies are under way, and this one has been for the longest.",
          }),
        );
      }
    },

    leave,
  };
}
