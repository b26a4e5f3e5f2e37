/**
 * Where the token of this browser's sign-in is kept. Before version 0.2.0 the Relays of all paths shared one
 * name. Below a path, that name keeps a copy, so that a roll-back to such a version finds it.
 */

import { copyShared, local, PATH, scoped, sharedNames, tab } from "./storage.ts";

const TOKEN = "token";
/** The new token of a replacement that the server has not confirmed. */
const NEXT = "next-token";

const SHARED_TOKEN = "relay.token";
const SHARED_NEXT = "relay.next-token";
/** The path whose Relay wrote `SHARED_TOKEN`, and that token; earlier versions write the token alone. */
const SHARED_BY = "relay.token-of";

/** The token under the shared name, unless the Relay under another path wrote it. */
function sharedToken(): string | null {
  const token = localStorage.getItem(SHARED_TOKEN);
  const [path, of] = (localStorage.getItem(SHARED_BY) ?? "").split(" ");
  return of === token && path !== PATH ? null : token;
}

/** The token of the sign-in; null if nobody is signed in. */
export const keptToken = (): string | null => (PATH === "/" ? sharedToken() : local.get(TOKEN));

/** A new token that may already be in force; null if there is none. */
export const keptNextToken = (): string | null => local.get(NEXT);

/** True if the shared names, if this Relay is below a path, have a copy of its sign-in. */
const isCopied = (): boolean =>
  PATH !== "/" && localStorage.getItem(SHARED_TOKEN) === local.get(TOKEN);

export function keepToken(token: string): void {
  if (PATH === "/" || isCopied() || localStorage.getItem(SHARED_TOKEN) === null) {
    // First the path: other pages look at both once the token has changed.
    localStorage.setItem(SHARED_BY, `${PATH} ${token}`);
    localStorage.setItem(SHARED_TOKEN, token);
  }
  if (PATH !== "/") local.set(TOKEN, token);
}

/** Keeps the new token of a replacement; null: it is confirmed, or was refused. */
export function keepNextToken(token: string | null): void {
  const names = isCopied() ? [scoped(NEXT), SHARED_NEXT] : [scoped(NEXT)];
  for (const name of names) {
    if (token === null) localStorage.removeItem(name);
    else localStorage.setItem(name, token);
  }
}

/** The storage key that changes with the token. */
export const TOKEN_KEY = scoped(TOKEN);

/**
 * The tokens that may have taken the place of `ended`, the likeliest first: of a replacement without a
 * response, and of a sign-in or replacement by an earlier version.
 */
export function successorsOf(ended: string): readonly string[] {
  const shared = sharedToken();
  const shared_next = shared === null ? null : localStorage.getItem(SHARED_NEXT);
  const tokens = new Set([keptNextToken(), shared, shared_next]);
  return [...tokens].filter((token) => token !== null && token !== ended) as string[];
}

/** Notes that this server knows the kept token, so that no Relay under another path takes it for its own. */
export function confirmToken(): void {
  const token = PATH === "/" ? sharedToken() : null;
  if (token !== null) localStorage.setItem(SHARED_BY, `${PATH} ${token}`);
}

/** Copies what an earlier version kept for the account of this token, which this server knows. */
export function adoptShared(token: string): void {
  const is_next = localStorage.getItem(SHARED_NEXT) === token;
  copyShared(localStorage, [SHARED_TOKEN, SHARED_BY, ...(is_next ? [SHARED_NEXT] : [])]);
  if (!is_next) localStorage.setItem(SHARED_BY, `${PATH} ${token}`);
}

/** Erases all that this Relay keeps, and its copy under the shared names; true if there was one. */
export function eraseKept(): boolean {
  const copied = isCopied();
  for (const storage of copied ? [localStorage, sessionStorage] : []) {
    for (const name of sharedNames(storage)) storage.removeItem(name);
  }
  local.clear();
  tab.clear();
  return copied;
}
