/** Charges one request to its caller or its address, and refuses it above a limit (§10.6). */

import type { Auth } from "../auth/authenticate.ts";
import type { Clock } from "../clock.ts";
import { fail, ServiceError } from "../errors.ts";
import { LIMITS, RATES, type Rate } from "../limits.ts";
import type { CredentialHolder } from "../model/caller.ts";
import { isUnguessable } from "../model/pairing.ts";
import {
  type AddressLimit,
  type Limiter,
  type Quota,
  quotaOf,
  tokensOf,
  tokensOfBody,
} from "../overload/limiter.ts";
import type { Unsent } from "../overload/unsent-answers.ts";
import { toServiceError } from "../rpc/errors.ts";
import type { RouteLimit } from "../rpc/meta.ts";
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
  /** Whether a start code is that of an invitation, whose account counts toward no limit (§5.2.1(6)). */
  readonly isInvitation: (start_code: string) => Promise<boolean>;
}

/** The `code` of an input that was not validated yet. */
function codeOf(input: unknown): string {
  const { code } = (input ?? {}) as { readonly code?: unknown };
  return typeof code === "string" ? code : "";
}

/** A class, since thousands of requests that wait hold one each. */
export class RequestCharges {
  readonly #options: ChargesOptions;
  readonly #limiter: Limiter;
  readonly #request: Request;
  readonly #credential: RequestCredential;
  readonly #address: () => string;
  /** The limit to show in the response; null: that of the caller, if there is one. */
  #shown: Quota | null = null;
  /** The limit to show in a refusal, after `limit`: a refusal does not count toward it. */
  #unspent: Quota | null = null;
  /** Who was charged for the last call, perhaps by a credential that has ended; null when nobody. */
  #charged: CredentialHolder | null = null;
  /** The refusal for the address, which is then not charged again. */
  #exhausted: ServiceError | undefined;
  /** True once `prepayBody` has paid for the first call, and the error if it was refused. */
  #prepaid = false;
  #refused_ahead: ServiceError | undefined;

  constructor(
    options: ChargesOptions,
    request: Request,
    credential: RequestCredential,
    address: () => string,
  ) {
    this.#options = options;
    this.#limiter = options.limiter;
    this.#request = request;
    this.#credential = credential;
    this.#address = address;
  }

