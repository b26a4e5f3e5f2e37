/** The log: JSON lines that say what happened, without content or credentials. */

/** From the most to the least verbose. A log writes its own level and those after it. */
export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
type LogLevel = (typeof LOG_LEVELS)[number];

/** Only ids, codes, counts and durations; never a title, prompt, answer or secret. */
export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

type Write = (event: string, fields?: LogFields) => void;

export type Log = Readonly<Record<Exclude<LogLevel, "debug">, Write>> & {
  /** Undefined above that level, so that requests need not build the fields of their lines. */
  readonly debug: Write | undefined;
  /** Lets `flush` call what writes lines that wait, until the function that it returns is called. */
  readonly hold: (write: () => void) => () => void;
  /** Writes the lines that wait. Call it before the process ends. */
  readonly flush: () => void;
};

/** Creates a log that writes one JSON line for each call. */
export function createLog(level: LogLevel, write: (line: string) => void): Log {
  const floor = LOG_LEVELS.indexOf(level);
  const at =
    (name: LogLevel): Write =>
    (event, fields = {}) => {
      if (LOG_LEVELS.indexOf(name) < floor) return;
      write(
        `${JSON.stringify({ time: new Date().toISOString(), level: name, event, ...fields })}\n`,
      );
    };
  const held = new Set<() => void>();
  return {
    debug: floor === 0 ? at("debug") : undefined,
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    hold(write) {
      held.add(write);
      return () => void held.delete(write);
    },
    flush() {
      for (const write of [...held]) write();
    },
  };
}

/** Returns a log that adds `fields` to each line. */
export const withFields = (log: Log, fields: LogFields): Log => {
  const adding =
    (write: Write): Write =>
    (event, own) =>
      write(event, { ...fields, ...own });
  return {
    debug: log.debug && adding(log.debug),
    info: adding(log.info),
    warn: adding(log.warn),
    error: adding(log.error),
    hold: log.hold,
    flush: log.flush,
  };
};

/**
 * The fields to log for an unexpected error: its name, code and stack. The message is left out because it can
 * repeat what a client sent.
 */
export function describeError(error: unknown): LogFields {
  if (!(error instanceof Error)) return { error: typeof error };
  const { code } = error as { code?: unknown };
  return {
    error: error.name,
    code: typeof code === "string" ? code : undefined,
    at: error.stack
      ?.split("\n")
      .filter((line) => /^\s+at /.test(line))
      .slice(0, 6)
      .map((line) => line.trim())
      .join(" < "),
  };
}

/** SQLite codes for which the binding has no name, by their lowest byte. */
const PRIMARY_CODES: Readonly<Record<number, string>> = {
  5: "SQLITE_BUSY",
  6: "SQLITE_LOCKED",
  8: "SQLITE_READONLY",
  10: "SQLITE_IOERR",
  11: "SQLITE_CORRUPT",
  14: "SQLITE_CANTOPEN",
};

/** The code of an error, such as `SQLITE_FULL` or `EACCES`; empty without one. */
export function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code !== "string") return "";
  const [, number] = /^UNKNOWN_SQLITE_ERROR_(\d+)$/.exec(code) ?? [];
  return (number !== undefined && PRIMARY_CODES[Number(number) & 255]) || code;
}
