/** Spreads work that comes in waves over turns of the event loop, so that requests have theirs in between. */

import type { Connection } from "./channel.ts";

/** The result resolves when its caller may begin, in the order of the calls; `most` begin in one turn of the loop. */
export function createTurns(most: number): () => Promise<void> {
  /** No more than there are requests under way, which the slots of the lanes bound. */
  const waiting: (() => void)[] = [];
  /** Callers that began in this turn. */
  let begun = 0;
  let armed = false;

  const endTurn = () => {
    const next = waiting.splice(0, most);
    begun = next.length;
    armed = begun > 0;
    if (armed) setImmediate(endTurn);
    for (const begin of next) begin();
  };

  return () => {
    if (!armed) {
      armed = true;
      setImmediate(endTurn);
    }
    if (begun >= most) return new Promise((begin) => waiting.push(begin));
    begun++;
    return Promise.resolve();
  };
}

/** The same connection, but each request, and what follows its answer, waits for its turn. */
export function inTurns(connection: Connection, turn: () => Promise<void>): Connection {
  return {
    ...connection,
    async send(request, origin) {
      await turn();
      const answer = await connection.send(request, origin);
      await turn();
      return answer;
    },
  };
}
