/** Recovery codes: make and replace them (§5.2.7), and sign in with one (§5.13.5). */

import { accountById } from "../../db/accounts.ts";
import { endedToken } from "../../db/credentials.ts";
import { blockOf } from "../../db/people.ts";
import {
  claimRecovery,
  claimRepeatedRecovery,
  isSessionInTrial,
  recoveryCodeByDigest,
  recoveryCodeOfAccount,
  replaceRecoveryCode,
  useRecoveryCode,
} from "../../db/recovery-codes.ts";
import { deleteSession, isTokenTaken, sessionById, sessionsOfAccount } from "../../db/sessions.ts";
import { blocked, fail, failFields, failNotFound } from "../errors.ts";
import { digest } from "../ids.ts";
import { LIMITS } from "../limits.ts";
import type { AccountCaller } from "../model/caller.ts";
import {
  RECOVERY_BYTES,
  type Recovered,
  type RecoveryCode,
  type RecoveryCodeState,
  readRecoveryCode,
  recoveryCode,
  showRecoveryCode,
} from "../model/recovery-code.ts";
import { toAccount } from "./accounts.ts";
import { addSession, toSession } from "./sessions.ts";
import { eventOf, untilDecided } from "./shared/commit.ts";
import type { ServiceDeps } from "./shared/deps.ts";
import { failInTrial, trialSince } from "./shared/trial.ts";

interface RecoverInput {
  readonly code: string;
  readonly label?: string;
  /** Token of the new sign-in, made by the client (§5.2.4). */
  readonly token: string;
}

/** Otherwise a sign-in could add others in its trial, which it may not do by pairing codes either. */
const IN_TRIAL = `This code belongs to a sign-in that was added less than ${LIMITS.session_trial / 60} minutes ago. Try again once they have passed, or confirm that sign-in on a device that was signed in earlier.`;

