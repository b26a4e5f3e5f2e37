/** Tells whether an entry named `relay` is Relay's or another server's. */

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the clients fill them in.

import { isObject, type Path, Refusal, valueAt } from "./format.ts";

/** The forms in which `connect` refers to a key: by a variable, never the secret itself. */
const KEY_FORMS: readonly unknown[] = [
  ...["Bearer ${RELAY_KEY}", "Bearer ${env:RELAY_KEY}", "Bearer ${input:relay-key}"],
];

const isOurHeader = ([name, value]: readonly [string, unknown]): boolean =>
  name === "X-Agent-Host" || (name === "Authorization" && KEY_FORMS.includes(value));

/** The address of an entry without its query; null if it has none. */
function addressOf(entry: unknown): URL | null {
  const url = valueAt(entry, ["url"]) ?? valueAt(entry, ["httpUrl"]);
  return typeof url === "string" && URL.canParse(url) ? new URL(url.split("?")[0]!) : null;
}

/**
 * True if an entry is for another origin than `wanted` and may contain a credential for it. If its address were
 * changed, the client would send that credential to the new one.
 */
export function isForAnotherServer(entry: unknown, wanted: unknown): boolean {
  if (!isObject(entry) || addressOf(entry)?.origin === addressOf(wanted)?.origin) return false;
  const isHarmless = ([name, value]: readonly [string, unknown]): boolean => {
    if (["url", "httpUrl", "type"].includes(name)) return true;
    if (name === "bearer_token_env_var") return value === "RELAY_KEY";
    if (name === "headers") return isObject(value) && Object.entries(value).every(isOurHeader);
    return typeof value === "boolean" || typeof value === "number" || Array.isArray(value);
  };
  return !Object.entries(entry).every(isHarmless);
}

/** True if an entry has something that only `connect` writes. */
function hasMark(entry: unknown): boolean {
  const headers = valueAt(entry, ["headers"]);
  return (
    valueAt(entry, ["bearer_token_env_var"]) === "RELAY_KEY" ||
    (isObject(headers) && Object.entries(headers).some(isOurHeader))
  );
}

/**
 * Throws a {@link Refusal} if the entry at `path` may be another server's: its address does not belong to `base`, and
 * it has nothing that only `connect` writes.
 */
export function checkOwner(entry: unknown, path: Path, base: string | null): void {
  const url = addressOf(entry);
  if (!url || hasMark(entry)) return;
  const address = url.origin + url.pathname.replace(/\/$/, "");
  if (base !== null && address === new URL(`${base}/mcp`).href) return;
  const option = `--url ${address.replace(/\/mcp$/, "")}`;
  throw new Refusal(
    `has an entry ${path.join(".")} that may be another server's (if not, give ${option})`,
  );
}
