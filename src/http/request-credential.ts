/** The credential of one request: who sent it, looked up when that is first needed. */

import type { Auth, Authenticated } from "../auth/authenticate.ts";
import { fail, ServiceError } from "../errors.ts";
import type { CredentialHolder } from "../model/caller.ts";

export type RequestCredential = ReturnType<typeof createCredential>;

export function createCredential(auth: Auth, header: string | null) {
  let caller: CredentialHolder | null | undefined;
  /** True if the header holds an account token that has ended. */
  let has_ended = false;
  /** The look-up of a credential that was recalled. */
  let looked_up: Promise<Authenticated | null> | undefined;

  const authenticate = async (): Promise<Authenticated | null> => {
    const found = await auth.authenticate(header);
    caller = found?.caller ?? null;
    has_ended = !found && (await auth.hasEnded(header));
    return found;
  };

  return {
    /** The `Authorization` header. */
    header,

    /** Null without a valid credential; undefined before it was looked up. */
    caller: () => caller,

    /** Looks the credential up. */
    authenticate,

    /** Treats the credential as invalid and never looks it up, for a public route. */
    ignore(): void {
      caller = null;
    },

    /**
     * Returns what this process remembers of the credential, and begins to look it up; the outcome of the call must
     * then go through {@link confirm}. Null when nothing is remembered.
     */
    recall(): Authenticated | null {
      const recalled = auth.recall(header);
      if (!recalled) return null;
      looked_up = authenticate();
      // Its error counts once the call has ended.
      looked_up.catch(() => null);
      caller = recalled.caller;
      return recalled;
    },

    /** Returns the outcome of `work`, or throws `401 unauthorized` when a recalled credential is no longer valid. */
    confirm<T>(work: Promise<T>): Promise<T> {
      // The usual case needs no further promise.
      if (!looked_up) return work;
      const confirmed = async () => ((await looked_up) ? work : fail("unauthorized"));
      return work.then(confirmed, confirmed);
    },

    /** Returns the error, marked when it is `401` for an account token that has ended (§4.1.7). */
    markEnd(error: ServiceError): ServiceError {
      const { code, challenge } = error;
      if (code !== "unauthorized" || error.ended || !has_ended) return error;
      return new ServiceError(code, { ended: true, ...(challenge !== undefined && { challenge }) });
    },
  };
}
