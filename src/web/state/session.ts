/** The session of this browser: the token and everything that depends on it. */

import { randomText } from "../../client/idempotency.ts";
import { pause, systemTimers } from "../../client/timers.ts";
import { onWorkerMessage } from "../messages.ts";
import { createObservable } from "../observable.ts";
import { type Api, createApi, faultOf } from "./api.ts";
import { type Archive, createArchive, forgetArchive } from "./archive.ts";
import { createDraftKeeper, keepDraftsOf, rememberDrafts, restoreDrafts } from "./drafts.ts";
import {
  createKeptAnswers,
  type KeptAnswers,
  rememberUnsent,
  restoreUnsent,
} from "./kept-answers.ts";
import { forgetNewKeySecret, forgetObsoleteSecrets } from "./new-key-secrets.ts";
import { type Calls, createPace } from "./pace.ts";
import type { KeepOptions } from "./push.ts";
import { pushChannel } from "./push-channel.ts";
import { createReceipts, type Receipts } from "./receipts.ts";
import { createSignIns, type SignIns } from "./sign-ins.ts";
import { local, tab } from "./storage.ts";
import { createStore, type Store } from "./store.ts";
import { type Sync, startSync } from "./sync.ts";
import {
  keepNextToken,
  keepToken,
  keptNextToken,
  keptToken,
  removeCopy,
  successorsOf,
  TOKEN_KEY,
} from "./token.ts";
import { createUndo, type Undo } from "./undo.ts";
import { ownWorker, registerWorker } from "./worker.ts";

/** A sign-in of this browser, and the parts that work for it until sign-out. */
export interface Session {
  readonly token: string;
  /** True for a new account until the person has seen its recovery code. */
  readonly is_new: boolean;
  readonly api: Api;
  /** For parts that outlive the token. */
  readonly calls: Calls;
  readonly store: Store;
  readonly signIns: SignIns;
  readonly sync: Sync;
  readonly archive: Archive;
  readonly receipts: Receipts;
  readonly keptAnswers: KeptAnswers;
  readonly undo: Undo;
  /** A new number for each sign-in; replacing the token keeps it. */
  readonly number: number;
  /** Aborts at sign-out: results of calls in flight are dropped. */
  readonly ended: AbortController;
}

/** Most seconds that a sign-out waits for deletions to be sent. */
const FLUSH = 10;

/** Why nobody is signed in. */
export type SignOutReason = "never" | "signed out" | "deleted" | "refused" | "ended";

/** Id of the account. */
const ACCOUNT = "account";

const session = createObservable<Session | null>(null);
/**
 * In the state of the history entry, which a reload keeps, as nothing may stay in the browser's storage: that another
 * device ended the sign-in.
 */
const ENDED = "signed out elsewhere";
let sign_out_reason: SignOutReason = history.state === ENDED ? "ended" : "never";

/** The session; null if nobody is signed in. */
export const currentSession = session.get;
export const onSession = session.subscribe;
export const lastSignOut = (): SignOutReason => sign_out_reason;
/** A new token that may already be in force; null if there is none. */
export const unconfirmedToken = keptNextToken;

let sign_ins = 0;

/**
 * Opens a session. When the token was replaced, the store and calls in flight carry over from
 * `before`.
 */
function open(token: string, { is_new = false, before }: { is_new?: boolean; before?: Session }) {
  const ended = before?.ended ?? new AbortController();
  const store = before?.store ?? createKnownStore(ended.signal);
  const signIns = before?.signIns ?? createSignIns();
  const archive = createArchive(store);
  const pace = createPace();
  const api = createApi(token, ended.signal, pace.note);
  const onEnded = (why: "deleted" | "ended") => void leave(why);
  const onRefused = (is_over: boolean) => replaceRefused(token, is_over);
  if (!before) void archive.restore();
  const calls = Object.assign(before?.calls ?? {}, { api, pace });
  const options = { calls, store, ended: ended.signal };
  const receipts = before?.receipts ?? createReceipts(options);
  const accountId = () => local.get(ACCOUNT);
  const keptAnswers = before?.keptAnswers ?? createKeptAnswers({ ...options, accountId });
  const undo = before?.undo ?? createUndo(ended.signal);
  const sync = startSync({ token, api, pace, store, signIns, archive, onEnded, onRefused });
  const number = before?.number ?? ++sign_ins;
  session.set({
    token,
    number,
    is_new,
    api,
    calls,
    store,
    signIns,
    archive,
    receipts,
    keptAnswers,
    undo,
    sync,
    ended,
  });
  keepPush({ api, store, replaced: before !== undefined });
  void registerWorker()?.catch(() => null);
}

