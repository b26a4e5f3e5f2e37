/**
 * The write queue of a process: waiting batches share a commit, in the order of their calls. Background work has a
 * second queue, which takes turns with that of requests.
 */

import { type Cancel, type Clock, type Due, forgiveStall } from "../../src/clock.ts";
import { ServiceError } from "../../src/errors.ts";
import { createHistogram } from "../../src/observability/metrics.ts";
import type { ReportFault } from "./faults.ts";
import {
  endsInTime,
  STORE_SECONDS,
  type Statement,
  type StoreStats,
  unavailable,
  type WriteOptions,
  type WriteResult,
} from "./store.ts";

/** Batches that wait for their commit, and the characters of their texts together. */
export const QUEUED = 4_096;
export const QUEUED_SIZE = 64 * 1024 * 1024;

/**
 * Most batches in one commit, and most characters of their texts unless a single batch has more. So no batch waits
 * long for its neighbours, and reads get their turn.
 */
const GROUP = 256;
const GROUP_SIZE = 1024 * 1024;

/**
 * Batches of background work in one commit: one beside requests, `alone` if no request wrote for `quiet` seconds, and
 * at least `part` of those that wait, so that none becomes overdue. A batch, such as the end of 16 notifications,
 * takes as long as five changes by requests.
 */
const BACKGROUND = { alone: 8, quiet: 0.05, part: 1 / 8 };

/** Buckets of the histograms: seconds of a commit, and batches in it. */
const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const BATCHES = [1, 2, 4, 8, 16, 32, 64, 128, GROUP];

/**
 * Seconds. After a commit slower than `after`, the next one waits for `part` of its time: the clients just answered
 * send again soon, and would otherwise miss the next group.
 */
const GATHER = { after: 0.003, part: 0.15, most: 0.004 };

/** Seconds before a batch is due from which on no attempt begins. */
const MARGIN = 0.1;

/** Most seconds between two checks for overdue batches. A late check shows a stall of the process. */
const SWEEP_EVERY = 0.5;

/** `due` is when its caller gets `503`. */
interface Job extends Due {
  readonly statements: readonly Statement[];
  /** Characters of its texts. */
  readonly size: number;
  readonly resolve: (results: WriteResult[]) => void;
  readonly reject: (error: unknown) => void;
  /** True once its caller has an answer. */
  answered: boolean;
}

/**
 * Commits all of a group or nothing. Rejects with a `ServiceError` if the store cannot be used. Must not begin after
 * `until` (by {@link Clock.elapsed}), when its callers have got `503`.
 */
type CommitGroup = (statements: readonly Statement[], until: number) => Promise<WriteResult[]>;

/**
 * Commits one group at a time. A batch without a result `STORE_SECONDS` seconds after its call, not counting one
 * stall of the process, is rejected with `503 store_unavailable`. If it still waits, it is never written; if it is
 * under way, it may be.
 */
