/** Pairing: another browser or device signs in with a code (§5.14). */

import { accountById } from "../../db/accounts.ts";
import {
  endOldestPairings,
  insertAdminPairing,
  insertPairing,
  pairingByDigest,
  usePairing,
} from "../../db/pairings.ts";
import { blockOf } from "../../db/people.ts";
import {
  claimSessionAdded,
  isTokenTaken,
  sessionById,
  sessionsOfAccount,
} from "../../db/sessions.ts";
import type { Statement } from "../../db/store/store.ts";
import { fail, failFields, failNotFound } from "../errors.ts";
import { digest } from "../ids.ts";
import { LIMITS } from "../limits.ts";
import type { Log } from "../log.ts";
import { inGroups, toBase32 } from "../model/base32.ts";
import type { AccountCaller } from "../model/caller.ts";
import {
  type Claimed,
  type LinkBase,
  type Pairing,
  type PairingOffer,
  readCode,
} from "../model/pairing.ts";
import { UNNAMED } from "../model/session.ts";
import { toAccount } from "./accounts.ts";
import { addSession, toSession } from "./sessions.ts";
import { untilDecided } from "./shared/commit.ts";
import { CLOCKS_DIFFER, type ServiceDeps } from "./shared/deps.ts";
import { failInTrial, isInTrial, trialSince } from "./shared/trial.ts";

interface ClaimInput {
  readonly code: string;
  readonly label?: string;
  /** Token of the new sign-in, made by the client (§5.2.4). */
  readonly token: string;
}

export type Pairings = ReturnType<typeof createPairings>;

type Row = ReturnType<typeof pairingByDigest> extends Statement<infer R> ? R : never;