/** Aborts when the session ends or its token is replaced. */
let closing = new AbortController();

/**
 * Starts to maintain the push channel: now if this browser has one, else when the service worker
 * reports a subscription.
 */
function keepPush(options: Pick<KeepOptions, "api" | "store" | "replaced">): void {
  const { signal } = closing;
  const begin = async () => {
    const push = await import("./push.ts");
    if (!signal.aborted) push.keepPush({ ...options, ended: signal });
  };
  if (pushChannel()) return void begin();
  const stop = onWorkerMessage(({ type }) => {
    if (type !== "subscribed") return;
    stop();
    void begin();
  });
  signal.addEventListener("abort", stop);
}

/** A store whose account also decides which drafts and secrets are kept, until the session has `ended`. */
function createKnownStore(ended: AbortSignal): Store {
  const store = createStore();
  const account_id = local.get(ACCOUNT);
  if (account_id !== null) keepDraftsOf(account_id);
  const stop = store.subscribe(() => {
    const account = store.account();
    // The archive may be read after everything that was kept is erased.
    if (!account || ended.aborted) return;
    stop();
    local.set(ACCOUNT, account.id);
    keepDraftsOf(account.id);
  });
  // A text that was being written when its question ended can still be copied, or sent as a message.
  const keepDrafts = createDraftKeeper(store, (...late) => {
    const current = session.get();
    return current?.store === store && current.keptAnswers.addLate(...late);
  });
  store.subscribe(() => {
    if (!ended.aborted) keepDrafts();
    forgetObsoleteSecrets(store);
  });
  return store;
}

/** Stops synchronizing; the store and the archive stay. */
async function close(): Promise<void> {
  const old = session.get();
  closing.abort();
  closing = new AbortController();
  old?.sync.stop();
  old?.store.setConnection("connecting");
  await old?.archive.close();
}

/** Saves the token and opens a session; `is_new`: the account was created just now. */
export function signIn(token: string, account_id: string, is_new = false): void {
  if (history.state === ENDED) history.replaceState(null, "");
  local.set(ACCOUNT, account_id);
  keepToken(token);
  restoreUnsent(account_id);
  restoreDrafts(account_id);
  open(token, { is_new });
}

/** Continues the session with the token that replaced its own. */
async function continueWith(token: string): Promise<void> {
  keepNextToken(null);
  keepToken(token);
  // Another tab, or the server, may have reported the new token first.
  if (session.get()?.token === token) return;
  await close();
  const before = session.get();
  if (before && before.token !== token) open(token, { before });
}

/**
 * Continues with a token that took the place of a refused one, if there is one. If `is_over`, the server
 * has ended the refused one: then the sign-in ends here too, unless it is unknown whether another token
 * is valid. Otherwise nothing is erased, since the server may have lost its data for a while, or
 * something on the way removed the token from the request.
 */
async function replaceRefused(token: string, is_over: boolean): Promise<void> {
  let unsure = false;
  for (const next of successorsOf(token)) {
    const found = await createApi(next).accounts.get.query({}).catch(faultOf);
    if (session.get()?.token !== token) return;
    if ("message" in found) unsure ||= found.code !== "unauthorized";
    else if (found.id === (local.get(ACCOUNT) ?? found.id)) return continueWith(next);
  }
  if (is_over && !unsure) await leave("refused");
}

/** The person has seen the recovery code of the new account. */
export function confirmTokenSaved(): void {
  const current = session.get();
  if (current) session.set({ ...current, is_new: false });
}

/**
 * Replaces the token. The new one is made and stored before the request, so that one of the two
 * stored tokens is valid whatever happens to the response (§5.2.4).
 */
export async function replaceToken(): Promise<void> {
  const old = session.get();
  if (!old) return;
  const unconfirmed = unconfirmedToken();
  const token = unconfirmed ?? `mca_${randomText(32)}`;
  keepNextToken(token);
  // Otherwise the stream might report the end of the old token before the response arrives.
  await close();
  try {
    await old.api.accounts.replaceToken.mutate({ token });
  } catch (error) {
    // Refused at the first attempt: the old token is still in force.
    const { code } = faultOf(error);
    if (unconfirmed === null && REFUSALS.has(code)) keepNextToken(null);
    if (session.get() === old) open(old.token, { before: old });
    throw error;
  }
  await continueWith(token);
}

