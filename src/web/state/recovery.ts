/** Recovery codes (§5.2.7): making one, signing in with one (§5.13.5), and whether the person has saved it. */

import { randomText } from "../../client/idempotency.ts";
import { createListeners, createObservable } from "../observable.ts";
import { type Api, createApi, faultOf } from "./api.ts";
import { browserLabel } from "./browser-label.ts";
import { currentSession, signIn } from "./session.ts";
import { local } from "./storage.ts";

/** In local storage: when the code was made that the person has not saved, or {@link UNSEEN}. */
const UNSAVED = "unsaved-recovery-code";
/** In place of that time: a code that the server has made, or may have made, and that was not shown yet. */
const UNSEEN = 0;
/** In local storage: a recovery whose new code the person may not have seen. */
const CLAIM = "recovery";
interface Claim {
  readonly code: string;
  /** Token of the new sign-in. */
  readonly token: string;
}

interface NewCode {
  readonly code: string;
  /** The sign-in to open once the person has seen the code, after a recovery; null if the person made the code. */
  readonly sign_in: { readonly token: string; readonly account_id: string } | null;
}

/** A code that is to be shown before anything else. */
export const newRecoveryCode = createObservable<NewCode | null>(null);

/** True if the person has not saved the account's code, as far as this browser knows. `made_at`: when it was made. */
export function isUnsaved(made_at: number | null): boolean {
  if (!hasUnsavedCode()) return false;
  const unsaved = Number(local.get(UNSAVED));
  // An older time is from a response that was on its way while this browser made a code.
  if (made_at === null || unsaved === UNSEEN || made_at <= unsaved) return true;
  // Another browser has made one since.
  noteCodeSaved();
  return false;
}

/** True if the person is to be reminded of a code that was shown here, or should have been. */
export const hasUnsavedCode = (): boolean => local.get(UNSAVED) !== null;

const changes = createListeners();
/** Calls the listener whenever {@link hasUnsavedCode} may have changed here. */
export const onUnsavedCode = changes.subscribe;

/** Notes that the person has saved the code, or that another one has taken its place. */
export function noteCodeSaved(): void {
  local.remove(UNSAVED);
  changes.tell();
}

/** Notes that the person is to get a code: until it was shown and saved, the page reminds of it. */
export function noteCodeUnseen(): void {
  local.set(UNSAVED, String(UNSEEN));
  changes.tell();
}

/** Reminds of a code if the account has none: the one that the person saved was used, and its successor has ended. */
export async function remindWithoutCode(api: Api): Promise<void> {
  const { created_at } = await api.recovery.get.query({});
  if (created_at === null) noteCodeUnseen();
}

/** Makes a code, which ends the one before, and returns it. */
export async function makeRecoveryCode(api: Api): Promise<string> {
  const before = local.get(UNSAVED);
  // If the response is lost, the code that the person saved may have ended.
  noteCodeUnseen();
  try {
    const { code, created_at } = await api.recovery.replace.mutate({});
    local.set(UNSAVED, String(created_at));
    return code;
  } catch (error) {
    if (before === null && UNCHANGED.has(faultOf(error).code)) noteCodeSaved();
    throw error;
  }
}

/** Codes after which no code was made. */
const UNCHANGED: ReadonlySet<string> = new Set(["forbidden", "rate_limited", "unauthorized"]);

/** The code in a text that was typed or pasted, as the server reads it; null for a text that is none. */
export function recoveryCodeIn(text: string): string | null {
  const code = text
    .replace(/[\s\p{Pd}]/gu, "")
    .toUpperCase()
    .replace(/[IL]/g, "1")
    .replaceAll("O", "0");
  return /^[0-9A-HJKMNP-TV-Z]{32}$/.test(code) ? code : null;
}

const keptClaim = (): Claim | null => JSON.parse(local.get(CLAIM) ?? "null");

/** The code of a recovery that was begun here and not finished; null without one. */
export const unfinishedCode = (): string | null => keptClaim()?.code ?? null;

/**
 * Uses a recovery code, and shows the new one before the sign-in sends its first request: as long as it has sent none,
 * the used code is good again (§5.13.5(4)), whatever happens to this browser. The token is made here and stored before
 * it is sent, so that a lost response or a reload loses nothing: the same code and token again give the same sign-in and
 * new code.
 */
export async function recover(code: string): Promise<void> {
  const before = keptClaim();
  const claim = before?.code === code ? before : { code, token: `mca_${randomText(32)}` };
  const { token } = claim;
  local.set(CLAIM, JSON.stringify(claim));
  try {
    const { account, session, recovery_code } = await createApi(null).recovery.claim.mutate({
      ...claim,
      label: browserLabel(),
    });
    // Another attempt, or another tab, may have signed in first.
    if (currentSession() !== null) return;
    local.set(UNSAVED, String(session.created_at));
    newRecoveryCode.set({ code: recovery_code, sign_in: { token, account_id: account.id } });
  } catch (error) {
    const why = faultOf(error).code;
    if (!REFUSALS.has(why)) throw error;
    // The new code may have been replaced since the response was lost: the token is then valid all the same.
    const account =
      why === "not_found" && claim === before
        ? await createApi(token).accounts.get.query({}).catch(faultOf)
        : null;
    // A server that knows neither the code nor the token may be without its data.
    if (account && "message" in account && !account.ended) throw error;
    if (!account || "message" in account) {
      local.remove(CLAIM);
      throw error;
    }
    finish(token, account.id);
  }
}

/** Codes after which nothing has changed. */
const REFUSALS: ReadonlySet<string> = new Set(["not_found", "invalid_fields", "too_many_sessions"]);

function finish(token: string, account_id: string): void {
  if (currentSession() === null) signIn(token, account_id);
  local.remove(CLAIM);
}

/** Shows the new code of a recovery again whose page was reloaded or closed before the person went on. */
export async function resumeRecovery(): Promise<void> {
  const code = unfinishedCode();
  if (code !== null && currentSession() === null) await recover(code);
}

/** Closes the view of a new code, and signs in if a recovery made it. */
export function closeNewCode(): void {
  const { sign_in } = newRecoveryCode.get() ?? {};
  if (sign_in) finish(sign_in.token, sign_in.account_id);
  newRecoveryCode.set(null);
}

/** Hides a code that the person made, when the sign-in ends. */
export function hideMadeCode(): void {
  if (newRecoveryCode.get()?.sign_in === null) newRecoveryCode.set(null);
}
