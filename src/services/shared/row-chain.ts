/**
 * Chains of changes: overlapping changes of one row are decided one after the other and share commits.
 *
 * Without a chain, each of many simultaneous changes of a row reads it, decides and writes, and all but one miss
 * the guard and start again. With a chain, a change is decided on the prediction: the row as the changes under way
 * in this process will leave it.
 *
 * Why no update is lost, done twice or answered wrongly:
 * - Each write is guarded in the store by the `revision` of the row it was decided on. Revisions are
 *   unique, so it takes effect only if the row is exactly that row, whoever wrote last.
 * - A change is answered from its own write, once that is durable. A change that alters nothing is
 *   answered once the write that it looked at is durable.
 * - If a write fails or misses, nothing after it in the chain finds its revision: all of them miss, have
 *   done nothing, and are decided again on the row as read again. If the outcome is unknown (503),
 *   those after it take effect exactly if it did. A neighbour that a bad statement made the store
 *   repeat one by one meets the same guards in the same order.
 * - A prediction is taken from memory with no wait between it and the call of the write, and the
 *   writes of a process are committed in the order of the calls.
 */

import { STORE_SECONDS } from "../../../db/store/store.ts";
import type { Clock } from "../../clock.ts";
import { fail, ServiceError } from "../../errors.ts";
import type { Change, Commit } from "./commit.ts";

/** Changes of one row under way at once in one process, four groups of commits; more wait. */
const MOST_CHANGES = 1_000;
/** Misses of one change, by changes of other processes, after which it claims the row. */
const MOST_MISSES = 3;

/** The decision on a row: what to write, and the answer. Without `write`, nothing changes. */
export interface Decision<Row, T> {
  /** The answer to the caller, once the decision holds in the store. */
  readonly result: T;
  readonly write?: {
    readonly change: Change;
    /** The row as the change leaves it; null: it deletes the row. */
    readonly after: Row | null;
  };
}

/** One request's change of a row. */
export interface RowChange<Row, T> {
  readonly id: string;
  /** The row, if the caller has read it already. */
  readonly first?: Row;
  /** True if the caller may see and change the row: then it need not be read to find that out. */
  readonly owns: (row: Row) => boolean;
  /** Reads the row in the scope of the caller; throws `404` or `401` when it has none. */
  readonly read: () => Promise<Row>;
  /** Changes the revision of the row in the caller's scope, and returns the row; undefined when the caller has none. */
  readonly claim: () => Promise<Row | undefined>;
  /** Reads what else the decision needs, before each time it is made. */
  readonly prepare?: () => Promise<void>;
  /** Decides in pure code, without a wait. */
  readonly decide: (row: Row) => Decision<Row, T>;
}

/** The row as the writes under way will leave it. A write that misses ends the prediction. */
interface Prediction<Row> {
  row: Row;
  /** The last write deletes the row. */
  gone: boolean;
  /** Writes that are not settled. */
  under_way: number;
  /** The last write: whether it took effect. */
  last: Promise<boolean>;
}

/** Kept while a request reads or changes the row, so that a read that was overtaken is noticed. */
interface ChainedRow<Row> {
  users: number;
  prediction: Prediction<Row> | null;
  /** A request of this process claims the row; the others wait for it. */
  claiming: Promise<Row | undefined> | null;
}

interface RowChainOptions {
  readonly commit: Commit;
  readonly clock: Clock;
}

/** The chains of one table in this process. Memory is held only for rows that are being changed. */
export function createRowChain<Row>({ commit, clock }: RowChainOptions) {
  const chains = new Map<string, ChainedRow<Row>>();

  /**
   * Gives the row a new revision, so that what other processes have decided on it by now misses, and a write that
   * follows at once takes effect. Undefined: the caller has no such row any more.
   */
  const claim = async (
    chain: ChainedRow<Row>,
    request: RowChange<Row, unknown>,
  ): Promise<Row | undefined> => {
    chain.prediction = null;
    chain.claiming = request.claim();
    try {
      return await chain.claiming;
    } finally {
      chain.claiming = null;
    }
  };

  /** Decides once; undefined: the row was not as expected, and nothing was done. */
  const attempt = async <T>(
    chain: ChainedRow<Row>,
    { owns, read, prepare, decide }: RowChange<Row, T>,
    first: Row | undefined,
  ): Promise<Decision<Row, T> | undefined> => {
    const begun = chain.prediction;
    const row_before = begun?.row;
    let found = first;
    if (!found && !(begun && begun.under_way > 0 && owns(begun.row))) found = await read();
    if (prepare) await prepare();

    // No wait from here to the write.
    const now = chain.prediction;
    if (chain.claiming) return undefined;
    // Writes of this process since the read began: it may have missed them.
    const overtaken = !found || (now && (now.under_way > 0 || now.row !== row_before));
    if (overtaken && !now) return undefined;
    const base = overtaken ? now : null;
    if (base && (base.gone || base.under_way >= MOST_CHANGES)) {
      // The next attempt reads, and finds out whether the row is really gone.
      await settled(base);
      return undefined;
    }
    const decision = decide(base ? base.row : found!);
    const { write } = decision;
    // What it found must not be shown before it is durable.
    if (!write) return !base || (await settled(base)) ? decision : undefined;

    const { after, change } = write;
    const last = commit(change);
    const own = base ?? { row: found!, gone: false, under_way: 0, last };
    if (after) own.row = after;
    else own.gone = true;
    own.under_way++;
    own.last = last;
    chain.prediction = own;
    let done = false;
    try {
      done = await last;
    } finally {
      own.under_way--;
      if (!done && chain.prediction === own) chain.prediction = null;
    }
    return done ? decision : undefined;
  };

  return {
    /**
     * Decides and writes; again, while another process changed the row in between. `503` when that
     * has gone on for `STORE_SECONDS` (§11.4.1).
     */
    async change<T>(request: RowChange<Row, T>): Promise<T> {
      const { id } = request;
      const until = clock.elapsed() + STORE_SECONDS;
      let chain = chains.get(id);
      if (!chain) {
        chain = { users: 0, prediction: null, claiming: null };
        chains.set(id, chain);
      }
      chain.users++;
      try {
        let decision = await attempt(chain, request, request.first);
        for (let misses = 1; !decision; misses++) {
          if (clock.elapsed() > until) {
            fail("store_unavailable", { cause: "a row changed at every try" });
          }
          let row: Row | undefined;
          if (chain.claiming) await chain.claiming;
          else if (misses >= MOST_MISSES && !chain.prediction?.under_way) {
            row = await claim(chain, request);
          }
          decision = await attempt(chain, request, row);
        }
        return decision.result;
      } finally {
        if (--chain.users === 0) chains.delete(id);
      }
    },
  };
}

/** Resolves to true if the last write took effect. Throws what makes the store unavailable. */
async function settled({ last }: Prediction<unknown>): Promise<boolean> {
  try {
    return await last;
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    // A fault of that change alone.
    return false;
  }
}
