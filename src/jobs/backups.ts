/**
 * Makes the automatic backups. The newest good one in the folder says when the next is due, so restarts change nothing.
 * Of several processes on a store, one at a time makes it.
 */

import { join, resolve } from "node:path";
import { CLOCK_DIFFERS } from "../../db/backup/list.ts";
import type { BackupOutcome, BackupRecord } from "../../db/backups.ts";
import type { Cancel, Clock } from "../clock.ts";
import { showPath } from "../config-files.ts";
import { ServiceError } from "../errors.ts";
import { codeOf, describeError, type Log } from "../log.ts";
import type { BackupStatus } from "../model/backup.ts";
import { assertRoomFor, assertWritableFolder, BackupFault } from "./backup-folder.ts";

/** Seconds. */
const BACKUPS = {
  /** After the start, and between two looks at the folder. */
  first_look: 5,
  look_every: 60,
  /** A process has its turn for so long, and renews it while it makes a backup. */
  turn: 60,
  renew_every: 20,
  /** Time for the folder to answer: a network folder may hang. */
  folder_answers: 30,
  /** Between failed attempts: doubles from the shorter to the longer. */
  retry_first: 60,
  retry_longest: 3_600,
  /** For the end of an attempt that a stop cancels. */
  stop: 1,
} as const;

/** The name of the backups in the folder; each has its time added. */
const NAME = "relay.db";

/** A backup that is in the folder. `made_at`: epoch seconds. */
interface Backup {
  readonly made_at: number;
  readonly bytes: number;
}

interface BackupsOptions {
  /** The folder; undefined: this process makes no backups, and tells what others do. */
  readonly folder: string | undefined;
  /** Seconds between two backups. */
  readonly every: number;
  readonly record: BackupRecord;
  /**
   * Makes a backup at this path with its time in the name, of a store of so many bytes, and removes surplus ones. Bounds its
   * time; once the signal aborts, it takes at most a second.
   */
  readonly make: (file: string, bytes: number, signal: AbortSignal) => Promise<void>;
  /** The good backups that were made at this path. Removes what killed attempts have left there. */
  readonly list: (file: string) => Promise<readonly Backup[]>;
  /** Bytes of the store. */
  readonly storeBytes: () => Promise<number>;
  readonly clock: Clock;
  /** Real time, for deadlines. */
  readonly timers: Clock;
  readonly log: Log;
}

