/** Who is signed in in this browser: the token, and all that hangs on it. */

import { type Api, createApi, randomText } from "./api.ts";
import { type Archive, createArchive, forgetArchive } from "./archive.ts";
import { createStore, type Store } from "./store.ts";
import { type Sync, startSync } from "./sync.ts";

export interface Session {
  readonly token: string;
  /** Made just now: the person has not seen yet that the token is the only way in. */
  readonly is_new: boolean;
  readonly api: Api;
  readonly store: Store;
  readonly sync: Sync;
  readonly archive: Archive;
  /** Nobody waits any more for what the server says to it. */
  readonly end: () => void;
}

/** Why nobody is signed in. */
export type Farewell = "never" | "signed out" | "deleted" | "refused";

const TOKEN = "relay.token";
/** A token that is to replace it; the server may have taken it, and may not. */
const NEXT = "relay.next-token";

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

function open(token: string, is_new = false): void {
  const ended = new AbortController();
  const store = createStore();
  const archive = createArchive(store);
  const api = createApi(token, ended.signal);
  const onEnded = (why: "deleted" | "refused") => {
    const next = localStorage.getItem(NEXT);
    if (why === "deleted" || next === null) return void leave(why);
    void close().then(() => signIn(next));
  };
  void archive.restore();
  const sync = startSync({ token, api, store, archive, onEnded });
  set({ token, is_new, api, store, archive, sync, end: () => ended.abort() });
  // Opens the page without the server; a browser that has none is asked nothing.
  void navigator.serviceWorker?.register("sw.js").catch(() => null);
}

/** Ends what goes on for the session; what was kept stays. */
async function close(): Promise<void> {
  const old = session;
  old?.sync.stop();
  old?.end();
  await old?.archive.close();
}

/** Keeps the token in this browser and starts; `is_new` of an account that was made just now. */
export function signIn(token: string, is_new = false): void {
  localStorage.setItem(TOKEN, token);
  localStorage.removeItem(NEXT);
  open(token, is_new);
}

/** The person has seen the token. */
export function welcomed(): void {
  if (session) set({ ...session, is_new: false });
}

/**
 * Puts a new token in the place of the old one, and goes on with it. It is made and kept here before
 * the server hears of it: whatever becomes of the answer, one of the two is valid.
 */
export async function replaceToken(): Promise<void> {
  const old = session;
  if (!old) return;
  const token = localStorage.getItem(NEXT) ?? `mca_${randomText(32)}`;
  localStorage.setItem(NEXT, token);
  // The end of the old one must not come before the answer.
  old.sync.stop();
  await old.archive.close();
  try {
    await old.api.accounts.replaceToken.mutate({ token });
  } catch (error) {
    open(old.token);
    throw error;
  }
  old.end();
  signIn(token);
}

/**
 * Ends it and removes everything of the account from this browser; the page's own files stay. What
 * another tab has signed in to meanwhile, with another token, is not touched but opened.
 */
export async function leave(why: Farewell): Promise<void> {
  const kept = localStorage.getItem(TOKEN);
  if (kept !== null && kept !== session?.token) return location.reload();
  farewell = why;
  localStorage.clear();
  sessionStorage.clear();
  location.hash = "";
  const closed = close();
  set(null);
  await closed;
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
