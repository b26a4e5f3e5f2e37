/**
 * Creates accounts so that neither a lost response nor a reload loses one
 * (§5.2.1(4)).
 */

import { randomText } from "../../client/idempotency.ts";
import { createApi, faultOf } from "./api.ts";
import { browserLabel } from "./browser-label.ts";
import { noteCodeUnseen } from "./recovery.ts";
import { currentSession, signIn } from "./session.ts";
import { inviteCode, startCode } from "./start-code.ts";
import { local } from "./storage.ts";

/** The token of an account whose creation the server has not confirmed. */
const NEW = "new-token";

function open(token: string, account_id: string): void {
  // Another attempt may have signed in first.
  if (currentSession() === null) {
    noteCodeUnseen();
    signIn(token, account_id, true);
  }
  local.remove(NEW);
  startCode.forget();
  inviteCode.forget();
}

/**
 * Signs in to the account that an attempt without a response has created; false if there is none.
 */
export async function recoverAccount(): Promise<boolean> {
  const token = local.get(NEW);
  if (token === null || currentSession() !== null) return false;
  try {
    const { id } = await createApi(token).accounts.get.query({});
    open(token, id);
    return true;
  } catch (error) {
    // The request may still be under way, so the token is kept for the next attempt.
    if (faultOf(error).code === "unauthorized") return false;
    throw error;
  }
}

/**
 * Creates an account and signs in to it. The token is made here and stored before it is sent:
 * another attempt sends the same one, and so gets the same account.
 */
export async function createAccount(start_code?: string): Promise<void> {
  if (await recoverAccount()) return;
  const before = local.get(NEW);
  const token = before ?? `mca_${randomText(32)}`;
  local.set(NEW, token);
  try {
    const { account } = await createApi(null).accounts.create.mutate({
      token,
      label: browserLabel(),
      ...(start_code !== undefined && { start_code }),
    });
    open(token, account.id);
  } catch (error) {
    const { code, fields } = faultOf(error);
    // The token's account has been deleted since: the token cannot be used for another.
    const is_dead = before !== null && fields.token !== undefined;
    // Refused at the first attempt: no account has this token.
    if (is_dead || (before === null && REFUSALS.has(code))) local.remove(NEW);
    if (is_dead) return createAccount(start_code);
    throw error;
  }
}

/** Codes after which nothing was created. */
const REFUSALS: ReadonlySet<string> = new Set([
  "account_creation_off",
  "attestation_required",
  "attestation_invalid",
  "invalid_fields",
  "rate_limited",
]);
