/** JSON lines on standard error: what happened, never content or credentials. */

/** From the most to the least verbose; a logger writes its own level and those after it. */
export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Ids, codes, counts and durations only. A title, prompt, answer or secret must never get here. */
export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

type Write = (event: string, fields?: LogFields) => void;

/** Each request has a line at `debug`; above that level, not even its fields are made. */
export type Log = Readonly<Record<Exclude<LogLevel, "debug">, Write>> & {
  readonly debug: Write | undefined;
};

/** Writes one JSON line per call through `write`. */
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
  return {
    debug: floor === 0 ? at("debug") : undefined,
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
  };
}

/**
 * What may be logged of an unexpected error: its kind and where it arose. The message is left out
 * because it can repeat what a client sent.
 */
export function describeError(error: unknown): LogFields {
  if (!(error instanceof Error)) return { error: typeof error };
  const code = (error as { code?: unknown }).code;
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
