/** Log lines about what fails for a while: one when it begins, one when it is over, with how long it lasted. */

import type { Clock } from "../clock.ts";
import { ServiceError } from "../errors.ts";
import { describeError, type Log, type LogFields } from "../log.ts";

/** Seconds between two lines of one event, also if outages begin and end meanwhile. */
const LINE_EVERY = 60;

interface OutageOptions {
  readonly clock: Pick<Clock, "elapsed" | "after">;
  readonly log: Log;
  /** Level of the lines about faults; `warn` by default. */
  readonly level?: "warn" | "error";
  /** The event of the line at the end. Without it nothing tells the end: each fault counts by itself. */
  readonly over?: string;
  /** Fields of every line, which name what fails. */
  readonly named?: LogFields;
}

/** What is known of one event. */
interface Line {
  /** When it may be logged again, by {@link Clock.elapsed}. */
  quiet_until: number;
  /** Faults since its last line. */
  untold: number;
  /** Seconds that outages lasted which began and ended since its last line. */
  untold_seconds: number;
  /** True once it was logged in the present outage. */
  told: boolean;
  fields: LogFields;
  waits: boolean;
}

/**
 * Follows one thing that may fail, such as a job. The first fault of an outage is logged at once, further ones are
 * counted, and the end is logged at the level `info` with `seconds` and `count`. Each event is logged at most once a
 * minute: an outage that begins sooner is logged when the minute is over, or when the process stops, and if it has
 * ended by then, so is its end.
 */
export function createOutage({ clock, log, level = "warn", over, named = {} }: OutageOptions) {
  const lines = new Map<string, Line>();
  /** When the present outage began, by {@link Clock.elapsed}. */
  let since: number | null = null;
  /** Faults of the present outage. */
  let count = 0;

  const tenths = (seconds: number) => Math.round(seconds * 10) / 10;
  const secondsSince = (from: number) => tenths(clock.elapsed() - from);

  const tell = (event: string, line: Line) => {
    const lasted = since === null ? tenths(line.untold_seconds) : secondsSince(since);
    log[level](event, {
      ...named,
      count: line.untold,
      ...(lasted >= 1 && { seconds: lasted }),
      ...line.fields,
    });
    if (over !== undefined && since === null) {
      log.info(over, { ...named, after: event, seconds: lasted, count: line.untold });
    }
    line.untold = 0;
    line.untold_seconds = 0;
    line.told = since !== null;
    line.quiet_until = clock.elapsed() + LINE_EVERY;
  };

  const lineOf = (event: string): Line => {
    const found = lines.get(event);
    if (found) return found;
    const line = {
      quiet_until: 0,
      untold: 0,
      untold_seconds: 0,
      told: false,
      fields: {},
      waits: false,
    };
    lines.set(event, line);
    return line;
  };

  const note = (event: string, fields: LogFields = {}): void => {
    since ??= clock.elapsed();
    count++;
    const line = lineOf(event);
    line.untold++;
    line.fields = fields;
    const wait = line.quiet_until - clock.elapsed();
    if (!line.told && wait <= 0) {
      tell(event, line);
    } else if (!line.told && !line.waits) {
      line.waits = true;
      const end = () => {
        cancel();
        release();
        line.waits = false;
        if (line.untold > 0 && !line.told) tell(event, line);
      };
      const cancel = clock.after(wait, end);
      const release = log.hold(end);
    }
    if (over === undefined) works();
  };

  const works = (): void => {
    if (since === null) return;
    const lasted = secondsSince(since);
    const told = [...lines].filter(([, line]) => line.told);
    if (over !== undefined && told.length > 0) {
      const after = told.map(([event]) => event).join(", ");
      log.info(over, { ...named, after, seconds: lasted, count });
    }
    for (const line of lines.values()) {
      if (line.told) line.untold = 0;
      else if (line.untold > 0) line.untold_seconds += lasted;
      line.told = false;
    }
    since = null;
    count = 0;
  };

  return {
    /** Notes a fault. */
    note,

    /**
     * Notes an unexpected error, with its stack. A store that is away has its own lines (db/store/faults.ts), so that
     * error is only logged at the level `debug`.
     */
    failed(event: string, error: unknown, fields: LogFields = {}): void {
      if (isStoreAway(error)) log.debug?.(event, { ...named, ...fields, code: error.code });
      else note(event, { ...fields, ...describeError(error) });
    },

    /** Ends the present outage, if there is one. */
    works,

    /** True from the first fault until {@link works} is called. */
    isOpen: (): boolean => since !== null,
  };
}

/** True for the error of a store that cannot be used now. */
export const isStoreAway = (error: unknown): error is ServiceError =>
  error instanceof ServiceError && error.code === "store_unavailable";
