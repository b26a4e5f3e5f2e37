/** Codes of errors of the system, of SQLite and of connections, as names. */

/** Codes of SQLite that the binding does not know by name, by their lowest byte. */
const PRIMARY_CODES: Readonly<Record<number, string>> = {
  5: "SQLITE_BUSY",
  6: "SQLITE_LOCKED",
  8: "SQLITE_READONLY",
  10: "SQLITE_IOERR",
  11: "SQLITE_CORRUPT",
  14: "SQLITE_CANTOPEN",
};

/** The code of an error, such as `SQLITE_FULL` or `EACCES`; empty if it has none. */
export function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code !== "string") return "";
  const [, number] = /^UNKNOWN_SQLITE_ERROR_(\d+)$/.exec(code) ?? [];
  return (number !== undefined && PRIMARY_CODES[Number(number) & 255]) || code;
}
