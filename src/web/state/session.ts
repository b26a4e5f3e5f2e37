/** Who is signed in in this browser: the token, and all that hangs on it. */

import { randomText } from "../../client/idempotency.ts";
import { type Api, createApi, faultOf } from "./api.ts";
import { type Archive, createArchive, forgetArchive } from "./archive.ts";
import { forgetPointless, keepDraftsOf } from "./drafts.ts";
import { forgetNewKeySecret } from "./new-key-secrets.ts";
import { createPace } from "./pace.ts";
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
  /** Another one after each sign-in, and the same while the token is replaced. */
  readonly visit: number;
  /** Once aborted, nobody waits any more for what the server says. */
  readonly ended: AbortController;
}

/** Why nobody is signed in. */
export type Farewell = "never" | "signed out" | "deleted" | "refused";

const TOKEN = "relay.token";
/** A token that is to replace it; the server may have taken it, and may not. */
const NEXT = "relay.next-token";
/** Id of the account. */
const ACCOUNT = "relay.account";

const listeners = new Set<() => void>();
let session: Session | null = null;
let farewell: Farewell = "never";

export const currentSession = (): Session | null => session;
export const lastFarewell = (): Farewell => farewell;
/** A token that may be in the place of the session's by now; null where there is no doubt. */
export const tokenInDoubt = (): string | null => localStorage.getItem(NEXT);

export function onSession(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function set(next: Session | null): void {
  session = next;
  for (const listener of [...listeners]) listener();
}

let visits = 0;

/** Starts with this token; what is known, and calls under way, go on when it replaced another one. */
function open(token: string, { is_new = false, before }: { is_new?: boolean; before?: Session }) {
  const ended = before?.ended ?? new AbortController();
  const store = before?.store ?? createKnownStore();
  const archive = createArchive(store);
  const pace = createPace();
  const api = createApi(token, ended.signal, pace.note);
  const onEnded = (why: "deleted" | "refused") => {
    const next = localStorage.getItem(NEXT);
    if (why === "deleted" || next === null) return void leave(why);
    void goOn(next);
  };
  if (!before) void archive.restore();
  const sync = startSync({ token, api, pace, store, archive, onEnded });
  const visit = before?.visit ?? ++visits;
  set({ token, visit, is_new, api, store, archive, sync, ended });
  // Opens the page without the server; a browser that has none is asked nothing.
  void navigator.serviceWorker?.register("sw.js").catch(() => null);
}

/** A store that what is kept elsewhere for its account follows. */
function createKnownStore(): Store {
  const store = createStore();
  const account_id = localStorage.getItem(ACCOUNT);
  if (account_id !== null) keepDraftsOf(account_id);
  const stop = store.subscribe(() => {
    const account = store.account();
    if (!account) return;
    stop();
    localStorage.setItem(ACCOUNT, account.id);
    keepDraftsOf(account.id);
  });
  store.subscribe(() => forgetPointless(store));
  store.onChange((kind, id) => {
    if (kind === "keys" && !store.all.keys.has(id)) forgetNewKeySecret(id);
  });
  return store;
}

/** Stops following the server; what is known, and what was kept, stays. */
async function close(): Promise<void> {
  const old = session;
  old?.sync.stop();
  old?.store.setLink("connecting");
  await old?.archive.close();
}

/** Keeps the account's token in this browser and starts; `is_new` when it was made just now. */
export function signIn(token: string, account_id: string, is_new = false): void {
  localStorage.setItem(ACCOUNT, account_id);
  localStorage.setItem(TOKEN, token);
  open(token, { is_new });
}

/** Goes on with the token that replaced the one of the session. */
async function goOn(token: string): Promise<void> {
  localStorage.setItem(TOKEN, token);
  localStorage.removeItem(NEXT);
  // Another tab, or the server, may have told of it first, or does meanwhile.
  if (session?.token === token) return;
  await close();
  if (session && session.token !== token) open(token, { before: session });
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
  const doubted = tokenInDoubt();
  const token = doubted ?? `mca_${randomText(32)}`;
  localStorage.setItem(NEXT, token);
  // The end of the old one must not come before the answer.
  await close();
  try {
    await old.api.accounts.replaceToken.mutate({ token });
  } catch (error) {
    // Refused by the server itself at the first attempt, it was not replaced.
    const { code } = faultOf(error);
    if (doubted === null && REFUSALS.has(code)) localStorage.removeItem(NEXT);
    if (session === old) open(old.token, { before: old });
    throw error;
  }
  await goOn(token);
}

/** Codes that tell that nothing was done. */
const REFUSALS: ReadonlySet<string> = new Set(["invalid_fields", "rate_limited"]);

/**
 * Signs out, unless the token is just being replaced: then that is brought to its end first, as the
 * one that the person has may be dead already. False when there is a new one to be kept.
 */
export async function signOut(): Promise<boolean> {
  if (tokenInDoubt() === null) {
    await leave("signed out");
    return true;
  }
  await replaceToken();
  return false;
}

/**
 * Ends it and removes everything of the account from this browser; the page's own files stay. What
 * another tab has signed in to meanwhile, with another token, is not touched but opened.
 */
export async function leave(why: Farewell): Promise<void> {
  const kept = localStorage.getItem(TOKEN);
  if (kept !== null && kept !== session?.token) return follow(kept);
  farewell = why;
  session?.ended.abort();
  forgetNewKeySecret();
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

/** Goes on with the token of another tab. Of another account nothing may be left, so all starts anew. */
async function follow(token: string): Promise<void> {
  const same = session?.store.account()?.id === localStorage.getItem(ACCOUNT);
  if (!session || !same) return location.reload();
  await goOn(token);
}

/** Starts with what this browser has, and follows its other tabs. */
export function resume(): void {
  const token = localStorage.getItem(TOKEN);
  if (token !== null) open(token, {});
  window.addEventListener("storage", ({ key }) => {
    // Cleared as a whole, the key is null.
    if (key !== TOKEN && key !== null) return;
    // The event may be late: what counts is what is kept now.
    const kept = localStorage.getItem(TOKEN);
    if (kept !== null) void follow(kept);
    else if (session) void leave("signed out");
  });
}
