/** Remembers what this process logged as a warning or an error, in words for the administrator. */

import type { Clock } from "../clock.ts";
import type { Log, LogFields } from "../log.ts";

/** Kinds of fault that are remembered; the one that happened longest ago is forgotten first. */
const REMEMBERED = 20;
/** Characters of a detail. */
const DETAIL = 60;

/** A fault, as often as it happened since the start. */
export interface RecentFault {
  /** A sentence without content or secrets. */
  readonly text: string;
  readonly level: "warn" | "error";
  readonly times: number;
  /** When it happened last, in epoch seconds. */
  readonly last_at: number;
}

export type RecentFaults = ReturnType<typeof createRecentFaults>;

export function createRecentFaults(clock: Pick<Clock, "now">) {
  /** By text, the latest last. */
  const faults = new Map<string, RecentFault>();

  const note = (level: RecentFault["level"], event: string, fields: LogFields = {}) => {
    const text = sentenceOf(event, fields);
    const times = (faults.get(text)?.times ?? 0) + 1;
    faults.delete(text);
    faults.set(text, { text, level, times, last_at: clock.now() });
    if (faults.size > REMEMBERED) faults.delete(faults.keys().next().value!);
  };

  return {
    /** Returns a log that passes everything on to `log` and remembers warnings and errors, whatever its level leaves out. */
    watch(log: Log): Log {
      const noted =
        (level: RecentFault["level"]): Log["warn"] =>
        (event, fields) => {
          note(level, event, fields);
          log[level](event, fields);
        };
      return { ...log, warn: noted("warn"), error: noted("error") };
    },

    /** The latest first. `ahead`: seconds that the machine's clock is ahead of the time that is shown. */
    read: (ahead: number): RecentFault[] =>
      [...faults.values()].reverse().map((one) => ({ ...one, last_at: one.last_at - ahead })),
  };
}

/** What the events mean that an administrator can do something about. Any other event is shown as it is logged. */
const MEANINGS: Readonly<Record<string, string>> = {
  "store unavailable": "The database could not be reached",
  "disk full": "The disk of the database is full, or fails, so nothing could be saved",
  "read-only": "The database may not be written to",
  corrupt: "The database file is damaged",
  "file gone": "The database file was deleted or replaced",
  "other store": "The database server has another database than before",
  "older copy of the store": "The database was replaced by an older copy",
  "clock differs": "This server's clock is wrong, or the database's is",
  "lane paused": "A notification service did not take messages for a while",
  "lane stopped": "A notification service refuses this server, which sends nothing more to it",
  "notification refused": "A notification service refused a message",
  "channel configuration at fault": "A notification service refuses this server's configuration",
  "notification failed": "A notification could not be made",
  "webhook failed": "A webhook could not be called",
  "listener failed": "Answers from a messenger could not be read",
  "answer not handled": "An answer from a messenger could not be handled",
  "backup failed": "A backup could not be made",
  "job failed": "Background work failed, and will be tried again",
  "this process stood still": "Relay was paused or starved, and could answer nobody",
  "stop cut short": "Relay stopped before everything was written down",
  "internal error": "A request failed because of a fault in Relay",
  "out of file descriptors":
    "This server ran out of open files, so it could not accept connections",
  "request log entries dropped": "Entries of the request log were lost",
  "TLS certificate expired": "The certificate has expired",
  "TLS certificate expires soon": "The certificate expires soon",
};

/** Fields that say which one, or why. Others may name what belongs to a person. */
const DETAILS = ["channel", "job", "route", "reason", "error", "code"] as const;

function sentenceOf(event: string, fields: LogFields): string {
  const meaning = MEANINGS[event] ?? `${event.slice(0, 1).toUpperCase()}${event.slice(1)}`;
  const details = DETAILS.map((name) => fields[name])
    .filter((value) => value !== undefined && value !== null && value !== "")
    .map((value) => String(value).slice(0, DETAIL));
  return details.length > 0 ? `${meaning} (${[...new Set(details)].join(", ")})` : meaning;
}