export function createPairings(deps: ServiceDeps) {
  const { store, storage, commit, clock, ids, signer, assertLive } = deps;

  /** The stored form of a code: a keyed digest, as an unkeyed one of 40 bits could be searched. */
  const digestOf = (code: string): string => signer.sign("pairing", code);

  /** Makes a code; undefined if `insert` did nothing. */
  const make = async (
    insert: (
      row: Parameters<typeof insertAdminPairing>[0],
    ) => ReturnType<typeof insertAdminPairing>,
    { account_id, session_id }: { account_id: string; session_id: string | null },
    base: LinkBase,
  ): Promise<Pairing | undefined> => {
    const code = toBase32(ids.random(5));
    const link = Buffer.from(ids.random(16)).toString("base64url");
    const created_at = clock.now();
    const expires_at = created_at + LIMITS.pairing_life;
    const [made] = await store.write([
      insert({
        account_id,
        session_id,
        code_digest: digestOf(code),
        link_digest: digestOf(link),
        created_at,
        expires_at,
        claimed_by: null,
      }),
      endOldestPairings({ account_id }),
    ]);
    if (made!.changes === 0) return undefined;
    return {
      code: inGroups(code),
      url: base.url === null ? null : `${base.url}/#/pair/${link}`,
      no_url_reason: base.url === null ? base.reason : null,
      expires_at,
    };
  };

  /** True if a code has expired, or is from the future: then a clock was wrong. */
  const isOver = ({ expires_at, created_at }: Row, now: number): boolean =>
    expires_at <= now || created_at > now + CLOCKS_DIFFER;

  return {
    /** A code for the caller's own account. `403 forbidden` in the sign-in's trial (§4.1.6). */
    create: (caller: AccountCaller, base: LinkBase): Promise<Pairing> =>
      untilDecided(async () => {
        const { account_id, credential } = caller;
        const trial_since = trialSince(clock.now());
        const insert = (row: Parameters<typeof insertAdminPairing>[0]) =>
          insertPairing({ ...row, credential, trial_since });
        const made = await make(insert, caller, base);
        if (made) return made;
        await assertLive(caller);
        const rows = await store.read(sessionsOfAccount({ account_id }));
        const own = rows.find(({ id }) => id === caller.session_id);
        // Otherwise the code was not unique: try another one.
        if (own && isInTrial(own, trial_since) && rows.length > 1) failInTrial();
        return undefined;
      }),

    /** A code of the administrator for an account whose token was lost. `404 not_found`, `403 forbidden` while it is blocked. */
    createByAdmin: (account_id: string, base: LinkBase, log: Log): Promise<Pairing> =>
      untilDecided(async () => {
        const [found] = await store.read(blockOf({ id: account_id }));
        if (found?.[0]) fail("forbidden", { detail: "This account is blocked. Unblock it first." });
        const made = await make(insertAdminPairing, { account_id, session_id: null }, base);
        if (made) {
          log.info("pairing code made by the administrator", { account_id });
          return made;
        }
        const [account] = await store.read(accountById({ id: account_id }));
        return account ? undefined : failNotFound("account_id");
      }),

    /** The account of an open code, for the person to judge before it is used. `404 not_found`. */
    async lookUp(given: string): Promise<PairingOffer> {
      const code = readCode(given) ?? failNotFound("code");
      const [pairing] = await store.read(pairingByDigest({ digest: digestOf(code) }));
      if (!pairing || pairing.claimed_by !== null || isOver(pairing, clock.now())) {
        return failNotFound("code");
      }
      const { account_id, session_id, expires_at } = pairing;
      const [account] = await store.read(accountById({ id: account_id }));
      if (!account) return failNotFound("code");
      const offer = { account_id, account_created_at: account.created_at, expires_at };
      if (session_id === null) return { ...offer, offered_by: null };
      const [maker] = await store.read(sessionById({ id: session_id, account_id }));
      // The code ended with the sign-in that made it.
      return maker ? { ...offer, offered_by: maker.label ?? UNNAMED } : failNotFound("code");
    },

    /**
     * Adds a sign-in whose token the client made. The same code and token again give the same answer. `address`: the
     * client's, shown with the sign-in. `404 not_found` for a code that is unknown, used or expired,
     * `409 too_many_sessions`, `422 fields.token` for a used token.
     */
    async claim({ code: given, label, token }: ClaimInput, address: string): Promise<Claimed> {
      const code = readCode(given) ?? failNotFound("code");
      const code_or_link = digestOf(code);
      const token_digest = digest(token);
      return untilDecided(async () => {
        const [pairing] = await store.read(pairingByDigest({ digest: code_or_link }));
        if (!pairing) return failNotFound("code");
        const { account_id, code_digest } = pairing;
        const account = async () => {
          const [row] = await store.read(accountById({ id: account_id }));
          return row ? toAccount(row, storage) : failNotFound("code");
        };

        if (pairing.claimed_by !== null) {
          const id = pairing.claimed_by;
          const [row] = await store.read(sessionById({ id, account_id }));
          if (row?.digest !== token_digest) return failNotFound("code");
          return { account: await account(), session: toSession(row, id), token };
        }
        const now = clock.now();
        if (isOver(pairing, now)) return failNotFound("code");

        const revision = ids.unique();
        const id = ids.next("ses");
        const added = addSession({
          ...{ id, account_id, revision, address, now, label: label ?? null },
          made_by: pairing.session_id === null ? "administrator" : "pairing",
          digest: token_digest,
        });
        const at_revision = { changed_id: account_id, changed_revision: revision };
        const happened = await commit({
          statements: [
            claimSessionAdded({ account_id, code_digest, digest: token_digest, revision }),
            added.insert,
            usePairing({ code_digest, claimed_by: id, ...at_revision }),
          ],
          events: [added.event],
        });
        if (happened) return { account: await account(), session: added.session, token };

        // A simultaneous request with the same code came first: read again.
        const [again] = await store.read(pairingByDigest({ digest: code_or_link }));
        if (again?.claimed_by !== null) return undefined;
        const [taken] = await store.read(isTokenTaken({ digest: token_digest }));
        if (taken![0] === 1) return failFields({ token: "must be new" });
        const rows = await store.read(sessionsOfAccount({ account_id }));
        if (rows.length >= LIMITS.sessions_per_account) return fail("too_many_sessions");
        const [state] = await store.read(blockOf({ id: account_id }));
        if (state?.[0]) return failNotFound("code");
        return undefined;
      });
    },
  };
}
