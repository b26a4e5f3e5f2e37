/** Faults of the store: their kinds, how often each happened, and their log lines. */

import type { Clock } from "../../src/clock.ts";
import { codeOf, describeError, type Log, type LogFields } from "../../src/log.ts";
import { createOutage } from "../../src/observability/outages.ts";
import type { LockHolder } from "./lock-holder.ts";

/** The kinds that an operator tells apart (§11.4.4). */
const KINDS = [
  "store unavailable",
  "disk full",
  "read-only",
  "corrupt",
  "file gone",
  "other store",
] as const;
export type FaultKind = (typeof KINDS)[number];

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

/** Thrown by a write that got no turn, since another process has held the write lock all the time. */
export class WriteLockHeld extends Error {
  /** Null if it cannot be seen from here. */
  readonly holder: LockHolder | null;
  constructor(holder: LockHolder | null) {
    super(
      `another process ${holder?.state === "stopped" ? "is stopped and " : ""}holds the write lock`,
    );
    this.holder = holder;
  }
}

/** The kind of a fault, by the code of the error or of one of its causes. */
function faultKind(error: unknown): FaultKind {
  for (let one = error; one instanceof Error; one = one.cause) {
    const code = codeOf(one);
    const found = BY_CODE.find(([pattern]) => pattern.test(code));
    if (found) return found[1];
    // All that a libSQL server says when its disk is full.
    if (one.name === "HranaError" && code === "SQLITE_IOERR") return "disk full";
  }
  return "store unavailable";
}

/** Is called with each fault of the store. */
export type ReportFault = (error: unknown) => void;

export type FaultLog = ReturnType<typeof createFaultLog>;

/** Our own errors, which hold no content, and errors of the network and of SQLite, which have a code. */
function describe(error: unknown): LogFields {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  // Only our own code throws strings.
  if (typeof cause === "string") return { reason: cause };
  if (cause instanceof WriteLockHeld) return { reason: cause.message, ...fieldsOf(cause.holder) };
  if (cause instanceof DOMException) return { reason: "no answer in time" };
  const { error: name, code, at } = describeError(cause);
  if (code !== undefined) return { code };
  // Where it happened matters only if the code is at fault.
  return { error: name, ...(MISTAKES.some((kind) => cause instanceof kind) && { at }) };
}

const fieldsOf = (holder: LockHolder | null): LogFields =>
  holder ? { ...holder, unit: holder.unit ?? undefined } : {};

const MISTAKES = [TypeError, RangeError, ReferenceError, SyntaxError];

/** Counts faults by kind, and logs when an outage of the store begins, when another kind joins it, and when it ends. */
export function createFaultLog({ clock, log }: { readonly clock: Clock; readonly log: Log }) {
  const totals = Object.fromEntries(KINDS.map((kind) => [kind, 0])) as Record<FaultKind, number>;
  const outage = createOutage({ clock, log, level: "error", over: "store is back" });
  let last: FaultKind | null = null;
  return {
    report(error: unknown): void {
      const kind = faultKind(error);
      totals[kind]++;
      last = kind;
      outage.note(kind, describe(error));
    },
    /** Ends the outage: the store was read and written after the last fault. */
    works: outage.works,
    /** True from the first fault until {@link works} is called. */
    isOut: outage.isOpen,
    /** The kind of the newest fault since it worked; null while it works. */
    current: (): FaultKind | null => (outage.isOpen() ? last : null),
    /** Faults since the start, by kind. */
    totals: (): Readonly<Record<FaultKind, number>> => totals,
  };
}
