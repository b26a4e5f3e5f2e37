/** Sign-ins of an account: list, label, confirm, end (§5.13). */

import { endRecoveryCodeOf } from "../../db/recovery-codes.ts";
import {
  claimConfirmation,
  claimSessionEnd,
  confirmSession,
  deleteSession,
  insertSession,
  labelSession,
  sessionById,
  sessionsOfAccount,
} from "../../db/sessions.ts";
import type { Statement } from "../../db/store/store.ts";
import { fail, failNotFound } from "../errors.ts";
import { LIMITS } from "../limits.ts";
import type { AccountCaller } from "../model/caller.ts";
import { type Session, UNNAMED } from "../model/session.ts";
import { eventOf, untilDecided } from "./shared/commit.ts";
import { readOwn, type ServiceDeps } from "./shared/deps.ts";
import { failInTrial, isInTrial, trialSince } from "./shared/trial.ts";

type Row = ReturnType<typeof sessionsOfAccount> extends Statement<infer R> ? R : never;

/** A sign-in as its account sees it. `current_id`: the sign-in that asks. */
export function toSession(row: Row, current_id: string | null): Session {
  const { id, label, made_by, created_at, last_used_at, address, confirmed_at } = row;
  const has_trial = made_by !== "account" && confirmed_at === null;
  return {
    id,
    label: label ?? UNNAMED,
    current: id === current_id,
    made_by,
    created_at,
    last_used_at,
    trial_ends_at: has_trial ? created_at + LIMITS.session_trial : null,
    address,
  };
}

interface AddedSession {
  readonly id: string;
  readonly account_id: string;
  /** The revision that the same batch gives the account; without it, nothing is added. */
  readonly revision: string;
  /** Of the token, which the client made. */
  readonly digest: string;
  readonly label: string | null;
  readonly made_by: Session["made_by"];
  /** The client's, shown with the sign-in; null for the first sign-in of an account. */
  readonly address: string | null;
  /** Epoch seconds. */
  readonly now: number;
}

/** A new sign-in: its INSERT, its event, and how it sees itself. */
export function addSession({ account_id, revision, digest, now, ...given }: AddedSession) {
  const row = { ...given, created_at: now, last_used_at: null, confirmed_at: null };
  const { id } = row;
  const changed = { table: "accounts", id: account_id, revision } as const;
  return {
    session: toSession(row, id),
    insert: insertSession({
      ...row,
      account_id,
      digest,
      kind: "account_token",
      key_id: null,
      last_host: null,
      last_client: null,
      expires_at: null,
      grant_id: null,
      replaced_at: null,
      changed_id: account_id,
      changed_revision: revision,
    }),
    event: eventOf(changed, "session.created", account_id, { session: toSession(row, null) }, id),
  };
}

export function createSessions(deps: ServiceDeps) {
  const { store, commit, clock, ids, assertLive, assertPastTrial } = deps;
  const rowsOf = ({ account_id }: AccountCaller) => store.read(sessionsOfAccount({ account_id }));

  return {
    /** The sign-ins of the account, newest first. */
    async list(caller: AccountCaller): Promise<Session[]> {
      const rows = await rowsOf(caller);
      return rows.map((row) => toSession(row, caller.session_id));
    },

    /** Labels any sign-in of the account; in its trial the caller may label only itself. No event (§7.3.5). */
    async setLabel(caller: AccountCaller, id: string, label: string): Promise<Session> {
      const { account_id, session_id } = caller;
      if (id !== session_id) await assertPastTrial(caller);
      await store.write([labelSession({ id, account_id, label })]);
      const row = await readOwn(deps, caller, sessionById({ id, account_id }), "session_id");
      return toSession(row, session_id);
    },

    /**
     * Ends the trial of a sign-in, with one event `session.confirmed`. Without a trial, nothing changes.
     * `403 forbidden` in the caller's own trial, `404 not_found`.
     */
    confirm: (caller: AccountCaller, id: string): Promise<Session> =>
      untilDecided(async () => {
        const { account_id, credential, session_id } = caller;
        await assertPastTrial(caller);
        const row = await readOwn(deps, caller, sessionById({ id, account_id }), "session_id");
        if (toSession(row, session_id).trial_ends_at === null) return toSession(row, session_id);
        const now = clock.now();
        const revision = ids.unique();
        const target = { account_id, session_id: id };
        const confirmed = { ...row, confirmed_at: now };
        const changed = { table: "accounts", id: account_id, revision } as const;
        const at_revision = { changed_id: account_id, changed_revision: revision };
        const happened = await commit({
          statements: [
            claimConfirmation({ ...target, credential, trial_since: trialSince(now), revision }),
            confirmSession({ ...target, ...at_revision, confirmed_at: now }),
          ],
          events: [
            eventOf(
              changed,
              "session.confirmed",
              account_id,
              { session: toSession(confirmed, null) },
              id,
            ),
          ],
        });
        return happened ? toSession(confirmed, session_id) : undefined;
      }),

    /**
     * Ends a sign-in with its streams and waits. `403 forbidden` for another sign-in during the caller's trial,
     * `404 not_found`, `409 last_session` for the only one unless `last` is true.
     */
    async remove(caller: AccountCaller, id: string, last: boolean): Promise<void> {
      const { account_id, credential, session_id: own_id } = caller;
      await untilDecided(async () => {
        const revision = ids.unique();
        const trial_since = trialSince(clock.now());
        const changed = { table: "accounts", id: account_id, revision } as const;
        const at_revision = { changed_id: account_id, changed_revision: revision };
        const happened = await commit({
          statements: [
            claimSessionEnd({
              account_id,
              session_id: id,
              credential,
              trial_since,
              last: last ? 1 : 0,
              revision,
            }),
            // Before the sign-in goes, since its trial decides.
            endRecoveryCodeOf({ account_id, session_id: id, trial_since, ...at_revision }),
            deleteSession({ account_id, session_id: id, ...at_revision }),
          ],
          events: [
            eventOf(changed, "session.deleted", account_id, { session_id: id }, id),
            // Makes every process, of older versions too, check the streams and waits that it holds.
            eventOf(changed, "token.replaced", account_id, {}),
          ],
        });
        if (happened) return true;
        await assertLive(caller);
        const rows = await rowsOf(caller);
        if (!rows.some((row) => row.id === id)) failNotFound("session_id");
        if (rows.length === 1 && !last) fail("last_session");
        const own = rows.find((row) => row.id === own_id);
        if (own && id !== own_id && isInTrial(own, trial_since)) failInTrial();
        return undefined;
      });
    },
  };
}
