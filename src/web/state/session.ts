/** Who is signed in in this browser: the token, and all that hangs on it. */

import { type Api, createApi } from "./api.ts";
import { type Archive, createArchive, forgetArchive } from "./archive.ts";
import { createStore, type Store } from "./store.ts";
import { type Sync, startSync } from "./sync.ts";

export interface Session {
  readonly token: string;
  readonly api: Api;
  readonly store: Store;
  readonly sync: Sync;
  readonly archive: Archive;
}

/** Why nobody is signed in. */
export type Farewell = "never" | "signed out" | "deleted" | "refused";

const TOKEN = "relay.token";

const listeners = new Set<() => void>();
let session: Session | null = null;
let farewell: Farewell = "never";

export const currentSession = (): Session | null => session;
export const lastFarewell = (): Farewell => farewell;

export function onSession(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function set(next: Session | null): void {
  session = next;
  for (const listener of [...listeners]) listener();
}

function open(token: string): void {
  const store = createStore();
  const archive = createArchive(store);
  const api = createApi(token);
  const onEnded = (why: "deleted" | "refused") => void leave(why);
  void archive.restore();
  set({ token, api, store, archive, sync: startSync({ token, api, store, archive, onEnded }) });
  // Opens the page without the server; a browser that has none is asked nothing.
  void navigator.serviceWorker?.register("sw.js").catch(() => null);
}

/** Keeps the token in this browser and starts. */
export function signIn(token: string): void {
  localStorage.setItem(TOKEN, token);
  open(token);
}

/** Gets a new token, and goes on with it; with the old one when that fails. */
export async function replaceToken(): Promise<void> {
  const old = session;
  if (!old) return;
  // The end of the old one must not look like the end of the session.
  old.sync.stop();
  await old.archive.close();
  try {
    signIn((await old.api.accounts.replaceToken.mutate({})).token);
  } catch (error) {
    open(old.token);
    throw error;
  }
}

/**
 * Ends it and removes everything of the account from this browser; the page's own files stay. What
 * another tab has signed in to meanwhile, with another token, is not touched but opened.
 */
export async function leave(why: Farewell): Promise<void> {
  const old = session;
  const kept = localStorage.getItem(TOKEN);
  if (kept !== null && kept !== old?.token) return location.reload();
  farewell = why;
  localStorage.clear();
  location.hash = "";
  set(null);
  old?.sync.stop();
  await old?.archive.close();
  // Someone may have signed in by now, and it is theirs.
  if (localStorage.getItem(TOKEN) === null) await forgetArchive();
  for (const worker of (await navigator.serviceWorker?.getRegistrations()) ?? []) {
    for (const shown of await worker.getNotifications()) shown.close();
  }
}

/** Starts with what this browser has, and follows its other tabs. */
export function resume(): void {
  const token = localStorage.getItem(TOKEN);
  if (token !== null) open(token);
  window.addEventListener("storage", ({ key }) => {
    // Cleared as a whole, the key is null.
    if (key !== TOKEN && key !== null) return;
    // The event may be late: what counts is what is kept now.
    if (localStorage.getItem(TOKEN) !== null) location.reload();
    else if (session) void leave("signed out");
  });
}
