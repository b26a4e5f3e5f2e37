/** Accounts: create, read, settings, delete (§5.2). */

import {
  type CreationWindow,
  countCreations,
  insertAccountWithin,
  insertCreation,
} from "../../db/account-creations.ts";
import {
  accountById,
  accountByToken,
  claimTokenReplacement,
  deleteAccount,
  insertAccount,
  insertFirstAccount,
  updateLiveActivities,
  updateNudges,
} from "../../db/accounts.ts";
import { refusedCredential, replaceDigest } from "../../db/credentials.ts";
import { deleteKeysOfAccount } from "../../db/keys.ts";
import { forgetClaim } from "../../db/pairings.ts";
import { insertInvitedAccount, useInvitation } from "../../db/people.ts";
import { isTokenTaken } from "../../db/sessions.ts";
import type { Statement } from "../../db/store/store.ts";
import { blocked, fail, failFields } from "../errors.ts";
import { digest } from "../ids.ts";
import { RATES } from "../limits.ts";
import type { Log } from "../log.ts";
import type { Account, AccountPatch } from "../model/account.ts";
import type { AccountCaller } from "../model/caller.ts";
import type { Attestations } from "./attestations.ts";
import type { People } from "./people.ts";
import { addSession } from "./sessions.ts";
import { eventOf } from "./shared/commit.ts";
import { CLOCKS_DIFFER, type ServiceDeps } from "./shared/deps.ts";
import { failInTrial, trialSince } from "./shared/trial.ts";
import type { StartCode } from "./start-code.ts";
import type { Storage } from "./storage.ts";

interface AccountsDeps extends ServiceDeps {
  readonly attestations: Pick<Attestations, "admit">;
  readonly startCode: Pick<StartCode, "isUsed" | "matches">;
  readonly people: Pick<People, "findInvitation">;
}

type Row = ReturnType<typeof accountById> extends Statement<infer R> ? R : never;

/** An account from its row. */
export function toAccount(
  { live_activities, nudges, stored_bytes, ...account }: Row,
  storage: Storage,
): Account {
  const bytes = storage.used(account.id, stored_bytes);
  return {
    ...account,
    settings: { live_activities, nudges },
    storage: { bytes, max_bytes: storage.most },
  };
}

interface AccountInput {
  readonly attestation?: string;
  /** Label of the first sign-in. */
  readonly label?: string;
  readonly start_code?: string;
  /** Token of the first sign-in, if the client made it (§5.2.1(4)). */
  readonly token?: string;
}