/** Codes after which nothing has changed. */
const REFUSALS: ReadonlySet<string> = new Set(["invalid_fields", "rate_limited"]);

/**
 * What a sign-out ends on the server. `nothing` keeps the token valid; `last sign-in` permits
 * ending the account's only sign-in.
 */
type SignOutScope = "nothing" | "sign-in" | "last sign-in";

/**
 * Signs out. If the token is to stay valid and its replacement is unconfirmed, the replacement is
 * finished instead, since the token that the person saved may be invalid: returns false, as there
 * is a new token to save. If the server cannot end the sign-in ({@link UNSERVED}), the data is removed here all
 * the same.
 */
export async function signOut(ends: SignOutScope): Promise<boolean> {
  const old = session.get();
  if (ends === "nothing" && unconfirmedToken() !== null) {
    await replaceToken().catch(() => {
      throw new Error("which token is valid is unknown");
    });
    return false;
  }
  await Promise.race([old?.undo.flush(), pause(systemTimers, FLUSH)]);
  const pushed = pushChannel();
  // The server deletes a push channel with its sign-in, but this sign-in stays.
  if (ends === "nothing" && old && pushed) {
    void old.api.channels.delete.mutate({ channel_id: pushed.id }).catch(() => null);
  }
  const own = old?.signIns.all()?.find(({ current }) => current);
  if (ends !== "nothing" && old && own) {
    // Otherwise the stream might report the end before the response arrives.
    await close();
    try {
      const input = { session_id: own.id, last: ends === "last sign-in" };
      await old.api.sessions.delete.mutate(input);
    } catch (error) {
      if (!UNSERVED.has(faultOf(error).code)) {
        if (session.get() === old) open(old.token, { before: old });
        throw error;
      }
    }
  }
  await leave("signed out");
  return true;
}

/**
 * Codes that must not keep a person signed in here: it is unknown whether the request arrived, the server
 * does not know the token, or another program refused the request.
 */
const UNSERVED: ReadonlySet<string> = new Set([
  "offline",
  "unanswered",
  "unauthorized",
  "intercepted",
]);

/**
 * Ends the session and removes the account's data from this browser; the page's own files stay. If
 * another tab has signed in with another token, that session is opened instead. This cannot be undone:
 * call it only if the server has ended the sign-in, or the person asks for it.
 */
export async function leave(why: SignOutReason): Promise<void> {
  const kept = keptToken();
  if (kept !== null && kept !== session.get()?.token) return follow(kept);
  sign_out_reason = why;
  const is_forced = why === "refused" || why === "ended";
  session.get()?.ended.abort();
  if (is_forced) rememberUnsent(local.get(ACCOUNT));
  if (is_forced) rememberDrafts();
  forgetNewKeySecret();
  local.clear();
  tab.clear();
  location.hash = "";
  if (why === "refused" || why === "ended") history.replaceState(ENDED, "");
  const closed = close();
  session.set(null);
  await closed;
  // Another tab may have signed in by now: the archive is then theirs.
  if (keptToken() === null) await forgetArchive();
  const worker = await ownWorker();
  if (!worker) return;
  if (keptToken() === null) {
    await (await worker.pushManager?.getSubscription())?.unsubscribe().catch(() => null);
  }
  for (const shown of await worker.getNotifications()) shown.close();
}

/** Continues with the token of another tab; reloads if it belongs to another account. */
async function follow(token: string): Promise<void> {
  const current = session.get();
  const same = current?.store.account()?.id === local.get(ACCOUNT);
  if (!current || !same) {
    if (!current) {
      restoreUnsent(local.get(ACCOUNT));
      restoreDrafts(local.get(ACCOUNT));
    }
    return location.reload();
  }
  await continueWith(token);
}

/** Opens the stored session, and follows sign-ins and sign-outs of other tabs. */
export function resume(): void {
  removeCopy();
  const token = keptToken();
  if (token !== null) open(token, {});
  window.addEventListener("storage", ({ key }) => {
    // The key is null when the storage was cleared.
    if (key !== TOKEN_KEY && key !== null) return;
    // The event may be late: what is stored now counts.
    const kept = keptToken();
    if (kept !== null) void follow(kept);
    else if (session.get()) void leave("signed out");
  });
}
