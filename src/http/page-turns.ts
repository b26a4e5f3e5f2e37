/** Turns of pages: few of one credential are under way, and all take turns (docs/interface.md 11.2.4). */

import { type HeavyWork, tooMuchWork } from "../heavy-work.ts";
import { HEAVY_WORK } from "../limits.ts";

/** The pages of one credential. */
interface Own {
  under_way: number;
  readonly waiting: (() => void)[];
}

/**
 * A page costs its credential tokens by its size, which is known only once it was made. So few are made
 * at once, and the others meet the debt that these leave.
 */
export function createPageTurns(heavy_work: Pick<HeavyWork, "next">) {
  const owners = new Map<string, Own>();

  const leave = (owner: string, own: Own): void => {
    const next = own.waiting.shift();
    if (next) next();
    else if (--own.under_way === 0) owners.delete(owner);
  };

  return {
    /**
     * Resolves once the next page of `owner` may be made; call what it gives when the page was made.
     * Throws `503 store_unavailable` when too much work waits.
     */
    async enter(owner: string): Promise<() => void> {
      const own = owners.get(owner) ?? { under_way: 0, waiting: [] };
      owners.set(owner, own);
      if (own.waiting.length >= HEAVY_WORK.queued) throw tooMuchWork();
      if (own.under_way < HEAVY_WORK.pages_per_credential) own.under_way++;
      else await new Promise<void>((next) => own.waiting.push(next));
      try {
        await heavy_work.next(owner);
      } catch (error) {
        leave(owner, own);
        throw error;
      }
      return () => leave(owner, own);
    },
  };
}