export function createAccounts(deps: AccountsDeps) {
  const { store, storage, commit, clock, ids, signer, settings } = deps;
  const { attestations, startCode, people } = deps;
  const { notificationPlans, wakeSender, assertLive, assertPastTrial } = deps;

  /** The hour of creations of an address, which is stored as a digest. Rows from the future do not count. */
  const windowOf = (address: string): CreationWindow => {
    const now = clock.now();
    const origin = signer.sign("address", address);
    return { origin, since: now - RATES.accounts.window, until: now + CLOCKS_DIFFER };
  };

  const read = async (caller: AccountCaller): Promise<Account> => {
    const [row] = await store.read(accountById({ id: caller.account_id }));
    return row ? toAccount(row, storage) : fail("unauthorized");
  };

  /**
   * True if the start code may create an account; false if it may only repeat an earlier creation (§5.2.1).
   * `403 account_creation_off`, `422 fields.start_code`.
   */
  const checkStartCode = async (given: string | undefined): Promise<boolean> => {
    const used = await startCode.isUsed();
    if (given !== undefined && startCode.matches(given)) return !used;
    if (used) fail("account_creation_off");
    return failFields({
      start_code:
        given === undefined ? "is required" : "is not the code that Relay printed at its start",
    });
  };

  /** The account that has this token, or null. */
  const accountOf = async (token: string | undefined): Promise<Account | null> => {
    if (token === undefined) return null;
    const [row] = await store.read(accountByToken({ digest: digest(token) }));
    return row ? toAccount(row, storage) : null;
  };

  return {
    read,

    /** Counts the accounts that the address created within the hour, with the times of the first and the last one. */
    creationsOf: (address: string) => countCreations(store, windowOf(address)),

    /**
     * Creates an account, or returns the one that already has the token `given`. The store keeps only the
     * token's digest. `403 account_creation_off`, `attestation_required`, `attestation_invalid`, or `forbidden` for a token
     * of a blocked account (§4.4);
     * `422 fields.start_code`, `422 fields.token` for a token that is used otherwise or was used by a deleted
     * account; `429 rate_limited` if the client's `address` has created its full number within the hour. `log`: for
     * the reason of a refused attestation.
     */
    async create(
      address: string,
      { attestation, label, start_code, token: given }: AccountInput,
      log: () => Log,
    ): Promise<{ account: Account; token: string }> {
      const found = await people.findInvitation(start_code);
      // Where anyone can create an account, a used invitation is like any other code: it is ignored.
      const is_over = found?.account_id != null;
      const invitation = is_over && settings.account_creation === "open" ? null : found;
      if (settings.account_creation === "off" && !invitation) fail("account_creation_off");
      const is_first = settings.account_creation === "first" && !invitation;
      const may_create = invitation ? !is_over : !is_first || (await checkStartCode(start_code));
      const token = given ?? ids.secret("mca");
      // After the check of the start code, so that two simultaneous repetitions both find the account.
      const existing = await accountOf(given);
      if (existing) return { account: existing, token };
      if (!may_create) fail("account_creation_off");
      await attestations.admit(attestation, log);
      const row = {
        id: ids.next("acc"),
        created_at: clock.now(),
        live_activities: true,
        nudges: true,
        stored_bytes: 0,
      };
      const token_digest = digest(token);
      const revision = ids.unique();
      const account_row = { ...row, digest: token_digest, revision, deleted_at: null };
      const limit = settings.accounts_per_hour;
      const window = windowOf(address);
      const creation = invitation
        ? [
            insertInvitedAccount({ ...account_row, invitation_id: invitation.id }),
            ...useInvitation.map((step) => step({ id: row.id, invitation_id: invitation.id })),
          ]
        : is_first || limit === 0
          ? [(is_first ? insertFirstAccount : insertAccount)(account_row)]
          : [
              insertAccountWithin({ ...account_row, ...window, limit }),
              insertCreation({ origin: window.origin, created_at: row.created_at, id: row.id }),
            ];
      const [made] = await store.write([
        ...creation,
        addSession({
          id: ids.next("ses"),
          account_id: row.id,
          revision,
          digest: token_digest,
          label: label ?? null,
          made_by: "account",
          address: null,
          now: row.created_at,
        }).insert,
      ]);
      if (made!.changes > 0) return { account: toAccount(row, storage), token };
      // Another request with the same token came first.
      const made_by_other = await accountOf(given);
      if (made_by_other) return { account: made_by_other, token };
      const [taken] = await store.read(isTokenTaken({ digest: token_digest }));
      if (taken![0] === 1) {
        const [refused] = await store.read(refusedCredential({ digest: token_digest }));
        if (refused?.[0] === "blocked") throw blocked();
        failFields({ token: "must be new" });
      }
      return fail(is_first || invitation ? "account_creation_off" : "rate_limited");
    },

    /** Changes settings. `403 forbidden` in the sign-in's trial (§4.1.6). */
    async update(caller: AccountCaller, patch: AccountPatch): Promise<Account> {
      await assertPastTrial(caller);
      const { account_id: id } = caller;
      const { live_activities, nudges } = patch.settings;
      const statements: Statement[] = [];
      if (live_activities !== undefined) {
        statements.push(
          ...notificationPlans.beforeSetting(id, live_activities),
          updateLiveActivities({ id, live_activities }),
          ...notificationPlans.afterSetting(id),
        );
      }
      if (nudges !== undefined) statements.push(updateNudges({ id, nudges }));
      if (statements.length > 0) await store.write(statements);
      if (live_activities !== undefined) wakeSender();
      return read(caller);
    },

    /**
     * Replaces the token that the caller sent, and ends its waits and streams (§5.2.4). `given`: the new token,
     * if the client made it; the current one changes nothing. `422 fields.token` for a used token.
     */
    async replaceToken(caller: AccountCaller, given?: string): Promise<{ token: string }> {
      const { account_id, session_id, credential } = caller;
      const token = given ?? ids.secret("mca");
      const replacement = { digest: digest(token), old_digest: credential };
      if (replacement.digest === credential) return { token };
      const revision = ids.unique();
      const at_revision = { changed_id: account_id, changed_revision: revision };
      const happened = await commit({
        statements: [
          claimTokenReplacement({ id: account_id, ...replacement, revision }),
          replaceDigest({ ...replacement, ...at_revision }),
          // The pairing code was used with the old token (§5.14.2(3)).
          forgetClaim({ account_id, session_id, ...at_revision }),
        ],
        events: [
          eventOf(
            { table: "accounts", id: account_id, revision },
            "token.replaced",
            account_id,
            {},
          ),
        ],
      });
      if (happened) return { token };
      // A simultaneous request may have ended this token.
      await assertLive(caller);
      return failFields({ token: "must be new" });
    },

    /** Ends every credential of the account at once, with their waits and streams. `403 forbidden` in the trial. */
    async remove(caller: AccountCaller): Promise<void> {
      const { account_id, credential } = caller;
      const revision = ids.unique();
      const deleted_at = clock.now();
      const trial_since = trialSince(deleted_at);
      const changed = { table: "accounts", id: account_id, revision } as const;
      const happened = await commit({
        statements: [
          deleteAccount({ account_id, credential, trial_since, deleted_at, revision }),
          deleteKeysOfAccount({
            id: account_id,
            deleted_at,
            changed_id: account_id,
            changed_revision: revision,
          }),
        ],
        deliveries: notificationPlans.ofDeletion(account_id, changed),
        events: [eventOf(changed, "account.deleted", account_id, {})],
      });
      if (happened) return;
      await assertLive(caller);
      failInTrial();
    },
  };
}
