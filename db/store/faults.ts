/** Faults of the store: their kinds, how often each happened, and their log lines. */

import type { Clock } from "../../src/clock.ts";
import { codeOf, describeError, type Log } from "../../src/log.ts";

/** Seconds between two log lines of one kind of fault. */
const LOG_EVERY = 60;

/** The kinds that an operator tells apart (§11.4.4). */
const KINDS = [
  "store unavailable",
  "disk full",
  "read-only",
  "corrupt",
  "file gone",
  "other store",
] as const;
type FaultKind = (typeof KINDS)[number];

const BY_CODE: readonly (readonly [RegExp, FaultKind])[] = [
  [/^(SQLITE_FULL|ENOSPC|EDQUOT)/, "disk full"],
  [/^(SQLITE_READONLY|EROFS|EACCES|EPERM)/, "read-only"],
  [/^SQLITE_(CORRUPT|NOTADB)/, "corrupt"],
  [/^FILE_GONE$/, "file gone"],
  [/^OTHER_STORE$/, "other store"],
];

/** Thrown for a file that was deleted or replaced while it was open. */
export class FileGone extends Error {
  readonly code = "FILE_GONE";
  constructor() {
    super("the store's file was deleted or replaced");
  }
}

/** Thrown while the server has another store than at the start, such as an empty one, or one that lacks tables. */
export class OtherStore extends Error {
  readonly code = "OTHER_STORE";
  constructor() {
    super("the store is not the one that this process began with");
  }
}

/** The kind of a fault, by the code of the error or of one of its causes. */
function faultKind(error: unknown): FaultKind {
  for (let one = error; one instanceof Error; one = one.cause) {
    const code = codeOf(one);
    const found = BY_CODE.find(([pattern]) => pattern.test(code));
    if (found) return found[1];
  }
  return "store unavailable";
}

/** Is called with each fault of the store. */
export type ReportFault = (error: unknown) => void;

/** Counts faults by kind. Logs the first of a kind at once, then once a minute the number since the last line. */
export function createFaultLog({ clock, log }: { readonly clock: Clock; readonly log: Log }) {
  const totals = Object.fromEntries(KINDS.map((kind) => [kind, 0])) as Record<FaultKind, number>;
  /** By kind, for a minute after its line: the number of faults since, and the newest error. */
  const resting = new Map<FaultKind, { count: number; last: unknown }>();

  const write = (kind: FaultKind, count: number, error: unknown) => {
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
    // Only our own code throws strings, and they hold no content.
    const reason = typeof cause === "string" ? { reason: cause } : describeError(cause);
    log.error(kind, { count, ...reason });
    const own = { count: 0, last: undefined as unknown };
    resting.set(kind, own);
    clock.after(LOG_EVERY, () => {
      resting.delete(kind);
      if (own.count > 0) write(kind, own.count, own.last);
    });
  };

  return {
    report(error: unknown): void {
      const kind = faultKind(error);
      totals[kind]++;
      const own = resting.get(kind);
      if (own) {
        own.count++;
        own.last = error;
      } else {
        write(kind, 1, error);
      }
    },
    /** Faults since the start, by kind. */
    totals: (): Readonly<Record<FaultKind, number>> => totals,
  };
}
