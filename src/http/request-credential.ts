/** The credential of one request: who sent it, looked up when that is first needed. */

import type { Auth, Authenticated, Refusal, Usage } from "../auth/authenticate.ts";
import { blocked, fail, ServiceError } from "../errors.ts";
import type { CredentialHolder } from "../model/caller.ts";

/** Records a use of a credential; undefined when nothing is due. */
type RecordUse = (usage: Usage) => Promise<void> | undefined;

const nothing = (): void => {};

/** A class, since thousands of requests that wait hold one each. */
export class RequestCredential {
  readonly #auth: Auth;
  /** The `Authorization` header. */
  readonly header: string | null;
  #caller: CredentialHolder | null | undefined;
  /** The use of the credential before this request, once it was looked up; null without a valid one. */
  #usage: Usage | null = null;
  /** Records the use of a recalled credential, once it was looked up; and the recording. */
  #record: RecordUse | null = null;
  #recording: Promise<void> | undefined;
  /** Why the header was rejected. */
  #refusal: Refusal = "unknown";
  /** The look-up of a credential that was recalled. */
  #looked_up: Promise<Authenticated | null> | undefined;
  /** True once the store has said whether the credential is valid. */
  #is_known = false;

  constructor(auth: Auth, header: string | null) {
    this.#auth = auth;
    this.header = header;
  }

  /** Null without a valid credential; undefined before it was looked up. */
  caller(): CredentialHolder | null | undefined {
    return this.#caller;
  }

  /** The use of the credential before this request; null before it was looked up, and for a ticket. */
  usage(): Usage | null {
    return this.#usage;
  }

  /** Looks the credential up. */
  authenticate(): Promise<Authenticated | null> {
    return this.#lookUp(this.#auth.authenticate(this.header));
  }

  async #lookUp(looking: Promise<Authenticated | null>): Promise<Authenticated | null> {
    const found = await looking;
    this.#is_known = true;
    this.#caller = found?.caller ?? null;
    this.#usage = found?.usage ?? null;
    if (this.#usage) this.#recording = this.#record?.(this.#usage);
    this.#refusal = found ? "unknown" : await this.#auth.whyRefused(this.header);
    return found;
  }

  /** Runs `then` once a recalled credential is known to be valid, at once for any other; never when it has ended. */
  whenValid(then: () => void): void {
    if (!this.#looked_up || this.#is_known) then();
    else void this.#looked_up.then((found) => found && then(), nothing);
  }

  /** Treats the credential as invalid and never looks it up, for a public route. */
  ignore(): void {
    this.#caller = null;
  }

  /**
   * Returns what this process remembers of the credential, and begins to look it up; the outcome of the call must
   * then go through {@link confirm}, which waits for what `record` did. Null when nothing is remembered.
   */
  recall(record: RecordUse | null): Authenticated | null {
    const recalled = this.#auth.recall(this.header);
    if (!recalled) return null;
    this.#record = record;
    this.#is_known = false;
    this.#looked_up = this.#lookUp(this.#auth.confirm(recalled.caller));
    // Its error counts once the call has ended.
    this.#looked_up.catch(nothing);
    this.#caller = recalled.caller;
    return recalled;
  }

  /**
   * Resolves once the credential of the call is known to be valid; throws `401 unauthorized` when a recalled one has
   * ended. Await it before any effect.
   */
  async confirmed(): Promise<void> {
    if (!this.#looked_up) return;
    this.#auth.confirmNow();
    if (!(await this.#looked_up)) fail("unauthorized");
  }

  /** Returns the outcome of `work`, or throws `401 unauthorized` when a recalled credential is no longer valid. */
  confirm<T>(work: Promise<T>): Promise<T> {
    // A wait needs no further promise.
    return this.#looked_up ? this.#whenConfirmed(work) : work;
  }

  async #whenConfirmed<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } finally {
      await this.confirmed();
      if (this.#recording) await this.#recording;
    }
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
