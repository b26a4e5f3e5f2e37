/** Signing in by a pairing code (docs/interface.md 5.14): links, and claims without a response. */

import { randomText } from "../../client/idempotency.ts";
import { createApi, faultOf } from "./api.ts";
import { browserLabel } from "./browser-label.ts";
import { signIn } from "./session.ts";

/** The code and token of a claim that the server has not confirmed. */
interface Claim {
  readonly code: string;
  readonly token: string;
}

const CLAIM = "relay.claim";

/** What this tab was asked to do: the code of a link, or an unconfirmed claim from before a reload. */
let code: string | null = null;
const listeners = new Set<() => void>();

const set = (next: string | null) => {
  code = next;
  for (const listener of [...listeners]) listener();
};

/** The code that this tab may sign in with, if the person says so; null if there is none. */
export const pairingCode = (): string | null => code;

export function onPairingCode(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Drops the code, and a claim of it that is not confirmed. */
export function forgetPairingCode(): void {
  localStorage.removeItem(CLAIM);
  set(null);
}

const unconfirmed = (): Claim | null => JSON.parse(localStorage.getItem(CLAIM) ?? "null");

/** Whether a claim of this code was sent and not answered. */
export const isUnconfirmed = (of: string): boolean => unconfirmed()?.code === of;

/** The code in what was typed or pasted, which may be the whole link. */
export const codeIn = (text: string): string => text.trim().replace(/^.*#\/pair\//, "");

/** Takes the code out of the address, where other people and the history would see it. */
function take(): void {
  const [, found] = /^#\/pair\/([\w-]+)$/.exec(location.hash) ?? [];
  if (found === undefined) return;
  history.replaceState(null, "", "#/");
  set(found);
}

/** Looks for a pairing link now and whenever the address changes. Claims nothing. */
export function watchPairingLinks(): void {
  const claim = unconfirmed();
  if (claim) set(claim.code);
  take();
  window.addEventListener("hashchange", take);
}

/**
 * Signs in with the code. The token is made here and stored before it is sent, so that a lost response
 * loses nothing: the same code and token again give the same sign-in (docs/interface.md 5.14.2(2)).
 */
export async function claimPairing(given: string): Promise<void> {
  const before = unconfirmed();
  const claim = before?.code === given ? before : { code: given, token: `mca_${randomText(32)}` };
  localStorage.setItem(CLAIM, JSON.stringify(claim));
  const open = (account_id: string) => {
    // Nobody is told before there is a session.
    code = null;
    signIn(claim.token, account_id);
    forgetPairingCode();
  };
  try {
    const { account } = await createApi(null).pairings.claim.mutate({
      ...claim,
      label: browserLabel(),
    });
    open(account.id);
  } catch (error) {
    const { code: why } = faultOf(error);
    if (why === "not_found" && claim === before) {
      // The server remembers a claim for an hour; its token is valid for longer.
      const account = await createApi(claim.token)
        .accounts.get.query({})
        .catch((fault: unknown) => {
          if (faultOf(fault).code === "offline") throw fault;
          return null;
        });
      if (account) return open(account.id);
    }
    if (REFUSALS.has(why)) localStorage.removeItem(CLAIM);
    throw error;
  }
}

/** Codes after which nothing has changed. */
const REFUSALS: ReadonlySet<string> = new Set(["not_found", "invalid_fields", "too_many_sessions"]);
