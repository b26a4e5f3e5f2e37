/** Charges one request to its caller or its address, and refuses it above a limit (§10.6). */

import type { Auth } from "../auth/authenticate.ts";
import type { Clock } from "../clock.ts";
import { fail, ServiceError } from "../errors.ts";
import { LIMITS, RATES, type Rate } from "../limits.ts";
import type { CredentialHolder } from "../model/caller.ts";
import {
  type AddressLimit,
  type Limiter,
  type Quota,
  quotaOf,
  tokensOf,
  tokensOfBody,
} from "../overload/limiter.ts";
import type { Unsent } from "../overload/unsent-answers.ts";
import type { CallScope } from "../rpc/context.ts";
import { toServiceError } from "../rpc/errors.ts";
import { checkDeclaredSize, mayExceed } from "./body.ts";
import type { RequestCredential } from "./request-credential.ts";

export interface ChargesOptions {
  readonly auth: Auth;
  readonly limiter: Limiter;
  readonly unsent: Unsent;
  readonly clock: Clock;
  /** Accounts that an address made within the last hour, and when it made the first and the last. */
  readonly creationsOf: (
    address: string,
  ) => Promise<{ readonly count: number; readonly first_at: number; readonly last_at: number }>;
}

export type RequestCharges = ReturnType<typeof createCharges>;

