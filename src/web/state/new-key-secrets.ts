/**
 * Secrets of new keys, until the person confirms that they are saved: each is shown only once. A
 * secret survives reloads of its tab for a day. Half of it is in the tab's session storage and half
 * in the browser's local storage, so that confirming it in any tab, or signing out, ends it in
 * every copy of the tab, even in one that the browser restores later.
 */

import { now } from "../clock.ts";
import { createObservable } from "../observable.ts";
import { local, tab, unscoped } from "./storage.ts";
import type { Store } from "./store.ts";

interface NewKeySecret {
  readonly id: string;
  readonly label: string;
  readonly secret: string;
}

/** In session storage: the keys of this tab, each with one half of its secret. */
const IN_TAB = "new-keys";
/** In local storage: the other half, by the id of the key. */
const SHARED = "new-key.";
/** Seconds that a secret is kept. */
const KEPT = 86_400;

interface TabPart {
  readonly id: string;
  readonly label: string;
  readonly half: readonly number[];
}
interface SharedPart {
  readonly half: readonly number[];
  /** Epoch seconds. */
  readonly until: number;
}

const secrets = createObservable<readonly NewKeySecret[]>(restore());
/** Requests for keys in flight. */
let under_way = 0;

/** The oldest secret that the person has not confirmed. */
export const newKeySecret = (): NewKeySecret | null => secrets.get()[0] ?? null;

/** The secret of this key, while it is known. */
export const newKeySecretOf = (id: string): string | null =>
  secrets.get().find((one) => one.id === id)?.secret ?? null;

export const onNewKeySecret = secrets.subscribe;

/**
 * Runs a request that makes a key, and keeps the secret wherever the person navigates meanwhile.
 */
export async function makeKey(work: () => Promise<NewKeySecret>): Promise<NewKeySecret> {
  under_way++;
  try {
    const added = await work();
    keep(added);
    secrets.set([...secrets.get().filter(({ id }) => id !== added.id), added]);
    return added;
  } finally {
    under_way--;
  }
}

/** Drops the secret of this key; without an id (sign-out), all of them and those in flight. */
export function forgetNewKeySecret(id?: string): void {
  if (id === undefined) under_way = 0;
  const gone = secrets.get().filter((one) => id === undefined || one.id === id);
  if (gone.length === 0) return;
  for (const one of gone) local.remove(SHARED + one.id);
  const ids = new Set(gone.map((one) => one.id));
  saveTab(tabParts().filter((one) => !ids.has(one.id)));
  secrets.set(secrets.get().filter((one) => !ids.has(one.id)));
}

/** Drops secrets of keys that were deleted, once the keys are loaded. */
export function forgetObsoleteSecrets({ all, loads }: Store): void {
  if (loads() === 0) return;
  for (const { id } of secrets.get()) if (!all.keys.has(id)) forgetNewKeySecret(id);
}

/** Stores both halves; where storage is full, a reload loses the secret. */
function keep({ id, label, secret }: NewKeySecret): void {
  const pad = crypto.getRandomValues(new Uint8Array(secret.length));
  const rest = [...pad].map((byte, i) => byte ^ secret.charCodeAt(i));
  try {
    saveTab([...tabParts().filter((one) => one.id !== id), { id, label, half: [...pad] }]);
    const shared: SharedPart = { half: rest, until: now() + KEPT };
    local.set(SHARED + id, JSON.stringify(shared));
  } catch {
    // The secret stays on the page until it is reloaded.
  }
}

function tabParts(): readonly TabPart[] {
  return JSON.parse(tab.get(IN_TAB) ?? "[]");
}

function saveTab(parts: readonly TabPart[]): void {
  if (parts.length === 0) tab.remove(IN_TAB);
  else tab.set(IN_TAB, JSON.stringify(parts));
}

/**
 * After a reload, restores the secrets that have both halves. Removes halves that are too old.
 */
function restore(): readonly NewKeySecret[] {
  for (const name of local.names()) {
    if (name.startsWith(SHARED) && !(sharedPart(name).until > now())) local.remove(name);
  }
  const found = tabParts().flatMap(({ id, label, half }) => {
    if (local.get(SHARED + id) === null) return [];
    const rest = sharedPart(SHARED + id).half;
    const secret = String.fromCharCode(...half.map((byte, i) => byte ^ rest[i]!));
    return [{ id, label, secret }];
  });
  const ids = new Set(found.map(({ id }) => id));
  saveTab(tabParts().filter(({ id }) => ids.has(id)));
  return found;
}

function sharedPart(name: string): SharedPart {
  return JSON.parse(local.get(name)!);
}

// Confirmed, or signed out, in another tab.
window.addEventListener("storage", ({ key, newValue }) => {
  const name = key && unscoped(key);
  if (name?.startsWith(SHARED) && newValue === null) forgetNewKeySecret(name.slice(SHARED.length));
});

// Asks before the page closes: the response under way brings a secret that could not be shown
// again.
window.addEventListener("beforeunload", (event) => {
  if (under_way > 0) event.preventDefault();
});
