/** Reads files that variables name, and says which variable is at fault when a start fails (§16). */

import { lookup } from "node:dns/promises";
import { userInfo } from "node:os";
import { resolve } from "node:path";
import { readTextFile, TooLarge } from "./bounded-read.ts";
import { ConfigError, cannotUse, SECRETS } from "./config.ts";
import { codeOf } from "./log.ts";
import { unbracketed } from "./loopback.ts";

/** Bytes of a file that a variable names: a key, a token, or certificates. */
export const NAMED_FILE_BYTES = 1024 * 1024;

/**
 * Returns the text of the file that `variable` names. Throws a ConfigError with the variable, the path and the code of
 * the system, with the user if that user may not read it, and with the limit if it has more than
 * {@link NAMED_FILE_BYTES}.
 */
export async function readNamedFile(variable: string, path: string): Promise<string> {
  // A private key must not be shown as a path.
  if (path.includes("-----BEGIN")) {
    throw new ConfigError(`${variable}: must be the path of a file, not its text`);
  }
  try {
    return await readTextFile(path, NAMED_FILE_BYTES);
  } catch (error) {
    throw new ConfigError(`${variable}: ${whyUnreadable(path, error)}`, { cause: error });
  }
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Returns the environment with the secrets that files hold, such as that of `ADMIN_TOKEN_FILE` as `ADMIN_TOKEN`, without
 * white space at the end. Throws a ConfigError if a file cannot be read or is empty, or the variable is also set.
 */
export async function withSecretFiles(env: Environment): Promise<Environment> {
  const found: Record<string, string> = {};
  for (const name of SECRETS) {
    const variable = `${name}_FILE`;
    const path = env[variable];
    if (!path) continue;
    if (env[name]) throw new ConfigError(`${variable}: cannot be set together with ${name}`);
    found[name] = (await readNamedFile(variable, path)).trimEnd();
    if (found[name] === "") throw new ConfigError(`${variable}: ${showPath(path)} is empty`);
  }
  return { ...env, ...found };
}

/** One line, such as `the user relay (10001) may not read /etc/relay/key.pem (EACCES)`. */
export function whyUnreadable(path: string, error: unknown): string {
  const code = codeOf(error);
  const shown = showPath(path);
  if (error instanceof TooLarge) return `the file ${shown} is larger than ${error.limit}`;
  switch (code) {
    case "ENOENT":
    case "ENOTDIR":
      return `there is no file ${shown} (${code})`;
    case "EISDIR":
      return `${shown} is a folder, not a file (${code})`;
    case "EACCES":
    case "EPERM":
      return `the user ${thisUser()} may not read ${shown} (${code})`;
    default:
      return `the file ${shown} cannot be read${code === "" ? "" : ` (${code})`}`;
  }
}

/** The user of this process: name and number, or only the number, as in many containers. */
export function thisUser(): string {
  const uid = process.getuid?.();
  try {
    const { username } = userInfo();
    if (uid === undefined) return username;
    // Bun gives this name if the system does not know the user.
    return username === "unknown" ? String(uid) : `${username} (${uid})`;
  } catch {
    return String(uid ?? "of this process");
  }
}

/** A path as messages show it: in quotes if it has an invisible character, such as a space at its end. */
export const showPath = (path: string): string =>
  /^[^\s\p{C}]+$/u.test(path) ? path : JSON.stringify(path);

/** Codes for faults of the path or the user. */
const PLACE = /^(E(ACCES|PERM|ROFS|NOENT|NOTDIR|ISDIR)|SQLITE_(CANTOPEN|READONLY|PERM))/;

/** What is wrong with the file of a store, by the code of SQLite or the system. */
const STORE_FAULTS: readonly (readonly [RegExp, string])[] = [
  [/^SQLITE_NOTADB/, "the file is not a database, or is encrypted"],
  [/^SQLITE_CORRUPT/, "the file is damaged or cut off; restore a backup"],
  [/^(SQLITE_(FULL|IOERR_SHMSIZE)|ENOSPC|EDQUOT)/, "there is no room left on the disk"],
  [/^SQLITE_(BUSY|LOCKED)/, "another program keeps the file locked"],
];

/** Why the store cannot be opened, with the path of its file and, if it matters, the user. */
export function cannotOpen(database_url: string, error: unknown): ConfigError {
  const cannot = "the store cannot be opened";
  const code = codeOf(error instanceof Error && error.cause ? error.cause : error);
  const path = storePath(database_url);
  if (path === null) return cannotUse("DATABASE_URL", cannot + reasonOf(error), error);
  const who = PLACE.test(code) ? ` by the user ${thisUser()}` : "";
  const fault = STORE_FAULTS.find(([pattern]) => pattern.test(code))?.[1];
  const why = fault === undefined ? "" : `: ${fault}`;
  return cannotUse("DATABASE_URL", `${cannot} at ${path}${who}${why}`, error);
}

/** Why a libSQL server cannot be used, if no code tells: it did not answer in time, or our own code says what failed. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  if (cause instanceof DOMException) return ": the server does not answer";
  // Only our own code throws strings.
  return typeof cause === "string" ? `: ${cause}` : "";
}

/** Why Relay refuses a store, with the path of its file. */
export function refusedStore(database_url: string, why: string): ConfigError {
  const path = storePath(database_url);
  return new ConfigError(`DATABASE_URL: ${why}${path === null ? "" : ` (${path})`}`);
}

/** The absolute path of an embedded store, as messages show it; null for a libSQL server. */
const storePath = (database_url: string): string | null =>
  database_url.startsWith("file:")
    ? showPath(resolve(database_url.replace(/^file:(\/\/)?/, "")))
    : null;

/**
 * Why the process cannot listen, with the variable at fault if the system tells. Looks `host` up first: for a name
 * without an address the system may say anything, such as that the port is in use.
 */
export async function cannotListen(host: string, error: unknown): Promise<ConfigError> {
  const not_here = "must be an address or a name of this machine";
  const unknown = await lookup(unbracketed(host)).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (unknown !== undefined) return cannotUse("HOST", not_here, unknown);
  switch (codeOf(error)) {
    case "EADDRINUSE":
      return cannotUse("PORT", "another program listens there", error);
    case "EACCES":
    case "EPERM":
      return cannotUse("PORT", `the user ${thisUser()} may not listen there`, error);
    case "EADDRNOTAVAIL":
    case "EINVAL":
    case "ENOTFOUND":
      return cannotUse("HOST", not_here, error);
    default:
      return cannotUse("HOST and PORT", "cannot listen there", error);
  }
}