  #spend(tokens: number): void {
    const caller = this.#credential.caller();
    if (caller && tokens > 0) this.#shown = this.#limiter.spend(caller, tokens);
  }

  /** Charges the address one call; throws `429 rate_limited` when it has none left. */
  #chargeAddress(name: AddressLimit = "address"): void {
    this.#credential.ignore();
    try {
      this.#shown = this.#limiter.chargeAddress(name, this.#address());
    } catch (limited) {
      this.#shown = this.#limiter.peekAddress(name, this.#address());
      if (limited instanceof ServiceError) this.#exhausted = limited;
      throw limited;
    }
  }

  /**
   * The limit that a refusal counts toward instead of the address's own (§18.8.2): of an expired access token, and
   * of no credential at `/mcp`. Null for any other refusal, and when that limit is reached.
   */
  async #forgivenBy(): Promise<AddressLimit | null> {
    const begins =
      this.#credential.header === null && new URL(this.#request.url).pathname === "/mcp";
    if (!begins && !(await this.#options.auth.isExpired(this.#credential.header))) return null;
    const name = begins ? "mcp_challenges" : "expired_tokens";
    return this.#limiter.exhausted(name, this.#address) ? null : name;
  }

  /** The account that has the `token` of this input already; null if there is none. */
  async #ownerOf(input: unknown): Promise<CredentialHolder | null> {
    const { token } = (input ?? {}) as { readonly token?: unknown };
    if (typeof token !== "string") return null;
    const found = await this.#options.auth.authenticate(`Bearer ${token}`);
    return found?.caller.kind === "account" ? found.caller : null;
  }

  async #isInvited(input: unknown): Promise<boolean> {
    const { start_code } = (input ?? {}) as { readonly start_code?: unknown };
    return typeof start_code === "string" && (await this.#options.isInvitation(start_code));
  }

  /** Takes back the charge of a credential that had ended: its request counts toward the address alone (§10.6.4). */
  #takeBack(): void {
    if (this.#charged) this.#limiter.refund(this.#charged);
    this.#charged = null;
  }

  /** Does what `settleError` does, at once, for a request whose credential was looked up. */
  chargeRefusal(refused: ServiceError): ServiceError {
    const error = this.#credential.explain(refused);
    if (this.#exhausted) return this.#exhausted;
    this.#shown = this.#unspent ?? this.#shown;
    // An error of the server is not charged.
    if (this.#credential.caller() !== null || error.status >= 500) return error;
    this.#takeBack();
    try {
      const left = this.#limiter.chargeAddress("address", this.#address());
      this.#shown = this.#unspent ?? left;
      return error;
    } catch (limited) {
      if (error.code === "rate_limited" || !(limited instanceof ServiceError)) return error;
      this.#shown = this.#limiter.peekAddress("address", this.#address());
      return limited;
    }
  }

  /** The rate limit for the headers of the response; null when none applies. */
  quota(): Quota | null {
    const caller = this.#credential.caller();
    return this.#shown ?? (caller ? this.#limiter.peek(caller) : null);
  }

  /**
   * Throws `429 rate_limited` for an address above its limit, unless the credential is valid. Undefined,
   * without a promise, for any other address.
   */
  admitAddress(): Promise<void> | undefined {
    if (!this.#limiter.exhausted("address", this.#address)) return undefined;
    if (
      this.#credential.header !== null &&
      !this.#options.auth.isWellFormed(this.#credential.header)
    )
      this.#chargeAddress();
    return this.#credential.authenticate().then(async (found) => {
      if (!found && (await this.#forgivenBy()) === null) this.#chargeAddress();
    });
  }

  /** Throws `429 rate_limited` for an address above its limit, whatever its credential (§4.3). */
  refuseExhausted(): void {
    if (this.#limiter.exhausted("address", this.#address)) this.#chargeAddress();
  }

  /**
   * For routes without a credential, on which any address may send an ordinary body: throws `429 rate_limited`
   * for a body of more than `LIMITS.exhausted_body_bytes`, or without a declared length, of an address that
   * is above one of these limits.
   */
  limitOpenBody(names: readonly AddressLimit[]): void {
    const name = names.find((one) => this.#limiter.exhausted(one, this.#address));
    if (name && mayExceed(this.#request, LIMITS.exhausted_body_bytes)) this.#chargeAddress(name);
  }

  /**
   * Charges the caller for a body of more than `LIMITS.large_body_bytes`, or without a declared length, before
   * it is read (§10.6.7). False: it must not be read, because the call will be refused for its credential or
   * rate limit. Undefined, without a promise, for a small body.
   */
  prepayBody(): Promise<boolean> | undefined {
    if (!this.#limiter.on || !mayExceed(this.#request, LIMITS.large_body_bytes)) return undefined;
    const declared = checkDeclaredSize(this.#request);
    return this.#credential.authenticate().then((found) => {
      if (!found) return false;
      try {
        this.#shown = this.#limiter.charge(found.caller);
        this.#prepaid = true;
        this.#spend(tokensOfBody(declared ?? 0));
      } catch (limited) {
        this.#refused_ahead = toServiceError(limited);
      }
      return this.#refused_ahead === undefined;
    });
  }

  /** Charges for a body whose length `prepayBody` could not know. */
  bodyArrived(bytes: number): void {
    if (this.#prepaid && !this.#request.headers.has("content-length"))
      this.#spend(tokensOfBody(bytes));
  }

  charge(): void {
    if (this.#refused_ahead) throw this.#refused_ahead;
    const caller = this.#credential.caller();
    if (!caller) return;
    // Each call of a batch is charged by itself, and the first one is paid.
    if (this.#prepaid) this.#prepaid = false;
    else {
      this.#shown = this.#limiter.charge(caller);
      this.#charged = caller;
    }
    this.#options.unsent.admit(caller);
  }

  /** Charges a call again that waited for its page while earlier answers put its caller into debt. */
  chargeDebt(caller: CredentialHolder): void {
    if (this.#limiter.overdrawn(caller)) this.#shown = this.#limiter.charge(caller);
    this.#options.unsent.admit(caller);
  }

  /** Charges the caller for an answer; its own headers include the charge. */
  chargeAnswer(bytes: number): void {
    this.#spend(tokensOf(bytes));
  }

  async limit(name: RouteLimit, input: unknown): Promise<void> {
    if (!this.#limiter.on) return;
    // Its refusal counts toward `address`; a right one is served, whatever others at the address have tried.
    if (name === "pairings" && isUnguessable(codeOf(input))) return;
    if (name !== "accounts") {
      this.#unspent = this.#limiter.peekAddress(name, this.#address());
      this.#unspent = this.#shown = this.#limiter.chargeAddress(name, this.#address());
      return;
    }
    const rate: Rate = RATES.accounts;
    if (rate.quota === 0) return;
    const { count, first_at, last_at } = await this.#options.creationsOf(this.#address());
    // In this order: of two repetitions at once, one may have made the last account of the limit.
    const owner = await this.#ownerOf(input);
    if (owner) {
      this.#unspent = this.#limiter.peek(owner);
      this.#unspent = this.#shown = this.#limiter.charge(owner);
      return;
    }
    if (await this.#isInvited(input)) return;
    const until = (at: number) =>
      Math.max(0, Math.ceil(at + rate.window - this.#options.clock.now()));
    const left = Math.max(0, rate.quota - count);
    this.#unspent = quotaOf(name, rate, left, until(last_at));
    this.#shown = quotaOf(name, rate, left - 1, rate.window);
    if (left > 0) return;
    this.#limiter.refused.accounts++;
    fail("rate_limited", { retry_after: Math.max(1, until(first_at)) });
  }

  /**
   * Returns the error to respond with. A refusal without a valid credential is charged to the address, and becomes
   * `429 rate_limited` once the address is above its limit (§10.6.4).
   */
  async settleError(error: ServiceError): Promise<ServiceError> {
    if (!this.#limiter.on || error.status >= 500) return this.#credential.explain(error);
    // Without the store the caller is unknown: then nobody is charged.
    if (this.#credential.caller() === undefined)
      await this.#credential.authenticate().catch(() => null);
    const refused = error.status === 401 && !this.#credential.caller();
    const forgiven = refused ? await this.#forgivenBy() : null;
    if (forgiven === null) return this.chargeRefusal(error);
    this.#takeBack();
    this.#shown = this.#limiter.chargeAddress(forgiven, this.#address());
    return error;
  }
}
