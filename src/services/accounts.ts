/** Accounts: create, read, settings, delete (interface.md §4 Accounts). */

import { accountById, deleteAccount, insertAccount, updateSettings } from "../../db/accounts.ts";
import { deleteKeysOfAccount } from "../../db/keys.ts";
import { endActivitiesOfAccount, endActivitiesSwitchedOff } from "../../db/live-activities.ts";
import { fail } from "../errors.ts";
import { digest } from "../ids.ts";
import type { Account, AccountPatch } from "../model/account.ts";
import type { AccountCaller } from "../model/caller.ts";
import type { Attestations } from "./attestations.ts";
import type { ServiceDeps } from "./deps.ts";

export type Accounts = ReturnType<typeof createAccounts>;

interface AccountsDeps extends ServiceDeps {
  readonly attestations: Pick<Attestations, "admit">;
}

export function createAccounts(deps: AccountsDeps) {
  const { store, commit, clock, ids, settings, attestations } = deps;
  const read = async (caller: AccountCaller): Promise<Account> => {
    const [row] = await store.read(accountById({ id: caller.account_id }));
    if (!row) fail("unauthorized");
    const { live_activities, ...account } = row;
    return { ...account, settings: { live_activities } };
  };

  return {
    read,

    /**
     * The token is in this answer only; the store keeps its digest. `403 account_creation_off`,
     * `attestation_required`, `attestation_invalid`.
     */
    async create(attestation?: string): Promise<{ account: Account; token: string }> {
      if (!settings.account_creation) fail("account_creation_off");
      await attestations.admit(attestation);
      const token = ids.secret("mca");
      const row = { id: ids.next("acc"), created_at: clock.now(), live_activities: true };
      await store.write([
        insertAccount({
          ...row,
          token_digest: digest(token),
          change_id: ids.stamp(),
          deleted_at: null,
        }),
      ]);
      const { live_activities, ...account } = row;
      return { account: { ...account, settings: { live_activities } }, token };
    },

    async update(caller: AccountCaller, patch: AccountPatch): Promise<Account> {
      const { account_id } = caller;
      await store.write([
        updateSettings({ id: account_id, ...patch.settings }),
        endActivitiesSwitchedOff({ account_id }),
      ]);
      return read(caller);
    },

    /** Refuses the token and the secrets of its keys at once, and ends their waits and streams. */
    async remove(caller: AccountCaller): Promise<void> {
      const { account_id } = caller;
      const change_id = ids.stamp();
      const deleted_at = clock.now();
      const stamp = { table: "accounts", id: account_id, change_id } as const;
      const happened = await commit({
        statements: [
          deleteAccount({ id: account_id, deleted_at, change_id }),
          deleteKeysOfAccount({
            id: account_id,
            deleted_at,
            stamp_id: account_id,
            stamp: change_id,
          }),
          endActivitiesOfAccount({ stamp_id: account_id, stamp: change_id }),
        ],
        events: [
          { stamp, event: { name: "account.deleted", account_id, subject: account_id, data: {} } },
        ],
      });
      if (!happened) fail("unauthorized");
    },
  };
}
