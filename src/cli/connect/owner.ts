/** Whose an entry `relay` is: Relay's, or that of another server with this name. */

import { isObject, type Path, Refusal, valueAt } from "./format.ts";

/** What `connect` writes for a key: a name of it, no secret. */
const KEY_FORMS: readonly unknown[] = [
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the client fills it in.
  "Bearer ${RELAY_KEY}",
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the client fills it in.
  "Bearer ${env:RELAY_KEY}",
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the client fills it in.
  "Bearer ${input:relay-key}",
];

const isOurHeader = ([name, value]: readonly [string, unknown]): boolean =>
  name === "X-Agent-Host" || (name === "Authorization" && KEY_FORMS.includes(value));

/** The address of an entry without its query; null if it has none. */
function addressOf(entry: unknown): URL | null {
  const url = valueAt(entry, ["url"]) ?? valueAt(entry, ["httpUrl"]);
  return typeof url === "string" && URL.canParse(url) ? new URL(url.split("?")[0]!) : null;
}

/**
 * Whether an entry is for another origin than the wanted one, and has what might be a credential for it. With
 * another address, the client would send that there.
 */
export function isOfOthers(entry: unknown, wanted: unknown): boolean {
  if (!isObject(entry) || addressOf(entry)?.origin === addressOf(wanted)?.origin) return false;
  const isHarmless = ([name, value]: readonly [string, unknown]): boolean => {
    if (["url", "httpUrl", "type"].includes(name)) return true;
    if (name === "bearer_token_env_var") return value === "RELAY_KEY";
    if (name === "headers") return isObject(value) && Object.entries(value).every(isOurHeader);
    return typeof value === "boolean" || typeof value === "number" || Array.isArray(value);
  };
  return !Object.entries(entry).every(isHarmless);
}

/** Whether an entry has what only `connect` writes. */
function hasMark(entry: unknown): boolean {
  const headers = valueAt(entry, ["headers"]);
  return (
    valueAt(entry, ["bearer_token_env_var"]) === "RELAY_KEY" ||
    (isObject(headers) && Object.entries(headers).some(isOurHeader))
  );
}

/**
 * Throws a {@link Refusal} if an entry, which is at the path, may be that of another server: `base` is not its base address,
 * and it has nothing that only `connect` writes.
 */
export function checkOwner(entry: unknown, path: Path, base: string | null): void {
  const url = addressOf(entry);
  if (!url || hasMark(entry)) return;
  const address = url.origin + url.pathname.replace(/\/$/, "");
  if (base !== null && address === new URL(`${base}/mcp`).href) return;
  const option = `--url ${address.replace(/\/mcp$/, "")}`;
  throw new Refusal(
    `has an entry ${path.join(".")} that may be another's (if not, give ${option})`,
  );
}
