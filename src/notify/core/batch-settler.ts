/** Settles many accepted deliveries in one batch. */

import { type AcceptedDelivery, settleAccepted } from "../../../db/notify/accepted.ts";
import type { Statement } from "../../../db/store/store.ts";
import { ServiceError } from "../../errors.ts";

interface Accepted {
  readonly row: AcceptedDelivery;
  /**
   * Further statements for its batch, at a time in epoch seconds. Equal ones of several deliveries are written once.
   */
  readonly others: (now: number) => readonly Statement[];
  /** The end of its lease, by {@link Clock.elapsed}. */
  readonly until: number;
}

interface BatchSettlerOptions {
  /** Deliveries in one batch at most. */
  readonly most: number;
  /** Resolves when the deliveries gathered so far should be written. */
  readonly beat: () => Promise<void>;
  /** Writes a batch, trying again until a moment of {@link Clock.elapsed}. */
  readonly write: (statements: readonly Statement[], until: number) => Promise<unknown>;
  /** Called when some were not settled: their leases run out, and they are sent once more. */
  readonly failed: (error: unknown) => void;
}

/**
 * Returns a function that adds an accepted delivery to the next batch. It resolves after the write was
 * tried, and never rejects. A batch that the store refuses is split, so that one bad delivery does not
 * hold up the others.
 */
export function createBatchSettler({ most, beat, write, failed }: BatchSettlerOptions) {
  let gathering: ReturnType<typeof gather> | undefined;

  const settle = async (accepted: readonly Accepted[]): Promise<void> => {
    const rows = accepted.map(({ row }) => row);
    const now = Math.max(...rows.map(({ done_at }) => done_at));
    const until = Math.min(...accepted.map((one) => one.until));
    const others = distinct(accepted.flatMap((one) => one.others(now)));
    await write([...settleAccepted(rows, now), ...others], until).catch(async (error: unknown) => {
      if (accepted.length === 1 || error instanceof ServiceError) return failed(error);
      const middle = accepted.length >> 1;
      const halves = [accepted.slice(0, middle), accepted.slice(middle)];
      await Promise.all(halves.map(settle));
    });
  };

  const gather = () => {
    const accepted: Accepted[] = [];
    const written: Promise<void> = beat().then(() => {
      if (gathering?.accepted === accepted) gathering = undefined;
      return settle(accepted);
    });
    return { accepted, written };
  };

  return async (one: Accepted): Promise<void> => {
    gathering ??= gather();
    const { accepted, written } = gathering;
    accepted.push(one);
    if (accepted.length >= most) gathering = undefined;
    await written;
  };
}

/** Most deliveries to one channel have the same further statements. */
function distinct(statements: readonly Statement[]): Statement[] {
  const seen = new Map(statements.map((one) => [JSON.stringify([one.sql, one.args]), one]));
  return [...seen.values()];
}
