/**
 * What this page keeps in the browser, under its own names: other programs of the origin, and Relays
 * under other paths, use the same storage.
 */

import { serverUrl } from "./server-url.ts";

/** Path of this Relay: `/`, or such as `/relay/`. */
export const PATH = new URL(serverUrl(".")).pathname;

/** Prefix of all names of this Relay. A path contains no space, so no prefix begins with another. */
const PREFIX = PATH === "/" ? "relay." : `relay ${PATH} `;

/** The name of something that the whole origin shares, such as a lock. */
export const scoped = (name: string): string => PREFIX + name;

/** The name without its prefix; null if it belongs to another program. */
export const unscoped = (name: string): string | null =>
  name.startsWith(PREFIX) ? name.slice(PREFIX.length) : null;

/** Local or session storage, as far as it belongs to this Relay. */
function ownPart(storage: () => Storage) {
  const names = (): string[] => Object.keys(storage()).flatMap((name) => unscoped(name) ?? []);
  return {
    get: (name: string): string | null => storage().getItem(scoped(name)),
    set: (name: string, value: string): void => storage().setItem(scoped(name), value),
    remove: (name: string): void => storage().removeItem(scoped(name)),
    names,
    clear(): void {
      for (const name of names()) storage().removeItem(scoped(name));
    },
  };
}

export const local = ownPart(() => localStorage);
export const tab = ownPart(() => sessionStorage);