export function createWriteQueue(commit: CommitGroup, clock: Clock, report: ReportFault) {
  /** Both are in the order of the calls, and so of `due`. */
  const requests: Job[] = [];
  const background: Job[] = [];
  const queues = [requests, background] as const;
  /** The queue of the group under way, or of the last one. */
  let turn: (typeof queues)[number] = requests;
  let under_way: readonly Job[] = [];
  let queued_bytes = 0;
  /** When a request last wrote, by {@link Clock.elapsed}. */
  let requested_at = Number.NEGATIVE_INFINITY;
  const durations = createHistogram(SECONDS);
  const groups = createHistogram(BATCHES);
  let failed = 0;
  let writable = true;
  let running: Promise<void> | undefined;
  let cancel_sweep: Cancel | undefined;
  let closed = false;

  const settle = async (jobs: readonly Job[]): Promise<void> => {
    const started = clock.elapsed();
    try {
      const results = await commit(
        jobs.flatMap((job) => job.statements),
        jobs[0]!.due - MARGIN,
      );
      writable = true;
      durations.observe(clock.elapsed() - started);
      groups.observe(jobs.length);
      let from = 0;
      for (const job of jobs) {
        job.answered = true;
        job.resolve(results.slice(from, from + job.statements.length));
        from += job.statements.length;
      }
    } catch (error) {
      const away = error instanceof ServiceError;
      // A bad statement undid its whole group. The halves are tried apart until it is alone.
      if (jobs.length > 1 && !away) {
        const middle = jobs.length >> 1;
        await settle(jobs.slice(0, middle));
        await settle(jobs.slice(middle));
        return;
      }
      if (away) {
        writable = false;
        report(error);
      }
      failed += jobs.length;
      for (const job of jobs) refuse(job, error);
    }
  };

  const refuse = (job: Job, error: unknown): void => {
    job.answered = true;
    job.reject(error);
  };

  const queued = () => requests.length + background.length;

  /** Takes up to `most` batches off a queue, to share a commit. */
  const take = (queue: Job[], most: number): Job[] => {
    let count = 0;
    let size = 0;
    for (const job of queue) {
      size += job.size;
      if (count > 0 && (count === most || size > GROUP_SIZE)) break;
      count++;
    }
    const group = queue.splice(0, count);
    for (const job of group) queued_bytes -= job.size;
    return group;
  };

  /**
   * The queues take turns while neither is empty. While background work is written, the clients just answered send
   * again, and their next group waits for little of it.
   */
  const nextGroup = (): Job[] => {
    const is_background = background.length > 0 && (turn === requests || requests.length === 0);
    turn = is_background ? background : requests;
    if (!is_background) return take(requests, GROUP);
    const is_alone = clock.elapsed() >= requested_at + BACKGROUND.quiet;
    const part = Math.ceil(background.length * BACKGROUND.part);
    return take(background, Math.min(Math.max(part, is_alone ? BACKGROUND.alone : 1), GROUP));
  };

  const run = async () => {
    let gather = 0;
    while (queued() > 0) {
      // A macrotask, so that every request of this turn of the event loop joins the group.
      await new Promise<void>((next) => setImmediate(next));
      if (gather > 0) await new Promise<void>((next) => clock.after(gather, next));
      under_way = nextGroup();
      const started = clock.elapsed();
      await settle(under_way);
      under_way = [];
      const took = clock.elapsed() - started;
      const is_slow = turn === requests && took > GATHER.after;
      gather = is_slow ? Math.min(took * GATHER.part, GATHER.most) : 0;
    }
    running = undefined;
  };

  /** Rejects overdue batches. Each batch is forgiven one stall of the process. */
  const sweep = (expected: number) => {
    cancel_sweep = undefined;
    const now = clock.elapsed();
    forgiveStall(now - expected, under_way);
    const overdue = queues.flatMap((queue) => {
      forgiveStall(now - expected, queue);
      const late = queue.findIndex(({ due }) => due > now);
      return queue.splice(0, late < 0 ? queue.length : late);
    });
    for (const { size } of overdue) queued_bytes -= size;
    const given_up = [...under_way, ...overdue].filter((job) => !job.answered && job.due <= now);
    if (given_up.length > 0) {
      writable = false;
      failed += overdue.length;
      const error = unavailable("the store did not answer in time");
      report(error);
      for (const job of given_up) refuse(job, error);
    }
    arm();
  };

  const arm = () => {
    if (cancel_sweep) return;
    const now = clock.elapsed();
    const first_under_way = under_way.find((job) => !job.answered && job.due > now);
    const dues = [first_under_way, requests[0], background[0]].flatMap((job) =>
      job ? [job.due] : [],
    );
    if (dues.length === 0) return;
    const expected = now + Math.min(Math.max(Math.min(...dues) - now, 0.001), SWEEP_EVERY);
    cancel_sweep = clock.after(expected - now, () => sweep(expected));
  };

  return {
    write(
      statements: readonly Statement[],
      { in_background = false }: WriteOptions = {},
    ): Promise<WriteResult[]> {
      if (closed) return Promise.reject(unavailable("closed"));
      const size = sizeOf(statements);
      const full = queued() >= QUEUED || (queued() > 0 && queued_bytes + size > QUEUED_SIZE);
      if (full) {
        const error = unavailable("the write queue is full");
        report(error);
        return Promise.reject(error);
      }
      return new Promise((resolve, reject) => {
        const now = clock.elapsed();
        const due = now + STORE_SECONDS;
        if (!in_background) requested_at = now;
        const queue = in_background ? background : requests;
        queue.push({ statements, size, due, resolve, reject, answered: false, moved: false });
        queued_bytes += size;
        arm();
        running ??= run();
      });
    },
    /** False after a commit failed or did not end in time, until one succeeds. */
    writable: (): boolean => writable,
    stats: (): StoreStats => ({ durations, groups, failed, queued: queued() }),
    /**
     * Refuses further batches, and waits until the others are settled. Returns false if a commit does not end within
     * `STORE_SECONDS` seconds: its connection is then still in use.
     */
    async close(): Promise<boolean> {
      closed = true;
      const drained = await endsInTime(clock, running);
      cancel_sweep?.();
      return drained;
    },
  };
}

/** Characters of all texts in a batch. */
function sizeOf(statements: readonly Statement[]): number {
  let size = 0;
  for (const { args } of statements) {
    for (const arg of args) if (typeof arg === "string") size += arg.length;
  }
  return size;
}