export function createBackups(options: BackupsOptions) {
  const { every, record, clock, timers, log } = options;
  const folder = options.folder === undefined ? null : resolve(options.folder);
  const counts = { success: 0, failure: 0 };
  /** The newest good backup in the folder at the last look. */
  let newest: Backup | null = null;
  let has_looked = false;
  /** Why this process could not make one, and since when; null once it is mended. */
  let fault: { readonly reason: string; readonly since: number } | null = null;
  /** What the folder has not answered yet. */
  let unanswered: Promise<unknown> | undefined;
  let cancel_look: Cancel | undefined;
  let looking: Promise<void> | undefined;
  let stopping: AbortController | undefined;

  /**
   * Asks something of the folder. Rejects with a {@link BackupFault} if it does not answer in time, and as long as it
   * has not answered: each question holds a thread.
   */
  const inTime = async <T>(ask: () => Promise<T>): Promise<T> => {
    const silent = () =>
      new BackupFault(`the folder ${showPath(folder!)} does not answer`, { is_early: true });
    if (unanswered) throw silent();
    const late = Promise.withResolvers<never>();
    const cancel = timers.after(BACKUPS.folder_answers, () => late.reject(silent()));
    const answer = ask().finally(() => {
      unanswered = undefined;
    });
    unanswered = answer;
    return await Promise.race([answer, late.promise]).finally(cancel);
  };

  const file = () => join(folder!, NAME);

  const lookAtFolder = async (): Promise<void> => {
    await inTime(() => assertWritableFolder(folder!));
    const latest = clock.now() + CLOCK_DIFFERS;
    newest = (await inTime(() => options.list(file())))
      .filter(({ made_at }) => made_at <= latest)
      .reduce<Backup | null>((a, b) => (a !== null && a.made_at >= b.made_at ? a : b), null);
    has_looked = true;
  };

  const isDue = (): boolean => newest === null || clock.now() - newest.made_at >= every;

  const outcome = (failing: BackupOutcome["failing"]): BackupOutcome => ({
    at: clock.now(),
    every,
    made: newest && { at: newest.made_at, bytes: newest.bytes },
    failing,
  });

  /** True while an attempt that failed, of any process, is too recent for another one. */
  const isTooSoon = ({ at, failing }: BackupOutcome): boolean => {
    const times = failing?.times ?? 0;
    const wait = Math.min(BACKUPS.retry_first * 2 ** (times - 1), BACKUPS.retry_longest);
    const passed = clock.now() - at;
    return times > 0 && passed >= 0 && passed < wait;
  };

  const failed = async (error: unknown): Promise<void> => {
    // The store's own log says that once a minute.
    if (error instanceof ServiceError) return;
    const known = error instanceof BackupFault ? error : null;
    const reason = known?.message ?? `an unexpected error (${codeOf(error) || "no code"})`;
    if (!fault || !isSame(fault.reason, reason)) {
      log.error("backup failed", { reason, ...(!known && describeError(error)) });
    }
    fault = { reason, since: fault?.since ?? clock.now() };
    const before = (await record.read())?.failing;
    const times = known?.is_early ? 0 : (before?.times ?? 0) + 1;
    await record.write(outcome({ since: before?.since ?? fault.since, reason, times }));
  };

  /** Says once that what was at fault is mended. */
  const mended = (): void => {
    if (fault === null) return;
    log.info("backups work again", { after_seconds: Math.round(clock.now() - fault.since) });
    fault = null;
  };

  /** Removes what this process, or one that is gone, recorded as a failure. */
  const forgetFailure = async (): Promise<void> => {
    const was_ours = fault !== null;
    mended();
    const last = await record.read();
    const is_old = last !== null && clock.now() - last.at > 2 * BACKUPS.look_every;
    if (last?.failing && (was_ours || is_old)) await record.write(outcome(null));
  };

  const make = async (stop: AbortSignal): Promise<void> => {
    const bytes = await options.storeBytes();
    await inTime(() => assertRoomFor(bytes, folder!));
    let cancel_renewal: Cancel = () => {};
    const renew = () => {
      cancel_renewal = timers.after(BACKUPS.renew_every, () => {
        record.claim(clock.now(), BACKUPS.turn).catch(() => {});
        renew();
      });
    };
    renew();
    const from = timers.elapsed();
    try {
      await options.make(file(), bytes, stop);
      const seconds = Math.round((timers.elapsed() - from) * 10) / 10;
      await lookAtFolder();
      counts.success++;
      log.info("backup made", { bytes: newest?.bytes, seconds });
    } catch (error) {
      if (!stop.aborted) counts.failure++;
      throw error;
    } finally {
      cancel_renewal();
    }
    mended();
    await record.write(outcome(null));
  };

  /** Makes a backup if one is due and no other process makes it. */
  const look = async (stop: AbortSignal): Promise<void> => {
    await lookAtFolder();
    if (!isDue()) return forgetFailure();
    if (!(await record.claim(clock.now(), BACKUPS.turn))) return;
    try {
      const last = await record.read();
      if (last && isTooSoon(last)) return;
      // Another process may have made one before this one got its turn.
      await lookAtFolder();
      if (isDue()) await make(stop);
    } catch (error) {
      // Told before the turn ends: otherwise the next process would try at once.
      if (!stop.aborted) await failed(error);
    } finally {
      await record.release().catch(() => {});
    }
  };

  const arm = (seconds: number): void => {
    cancel_look = clock.after(seconds, () => {
      const { signal } = stopping!;
      looking = look(signal)
        .catch((error) => (signal.aborted ? undefined : failed(error)))
        .catch(() => {})
        .finally(() => {
          looking = undefined;
          if (!signal.aborted) arm(BACKUPS.look_every);
        });
    });
  };

  return {
    /** Attempts of this process by their result; null if it makes no backups. */
    counts: (): Readonly<typeof counts> | null => (folder === null ? null : counts),

    /** Null if no process on the store makes backups. A process that makes none needs the store for it. */
    async status(): Promise<BackupStatus | null> {
      const last = await record.read().catch((error) => {
        if (folder === null) throw error;
        return null;
      });
      if (folder === null) {
        // What was switched off is not told any more.
        if (!last || clock.now() - last.at > 2 * last.every + BACKUPS.retry_longest) return null;
        return last;
      }
      const { made, failing } = outcome(fault && { ...fault, times: 0 });
      return {
        every,
        made: has_looked ? made : (last?.made ?? null),
        failing: failing ?? last?.failing ?? null,
      };
    },

    /** Resolves when a look under way is over. */
    settled: async (): Promise<void> => looking,

    start(): void {
      if (folder === null) return;
      stopping = new AbortController();
      arm(BACKUPS.first_look);
    },

    /** Cancels an attempt that is under way: its unfinished file is removed. Takes at most a second. */
    async stop(): Promise<void> {
      cancel_look?.();
      stopping?.abort(new Error("stopping"));
      const { promise, resolve: end } = Promise.withResolvers<void>();
      const cancel = timers.after(BACKUPS.stop, end);
      await Promise.race([looking, promise]);
      cancel();
    },
  };
}

/** True if two reasons differ at most in their figures, such as the room that is left. */
const isSame = (one: string, other: string): boolean =>
  one.replace(/\d+/g, "") === other.replace(/\d+/g, "");
