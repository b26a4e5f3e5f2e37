/** Where the token of this browser's sign-in is kept. */

import { local, PATH, scoped } from "./storage.ts";

const TOKEN = "token";
/** The new token of a replacement that the server has not confirmed. */
const NEXT = "next-token";

/** Prefix of the names at the root. Below a path, version 0.2.0 kept a copy of the token there, and whose it was. */
const AT_ROOT = "relay.";
const COPY = `${AT_ROOT}token`;
const COPY_OF = `${AT_ROOT}token-of`;

/** The token of the sign-in; null if nobody is signed in. */
export function keptToken(): string | null {
  const token = local.get(TOKEN);
  const [path, of] = (localStorage.getItem(COPY_OF) ?? "").split(" ");
  return of === token && path !== PATH ? null : token;
}

/** A new token that may already be in force; null if there is none. */
export const keptNextToken = (): string | null => local.get(NEXT);

export const keepToken = (token: string): void => local.set(TOKEN, token);

/** Keeps the new token of a replacement; null: it is confirmed, or was refused. */
export function keepNextToken(token: string | null): void {
  if (token === null) local.remove(NEXT);
  else local.set(NEXT, token);
}

/** The storage key that changes with the token. */
export const TOKEN_KEY = scoped(TOKEN);

/** The tokens that may have taken the place of `ended`: of a replacement without a response, and of another tab. */
export const successorsOf = (ended: string): readonly string[] =>
  [keptNextToken(), keptToken()].filter((token) => token !== null && token !== ended) as string[];

/** Removes the copy of this sign-in that version 0.2.0 kept, so that a sign-out leaves nothing. */
export function removeCopy(): void {
  const token = local.get(TOKEN);
  if (PATH === "/" || token === null || localStorage.getItem(COPY) !== token) return;
  for (const storage of [localStorage, sessionStorage]) {
    for (const name of Object.keys(storage)) {
      if (name.startsWith(AT_ROOT)) storage.removeItem(name);
    }
  }
  indexedDB.deleteDatabase("relay");
}
