/** The credential of one request: who sent it, looked up when that is first needed. */

import type { Auth, Authenticated, Refusal } from "../auth/authenticate.ts";
import { blocked, fail, ServiceError } from "../errors.ts";
import type { CredentialHolder } from "../model/caller.ts";

/** A class, since thousands of requests that wait hold one each. */
export class RequestCredential {
  readonly #auth: Auth;
  /** The `Authorization` header. */
  readonly header: string | null;
  #caller: CredentialHolder | null | undefined;
  /** Why the header was rejected. */
  #refusal: Refusal = "unknown";
  /** The look-up of a credential that was recalled. */
  #looked_up: Promise<Authenticated | null> | undefined;

  constructor(auth: Auth, header: string | null) {
    this.#auth = auth;
    this.header = header;
  }

  /** Null without a valid credential; undefined before it was looked up. */
  caller(): CredentialHolder | null | undefined {
    return this.#caller;
  }

  /** Looks the credential up. */
  authenticate(): Promise<Authenticated | null> {
    return this.#lookUp(this.#auth.authenticate(this.header));
  }

  async #lookUp(looking: Promise<Authenticated | null>): Promise<Authenticated | null> {
    const found = await looking;
    this.#caller = found?.caller ?? null;
    this.#refusal = found ? "unknown" : await this.#auth.whyRefused(this.header);
    return found;
  }

  /** Treats the credential as invalid and never looks it up, for a public route. */
  ignore(): void {
    this.#caller = null;
  }

  /**
   * Returns what this process remembers of the credential, and begins to look it up; the outcome of the call must
   * then go through {@link confirm}. Null when nothing is remembered.
   */
  recall(): Authenticated | null {
    const recalled = this.#auth.recall(this.header);
    if (!recalled) return null;
    this.#looked_up = this.#lookUp(this.#auth.confirm(recalled.caller));
    // Its error counts once the call has ended.
    this.#looked_up.catch(() => null);
    this.#caller = recalled.caller;
    return recalled;
  }

  /** Returns the outcome of `work`, or throws `401 unauthorized` when a recalled credential is no longer valid. */
  confirm<T>(work: Promise<T>): Promise<T> {
    const looked_up = this.#looked_up;
    // The usual case needs no further promise.
    if (!looked_up) return work;
    const confirmed = async () => {
      this.#auth.confirmNow();
      return (await looked_up) ? work : fail("unauthorized");
    };
    return work.then(confirmed, confirmed);
  }

  /**
   * Returns the error for a client: a `401` is marked for an account token that has ended (§4.1.7), and becomes `403` for
   * a credential of a blocked account (§4.4).
   */
  explain(error: ServiceError): ServiceError {
    const { code, challenge } = error;
    if (code !== "unauthorized") return error;
    if (this.#refusal === "blocked") return blocked();
    if (error.ended || this.#refusal !== "ended") return error;
    return new ServiceError(code, { ended: true, ...(challenge !== undefined && { challenge }) });
  }
}
