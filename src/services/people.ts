/** What the administrator does with accounts and invitations (§4.4, §5.2.1(6)). */

import { deleteKeysOfAccount } from "../../db/keys.ts";
import {
  blockAccount,
  blockOf,
  deleteAccountNow,
  endInvitation,
  insertInvitation,
  invitationByCode,
  nameAccount,
  openInvitations,
  unblockAccount,
} from "../../db/people.ts";
import { failFields, failNotFound } from "../errors.ts";
import { LIMITS } from "../limits.ts";
import type { Log } from "../log.ts";
import type { Invitation, NewInvitation } from "../model/admin.ts";
import type { LinkBase } from "../model/pairing.ts";
import { eventOf } from "./shared/commit.ts";
import { CLOCKS_DIFFER, type ServiceDeps } from "./shared/deps.ts";

/** An invitation that was found by its code. */
export interface FoundInvitation {
  readonly id: string;
  /** The account that it created; null while it is open. */
  readonly account_id: string | null;
}

export type People = ReturnType<typeof createPeople>;

export function createPeople(deps: ServiceDeps) {
  const { store, commit, clock, ids, signer, notificationPlans, wakeSender } = deps;

  /** The stored form of the code of an invitation. */
  const digestOf = (code: string): string => signer.sign("invitation", code);

  /** The invitation of a start code, open or used; null for any other code, and for one that has expired. */
  const findInvitation = async (code: string | undefined): Promise<FoundInvitation | null> => {
    if (code === undefined) return null;
    const [found] = await store.read(invitationByCode({ code_digest: digestOf(code) }));
    const now = clock.now();
    // One from the future: a clock was wrong.
    if (!found || found.expires_at <= now || found.created_at > now + CLOCKS_DIFFER) return null;
    return { id: found.id, account_id: found.account_id };
  };

  return {
    findInvitation,

    /** True if the start code is that of an open invitation. */
    isInvitation: async (code: string): Promise<boolean> =>
      (await findInvitation(code))?.account_id === null,

    /** Gives the account a name that only the administrator sees; null takes it away. `404 not_found`. */
    async setName(account_id: string, name: string | null): Promise<void> {
      const [named] = await store.write([nameAccount({ id: account_id, admin_name: name })]);
      if (named!.changes === 0) failNotFound("account_id");
    },

    /**
     * Blocks or unblocks an account; one that is already so stays as it is. A block ends its waits and streams in every
     * process. `404 not_found`.
     */
    async setBlocked(account_id: string, is_blocked: boolean, log: Log): Promise<void> {
      const id = account_id;
      const revision = ids.unique();
      const changed = { table: "accounts", id, revision } as const;
      const happened = await commit({
        statements: [
          is_blocked
            ? blockAccount({ id, blocked_at: clock.now(), revision })
            : unblockAccount({ id, revision }),
        ],
        // Every process, of older versions too, then checks the credentials of the streams and waits that it holds.
        events: is_blocked ? [eventOf(changed, "token.replaced", id, {})] : [],
      });
      if (happened) {
        log.info(`account ${is_blocked ? "blocked" : "unblocked"} by the administrator`, {
          account_id,
        });
        if (!is_blocked) wakeSender();
        return;
      }
      const [found] = await store.read(blockOf({ id }));
      if (!found) failNotFound("account_id");
    },

    /** Deletes an account, as its person can (§5.2.5). `404 not_found`. */
    async remove(account_id: string, log: Log): Promise<void> {
      const id = account_id;
      const revision = ids.unique();
      const deleted_at = clock.now();
      const changed = { table: "accounts", id, revision } as const;
      const [begin, end] = deleteAccountNow;
      const happened = await commit({
        statements: [
          begin({ id, revision }),
          end({ id, deleted_at, revision }),
          deleteKeysOfAccount({ id, deleted_at, changed_id: id, changed_revision: revision }),
        ],
        deliveries: notificationPlans.ofDeletion(id, changed),
        events: [eventOf(changed, "account.deleted", id, {})],
      });
      if (!happened) failNotFound("account_id");
      log.info("account deleted by the administrator", { account_id });
    },

    /** Makes an invitation, whose code is in its link alone. `422 fields.name` while too many are open. */
    async invite(name: string | null, base: LinkBase, log: Log): Promise<NewInvitation> {
      const code = Buffer.from(ids.random(16)).toString("base64url");
      const now = clock.now();
      const row = {
        id: ids.next("inv"),
        name,
        created_at: now,
        expires_at: now + LIMITS.invitation_life,
      };
      const [made] = await store.write([
        insertInvitation({ ...row, code_digest: digestOf(code), account_id: null, now }),
      ]);
      if (made!.changes === 0) {
        failFields({ name: "cannot be invited: too many invitations are open" });
      }
      log.info("invitation made by the administrator", { invitation_id: row.id });
      return {
        ...row,
        code,
        url: base.url === null ? null : `${base.url}/#/invite/${code}`,
        no_url_reason: base.url === null ? base.reason : null,
      };
    },

    /** The open invitations, newest first. */
    invitations: (): Promise<Invitation[]> => store.read(openInvitations({ now: clock.now() })),

    /** Ends an open invitation. `404 not_found` for one that was used or is gone. */
    async revoke(invitation_id: string): Promise<void> {
      const [ended] = await store.write([endInvitation({ id: invitation_id })]);
      if (ended!.changes === 0) failNotFound("invitation_id");
    },
  };
}
