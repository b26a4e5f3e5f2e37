/** Sign-in by a pairing code (§5.14): links, and claims without a response. */

import { randomText } from "../../client/idempotency.ts";
import { now } from "../clock.ts";
import { createApi, type Fault, faultOf } from "./api.ts";
import { browserLabel } from "./browser-label.ts";
import { createLinkCode } from "./link-code.ts";
import { signIn } from "./session.ts";
import { local } from "./storage.ts";

/** The code and token of a claim that the server has not confirmed. */
interface Claim {
  readonly code: string;
  readonly token: string;
}

const CLAIM = "claim";
/** The token of a claim that the person gave up while it was unconfirmed. */
const GIVEN_UP = "given-up-token";
/** The code of that claim, and when it was given up. */
const GIVEN_UP_CLAIM = "given-up-claim";
interface GivenUp {
  readonly code: string;
  /** Epoch seconds. */
  readonly at: number;
}
/** Seconds for which an unknown sign-in is looked for: the server may be without its data. */
const LOOKED_FOR = 7 * 86_400;

/**
 * The code that this tab offers to sign in with: of a link, or of an unconfirmed claim from before
 * a reload.
 */
export const pairingCode = createLinkCode({
  name: "pairing-code",
  address: /^\/pair\/([\w-]+)$/,
});

/** Drops the code, and a claim of it that is not confirmed. */
export function forgetPairingCode(): void {
  local.remove(CLAIM);
  pairingCode.forget();
}

/** Drops the code, and ends the sign-in that a claim without a response may have made. */
export function cancelPairing(): void {
  const claim = unconfirmed();
  if (claim) {
    local.set(GIVEN_UP, claim.token);
    const given_up: GivenUp = { code: claim.code, at: now() };
    local.set(GIVEN_UP_CLAIM, JSON.stringify(given_up));
  }
  forgetPairingCode();
  void endGivenUp();
}

/** Ends the sign-in of a claim that was given up; without the server, at the next load. */
async function endGivenUp(): Promise<void> {
  const token = local.get(GIVEN_UP);
  if (token === null) return;
  const api = createApi(token);
  try {
    const { sessions } = await api.sessions.list.query({});
    const own = sessions.find(({ current }) => current);
    // Nobody has its token, so it is of no use, even if it is the account's only sign-in.
    if (own) await api.sessions.delete.mutate({ session_id: own.id, last: true });
  } catch (error) {
    const { code, ended = false } = faultOf(error);
    if (!ended && (code !== "unauthorized" || !(await neverArrived()))) return;
  }
  if (local.get(GIVEN_UP) !== token) return;
  local.remove(GIVEN_UP);
  local.remove(GIVEN_UP_CLAIM);
}

/**
 * True if the claim that was given up never reached the server, which does not know its token: the code can
 * still be used, or so much time has passed that the server is not just without its data for a while.
 */
async function neverArrived(): Promise<boolean> {
  const given_up: GivenUp | null = JSON.parse(local.get(GIVEN_UP_CLAIM) ?? "null");
  if (given_up === null || now() - given_up.at > LOOKED_FOR) return true;
  const offer = await offerOf(given_up.code).catch(faultOf);
  return !("message" in offer);
}

const unconfirmed = (): Claim | null => JSON.parse(local.get(CLAIM) ?? "null");

/** True if a claim of this code was sent and not answered. */
export const isUnconfirmed = (of: string): boolean => unconfirmed()?.code === of;

/** The code in a text that was typed or pasted, which may be the whole link. */
export const codeIn = (text: string): string => text.trim().replace(/^.*#\/pair\//, "");

/** True if a text has the form of a code to type; others need no request to be refused. */
export const isTypedCode = (text: string): boolean =>
  /^[\p{L}\p{N}]{8}$/u.test(text.replace(/[\s\p{Pd}]/gu, ""));

/** True if a text has the form of a code, typed or from a link. */
export const isPairingCode = (text: string): boolean =>
  isTypedCode(text) || /^[\w-]{22}$/.test(text);

/** The account that a code opens. Rejects with `not_found` if the code cannot be used. */
export const offerOf = (code: string) => createApi(null).pairings.lookup.mutate({ code });

/** Looks for a pairing link now and whenever the address changes. Claims nothing. */
export function watchPairingLinks(): void {
  void endGivenUp();
  window.addEventListener("online", () => void endGivenUp());
  pairingCode.watch(unconfirmed()?.code);
}

/**
 * Signs in with the code. The token is made here and stored before it is sent, so that a lost
 * response loses nothing: the same code and token again give the same sign-in
 * (§5.14.2(2)).
 */
export async function claimPairing(given: string): Promise<void> {
  const before = unconfirmed();
  const claim = before?.code === given ? before : { code: given, token: `mca_${randomText(32)}` };
  local.set(CLAIM, JSON.stringify(claim));
  const open = (account_id: string) => {
    // Without telling listeners: there is no session yet.
    pairingCode.hide();
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
    let found: Fault | null = null;
    if (why === "not_found" && claim === before) {
      // The server remembers a claim for an hour; its token is valid for longer.
      const account = await createApi(claim.token).accounts.get.query({}).catch(faultOf);
      if ("id" in account) return open(account.id);
      if (account.code !== "unauthorized") throw error;
      found = account;
    }
    // A server that knows neither the code nor the token may be without its data.
    if (REFUSALS.has(why) && (found === null || found.ended)) local.remove(CLAIM);
    throw error;
  }
}

/** Codes after which nothing has changed. */
const REFUSALS: ReadonlySet<string> = new Set(["not_found", "invalid_fields", "too_many_sessions"]);
