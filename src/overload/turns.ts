/** Spreads work over turns of the event loop, so that a wave of it does not hold up everything else. */

/**
 * Limits how many callers begin in one turn of the event loop: at most `most`, in the order of their calls. The
 * returned function is undefined when its caller may begin now, else a promise that resolves once it may. The queue has
 * no bound of its own: each caller is a connection or a delivery, which are bounded elsewhere.
 */
export function createTurns(most: number): () => Promise<void> | undefined {
  const waiting: (() => void)[] = [];
  /** Callers that began in this turn. */
  let begun = 0;

  const endTurn = () => {
    const next = waiting.splice(0, most);
    begun = next.length;
    if (begun > 0) setImmediate(endTurn);
    for (const begin of next) begin();
  };

  return () => {
    if (begun >= most) return new Promise((begin) => waiting.push(begin));
    if (begun++ === 0) setImmediate(endTurn);
    return undefined;
  };
}

/** Returns a function that gives the same object throughout one turn of the event loop, and another one in the next. */
export function createTurnMark(): () => object {
  let mark: object | undefined;
  const endTurn = () => {
    mark = undefined;
  };
  return () => {
    if (!mark) {
      mark = {};
      setImmediate(endTurn);
    }
    return mark;
  };
}
