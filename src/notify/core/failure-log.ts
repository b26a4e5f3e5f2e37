/**
 * Logs the failures of channels: each channel at most once a minute, with what was left out meanwhile. A stop writes the
 * rest.
 */

import type { Cancel, Clock } from "../../clock.ts";
import type { Log, LogFields } from "../../log.ts";

/** Seconds between two log lines of one channel. */
const EVERY = 60;
/** Channels that are told apart. Failures of any others within the minute share their lines. */
const TRACKED = 1_000;
/** Ids of other questions and tasks in one line. */
const NAMED = 10;

/** The channel or device that a delivery was for, and what it was about. Never an address or a label. */
export interface DeliveryNames {
  readonly channel: string;
  /** Absent for the connections that bring answers. */
  readonly lane?: string;
  /** Id of the channel or device. */
  readonly target_id: string;
  readonly account_id: string;
  /** Host of the service, which the person chose; null for a device. */
  readonly host: string | null;
  /** Id of the question, task or key that it is about; empty if it is about the account. */
  readonly subject: string;
  readonly delivery_id?: string;
}

interface Failure {
  readonly level: "info" | "warn";
  readonly event: string;
  /** A code without content. */
  readonly reason: string;
  readonly attempts?: number;
}

const KINDS: Readonly<Record<string, string>> = {
  qst: "question_id",
  tsk: "task_id",
  key: "key_id",
};

/** The fields of a log line about a delivery. */
export function fieldsOf({ subject, host, ...names }: DeliveryNames): LogFields {
  const kind = KINDS[subject.slice(0, 3)];
  return { ...names, host: host ?? undefined, ...(kind !== undefined && { [kind]: subject }) };
}

/** The key of the channels that are not told apart. */
const OTHERS = "";

/** What happened to a channel since its last line. */
interface Resting {
  /** Events that were written within the minute. */
  readonly written: ReadonlySet<string>;
  /** The end of the minute, by {@link Clock.elapsed}. */
  readonly until: number;
  count: number;
  newest: readonly [DeliveryNames, Failure] | null;
  /** Ids of the questions and tasks that it was about, at most {@link NAMED}. */
  readonly subjects: Set<string>;
}

export type FailureLog = ReturnType<typeof createFailureLog>;

export function createFailureLog({ clock, log }: { readonly clock: Clock; readonly log: Log }) {
  /** By channel, for a minute after its line; those whose minute ends first come first. */
  const resting = new Map<string, Resting>();
  let cancel: Cancel | undefined;

  const write = (
    key: string,
    { newest, count, subjects }: Pick<Resting, "newest" | "count" | "subjects">,
    written: ReadonlySet<string> = new Set(),
  ) => {
    if (!newest) return;
    const [names, { level, event, reason, attempts }] = newest;
    const also = [...subjects].filter((subject) => subject !== names.subject).join(",");
    log[level](event, {
      ...fieldsOf(names),
      reason,
      attempts,
      count,
      ...(also !== "" && { also }),
      ...(key === OTHERS && { channels: "many" }),
    });
    const until = clock.elapsed() + EVERY;
    resting.delete(key);
    const begun = { count: 0, newest: null, subjects: new Set<string>() };
    resting.set(key, { written: new Set([...written, event]), until, ...begun });
  };

  const arm = () => {
    const [next] = resting.values();
    if (cancel || !next) return;
    cancel = clock.after(Math.max(0.001, next.until - clock.elapsed()), () => {
      cancel = undefined;
      const now = clock.elapsed();
      // What is written here comes last, and ends later.
      for (const [key, own] of resting) {
        if (own.until > now) break;
        resting.delete(key);
        write(key, own);
      }
      arm();
    });
  };

  log.hold(() => {
    for (const [key, own] of [...resting]) write(key, own);
  });

  return {
    /**
     * Logs a failure, or counts it for a line at the end of the minute: the newest one, with the `count` of failures
     * since the last line, and as `also` the ids of up to 10 other questions and tasks. The first warning of each kind is
     * not held back.
     */
    report(names: DeliveryNames, failure: Failure): void {
      const own_key = `${names.account_id} ${names.target_id}`;
      const key = resting.has(own_key) || resting.size < TRACKED ? own_key : OTHERS;
      const own = resting.get(key) ?? null;
      const since = own ?? { count: 0, newest: null, subjects: new Set<string>() };
      since.count++;
      since.newest = [names, failure];
      if (names.subject !== "" && since.subjects.size < NAMED) since.subjects.add(names.subject);
      if (own && (failure.level === "info" || own.written.has(failure.event))) return;
      write(key, since, own?.written);
      arm();
    },
  };
}
