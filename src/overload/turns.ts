/** Spreads work over turns of the event loop, so that a wave of it does not hold up everything else. */

/**
 * Limits how many callers begin in one turn of the event loop: at most `most`, in the order of their calls. The queue
 * has no bound of its own: each caller is a connection or a delivery, which are bounded elsewhere.
 */
export function createTurns(most: number) {
  const waiting: (() => void)[] = [];
  /** Callers that began in this turn. */
  let begun = 0;
  let ended = 0;

  const endTurn = () => {
    ended++;
    const next = waiting.splice(0, most);
    begun = next.length;
    if (begun > 0) setImmediate(endTurn);
    for (const begin of next) begin();
  };

  return {
    /** Undefined if the caller may begin now, else a promise that resolves once it may. */
    begin(): Promise<void> | undefined {
      if (begun >= most) return new Promise((begin) => waiting.push(begin));
      if (begun++ === 0) setImmediate(endTurn);
      return undefined;
    },
    /** How many turns in which a caller began have ended. */
    ended: (): number => ended,
  };
}