export function createRecovery(deps: ServiceDeps) {
  const { store, storage, commit, clock, ids, signer, assertLive } = deps;

  /**
   * The code that takes the place of a used one. A keyed digest, so that a repeated request gets it again although
   * only its digest is stored.
   */
  const successorOf = (code: string, token: string): string => {
    const bytes = Buffer.from(signer.sign("recovery-code", `${code} ${token}`), "base64url");
    return recoveryCode(bytes.subarray(0, RECOVERY_BYTES));
  };

  return {
    /** When the account's code was made; null without one. */
    async read({ account_id }: AccountCaller): Promise<RecoveryCodeState> {
      const [row] = await store.read(recoveryCodeOfAccount({ account_id }));
      return { created_at: row?.created_at ?? null };
    },

    /** Makes the account's code; an earlier one ends. `403 forbidden` in the sign-in's trial (§4.1.6). */
    async replace(caller: AccountCaller): Promise<RecoveryCode> {
      const { account_id, credential } = caller;
      const code = recoveryCode(ids.random(RECOVERY_BYTES));
      const created_at = clock.now();
      const [made] = await store.write([
        replaceRecoveryCode({
          account_id,
          digest: digest(code),
          created_at,
          used_digest: null,
          session_id: null,
          credential,
          trial_since: trialSince(created_at),
        }),
      ]);
      if (made!.changes > 0) return { code: showRecoveryCode(code), created_at };
      await assertLive(caller);
      return failInTrial();
    },

    /**
     * Adds a sign-in whose token the client made, and replaces the code. The same code and token again give the same
     * answer. With another token, a used code is good once more only if nobody has used its sign-in, which then ends.
     * `address`: the client's, shown with the sign-in. `404 not_found` for a code that is unknown or used,
     * `403 forbidden` while the account is blocked (§4.4) or the sign-in that got the code is in its trial,
     * `409 too_many_sessions`, `422 fields.token` for a used token.
     */
    async recover(
      { code: given, label, token }: RecoverInput,
      address: string,
    ): Promise<Recovered> {
      const code = readRecoveryCode(given) ?? failNotFound("code");
      const code_digest = digest(code);
      const token_digest = digest(token);
      const successor = successorOf(code, token);
      const recovery_code = showRecoveryCode(successor);
      return untilDecided(async () => {
        const [found] = await store.read(recoveryCodeByDigest({ digest: code_digest }));
        if (!found) return failNotFound("code");
        const { account_id, used_digest } = found;
        const [state] = await store.read(blockOf({ id: account_id }));
        if (state?.[0]) throw blocked();
        const now = clock.now();
        const account = async () => {
          const [row] = await store.read(accountById({ id: account_id }));
          return row ? toAccount(row, storage) : failNotFound("code");
        };

        /** The sign-in of an earlier use, which this one replaces. */
        let unused: string | null = null;
        if (used_digest === code_digest) {
          const id = found.session_id!;
          const [own] = await store.read(sessionById({ id, account_id }));
          if (own?.digest === token_digest && found.digest === digest(successor)) {
            return { account: await account(), session: toSession(own, id), token, recovery_code };
          }
          // The response to a simultaneous request may still be under way.
          const is_recent = !own || Math.abs(now - own.created_at) < LIMITS.recovery_again;
          if (is_recent || own.last_used_at !== null) return failNotFound("code");
          // The client of an earlier use, repeating it late, must not end the sign-in that took its place.
          const [ended] = await store.read(endedToken({ digest: token_digest }));
          if (ended) return failNotFound("code");
          unused = id;
        } else if (found.session_id !== null) {
          const { session_id } = found;
          const [row] = await store.read(
            isSessionInTrial({ account_id, session_id, trial_since: trialSince(now) }),
          );
          if (row![0] === 1) fail("forbidden", { detail: IN_TRIAL });
        }

        const revision = ids.unique();
        const id = ids.next("ses");
        const added = addSession({
          ...{ id, account_id, revision, address, now, label: label ?? null },
          made_by: "recovery",
          digest: token_digest,
        });
        const changed = { table: "accounts", id: account_id, revision } as const;
        const at_revision = { changed_id: account_id, changed_revision: revision };
        const claim = { account_id, code_digest, digest: token_digest, revision };
        const trial_since = trialSince(now);
        const happened = await commit({
          statements: [
            unused === null
              ? claimRecovery({ ...claim, trial_since })
              : claimRepeatedRecovery({ ...claim, session_id: unused }),
            ...(unused === null
              ? []
              : [deleteSession({ account_id, session_id: unused, ...at_revision })]),
            added.insert,
            useRecoveryCode({
              account_id,
              digest: digest(successor),
              used_digest: code_digest,
              session_id: id,
              created_at: now,
              ...at_revision,
            }),
          ],
          events: [
            ...(unused === null
              ? []
              : [
                  eventOf(changed, "session.deleted", account_id, { session_id: unused }, unused),
                  eventOf(changed, "token.replaced", account_id, {}),
                ]),
            added.event,
          ],
        });
        if (happened) {
          return { account: await account(), session: added.session, token, recovery_code };
        }

        const [taken] = await store.read(isTokenTaken({ digest: token_digest }));
        if (taken![0] === 1) {
          // A simultaneous request with the same code and token came first.
          const [again] = await store.read(recoveryCodeByDigest({ digest: code_digest }));
          const [own] =
            again?.session_id && again.used_digest === code_digest
              ? await store.read(sessionById({ id: again.session_id, account_id }))
              : [];
          return own?.digest === token_digest ? undefined : failFields({ token: "must be new" });
        }
        const rows = await store.read(sessionsOfAccount({ account_id }));
        const is_full = unused === null && rows.length >= LIMITS.sessions_per_account;
        // Otherwise the code was used or replaced meanwhile: read again.
        return is_full ? fail("too_many_sessions") : undefined;
      });
    },
  };
}