export function createCharges(
  { auth, limiter, unsent, clock, creationsOf }: ChargesOptions,
  request: Request,
  credential: RequestCredential,
  address: () => string,
) {
  /** The limit to show in the response; null: that of the caller, if there is one. */
  let shown: Quota | null = null;
  /** The limit to show in a refusal, after `limit`: a refusal does not count toward it. */
  let unspent: Quota | null = null;
  /** The refusal for the address, which is then not charged again. */
  let exhausted: ServiceError | undefined;
  /** True once `prepayBody` has paid for the first call, and the error if it was refused. */
  let prepaid = false;
  let refused_ahead: ServiceError | undefined;

  const spend = (tokens: number): void => {
    const caller = credential.caller();
    if (caller && tokens > 0) shown = limiter.spend(caller, tokens);
  };

  /** Charges the address one call; throws `429 rate_limited` when it has none left. */
  const chargeAddress = (name: AddressLimit = "address"): void => {
    credential.ignore();
    try {
      shown = limiter.chargeAddress(name, address());
    } catch (limited) {
      shown = limiter.peekAddress(name, address());
      if (limited instanceof ServiceError) exhausted = limited;
      throw limited;
    }
  };

  /**
   * The limit that a refusal counts toward instead of the address's own (§18.8.2): of an expired access token, and
   * of no credential at `/mcp`. Null for any other refusal, and when that limit is reached.
   */
  const forgivenBy = async (): Promise<AddressLimit | null> => {
    const begins = credential.header === null && new URL(request.url).pathname === "/mcp";
    if (!begins && !(await auth.isExpired(credential.header))) return null;
    const name = begins ? "mcp_challenges" : "expired_tokens";
    return limiter.exhausted(name, address) ? null : name;
  };

  /** The account that has the `token` of this input already; null if there is none. */
  const ownerOf = async (input: unknown): Promise<CredentialHolder | null> => {
    const { token } = (input ?? {}) as { readonly token?: unknown };
    if (typeof token !== "string") return null;
    const found = await auth.authenticate(`Bearer ${token}`);
    return found?.caller.kind === "account" ? found.caller : null;
  };

  /** Does what `settleError` does, at once, for a request whose credential was looked up. */
  const chargeRefusal = (refused: ServiceError): ServiceError => {
    const error = credential.markEnd(refused);
    if (exhausted) return exhausted;
    shown = unspent ?? shown;
    // An error of the server is not charged.
    if (credential.caller() !== null || error.status >= 500) return error;
    try {
      const left = limiter.chargeAddress("address", address());
      shown = unspent ?? left;
      return error;
    } catch (limited) {
      if (error.code === "rate_limited" || !(limited instanceof ServiceError)) return error;
      shown = limiter.peekAddress("address", address());
      return limited;
    }
  };

  return {
    chargeRefusal,

    /** The rate limit for the headers of the response; null when none applies. */
    quota(): Quota | null {
      const caller = credential.caller();
      return shown ?? (caller ? limiter.peek(caller) : null);
    },

    /**
     * Throws `429 rate_limited` for an address above its limit, unless the credential is valid. Undefined,
     * without a promise, for any other address.
     */
    admitAddress(): Promise<void> | undefined {
      if (!limiter.exhausted("address", address)) return undefined;
      if (credential.header !== null && !auth.isWellFormed(credential.header)) chargeAddress();
      return credential.authenticate().then(async (found) => {
        if (!found && (await forgivenBy()) === null) chargeAddress();
      });
    },

    /** Throws `429 rate_limited` for an address above its limit, whatever its credential (§4.3). */
    refuseExhausted(): void {
      if (limiter.exhausted("address", address)) chargeAddress();
    },

    /**
     * For routes without a credential, on which any address may send an ordinary body: throws `429 rate_limited`
     * for a body of more than `LIMITS.exhausted_body_bytes`, or without a declared length, of an address that
     * is above one of these limits.
     */
    limitOpenBody(names: readonly AddressLimit[]): void {
      const name = names.find((one) => limiter.exhausted(one, address));
      if (name && mayExceed(request, LIMITS.exhausted_body_bytes)) chargeAddress(name);
    },

    /**
     * Charges the caller for a body of more than `LIMITS.large_body_bytes`, or without a declared length, before
     * it is read (§10.6.7). False: it must not be read, because the call will be refused for its credential or
     * rate limit. Undefined, without a promise, for a small body.
     */
    prepayBody(): Promise<boolean> | undefined {
      if (!limiter.on || !mayExceed(request, LIMITS.large_body_bytes)) return undefined;
      const declared = checkDeclaredSize(request);
      return credential.authenticate().then((found) => {
        if (!found) return false;
        try {
          shown = limiter.charge(found.caller);
          prepaid = true;
          spend(tokensOfBody(declared ?? 0));
        } catch (limited) {
          refused_ahead = toServiceError(limited);
        }
        return refused_ahead === undefined;
      });
    },

    /** Charges for a body whose length `prepayBody` could not know. */
    bodyArrived(bytes: number): void {
      if (prepaid && !request.headers.has("content-length")) spend(tokensOfBody(bytes));
    },

    charge(): void {
      if (refused_ahead) throw refused_ahead;
      const caller = credential.caller();
      if (!caller) return;
      // Each call of a batch is charged by itself, and the first one is paid.
      if (prepaid) prepaid = false;
      else shown = limiter.charge(caller);
      unsent.admit(caller);
    },

    /** Charges a call again that waited for its page while earlier answers put its caller into debt. */
    chargeDebt(caller: CredentialHolder): void {
      if (limiter.overdrawn(caller)) shown = limiter.charge(caller);
      unsent.admit(caller);
    },

    /** Charges the caller for an answer; its own headers include the charge. */
    chargeAnswer: (bytes: number): void => spend(tokensOf(bytes)),

    async limit(name, input): Promise<void> {
      if (!limiter.on) return;
      if (name !== "accounts") {
        unspent = limiter.peekAddress(name, address());
        unspent = shown = limiter.chargeAddress(name, address());
        return;
      }
      const rate: Rate = RATES.accounts;
      if (rate.quota === 0) return;
      const { count, first_at, last_at } = await creationsOf(address());
      // In this order: of two repetitions at once, one may have made the last account of the limit.
      const owner = await ownerOf(input);
      if (owner) {
        unspent = limiter.peek(owner);
        unspent = shown = limiter.charge(owner);
        return;
      }
      const until = (at: number) => Math.max(0, Math.ceil(at + rate.window - clock.now()));
      const left = Math.max(0, rate.quota - count);
      unspent = quotaOf(name, rate, left, until(last_at));
      shown = quotaOf(name, rate, left - 1, rate.window);
      if (left > 0) return;
      limiter.refused.accounts++;
      fail("rate_limited", { retry_after: Math.max(1, until(first_at)) });
    },

    /**
     * Returns the error to respond with. A refusal without a valid credential is charged to the address, and becomes
     * `429 rate_limited` once the address is above its limit (§10.6.4).
     */
    async settleError(error: ServiceError): Promise<ServiceError> {
      if (!limiter.on || error.status >= 500) return credential.markEnd(error);
      // Without the store the caller is unknown: then nobody is charged.
      if (credential.caller() === undefined) await credential.authenticate().catch(() => null);
      const refused = error.status === 401 && !credential.caller();
      const forgiven = refused ? await forgivenBy() : null;
      if (forgiven === null) return chargeRefusal(error);
      shown = limiter.chargeAddress(forgiven, address());
      return error;
    },
  } satisfies CallScope["charges"] & Record<string, unknown>;
}
