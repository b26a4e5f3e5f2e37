/** API keys: create, list, label, delete, and their last use (§5.4). */

import {
  copyLastUse,
  insertSecret,
  replaceSecretDigest,
  touchCredential,
} from "../../db/credentials.ts";
import { deleteWebhookOfSecret } from "../../db/key-webhooks.ts";
import {
  deleteKey,
  insertKey,
  type KeyRow,
  keyById,
  keysOfAccount,
  replaceSecret,
  touchKey,
  updateKey,
} from "../../db/keys.ts";
import { SECRET } from "../../db/notify/schema.ts";
import { fail, failNotFound } from "../errors.ts";
import { digest } from "../ids.ts";
import { LIMITS } from "../limits.ts";
import type { AccountCaller, Caller, KeyCaller } from "../model/caller.ts";
import { type ClientInfo, isSameClient } from "../model/client.ts";
import type { Key, KeyWebhook } from "../model/key.ts";
import { type Change, eventOf, untilDecided } from "./shared/commit.ts";
import { readOwn, type ServiceDeps } from "./shared/deps.ts";

export type Keys = ReturnType<typeof createKeys>;

export function createKeys(deps: ServiceDeps) {
  const { store, commit, clock, ids, assertLive, assertPastTrial, notificationPlans } = deps;
  const find = (caller: Caller, id: string): Promise<KeyRow> =>
    readOwn(deps, caller, keyById({ id, account_id: caller.account_id }), "key_id");

  /**
   * Commits a changed key, with `key.updated` (§7.2). False if the key, or what else guards the first of its
   * statements, has changed since.
   */
  const commitKey = (
    caller: Caller,
    key: Key,
    revision: string,
    statements: Change["statements"],
  ): Promise<boolean> => {
    const { account_id } = caller;
    const changed = { table: "keys", id: key.id, revision } as const;
    return commit({
      statements,
      deliveries:
        caller.kind === "account" ? notificationPlans.ofAccountChange(account_id, changed) : [],
      events: [eventOf(changed, "key.updated", account_id, { key })],
    });
  };

  /** Changes fields of a key. */
  const change = (
    caller: Caller,
    id: string,
    fields: Partial<Pick<Key, "label" | "last_host" | "last_client">>,
  ): Promise<Key> =>
    untilDecided(async () => {
      const row = await find(caller, id);
      const before = toKey(row);
      const key = { ...before, ...fields };
      const same =
        key.label === before.label &&
        key.last_host === before.last_host &&
        isSameClient(key.last_client, before.last_client);
      if (same) return before;
      const revision = ids.unique();
      const at_key = { key_id: id, changed_id: id, changed_revision: revision };
      const happened = await commitKey(caller, key, revision, [
        updateKey({ ...key, revision, old_revision: row.revision }),
        copyLastUse({ ...key, ...at_key }),
      ]);
      return happened ? key : undefined;
    });

  /** A new secret, and the parts of it that are shown. */
  const newSecret = () => {
    const secret = ids.secret("mck");
    return { secret, prefix: secret.slice(0, 8), last4: secret.slice(-4) };
  };

  /** A new key, its row, the insertion of its secret, and the events and notifications for their batch. */
  const prepare = ({ account_id }: AccountCaller, label: string) => {
    const { secret, ...shown } = newSecret();
    const revision = ids.unique();
    const key: Key = {
      id: ids.next("key"),
      label,
      ...shown,
      created_at: clock.now(),
      last_used_at: null,
      last_client: null,
      last_host: null,
      counts: { todo: 0, in_progress: 0, done: 0, cancelled: 0 },
    };
    const { counts, ...columns } = key;
    const row = {
      ...columns,
      account_id,
      tasks_todo: counts.todo,
      tasks_in_progress: counts.in_progress,
      tasks_done: counts.done,
      tasks_cancelled: counts.cancelled,
      revision,
      deleted_at: null,
      stored_bytes: 0,
    };
    const changed = { table: "keys", id: key.id, revision } as const;
    const secretInsert = insertSecret({
      digest: digest(secret),
      id: ids.next("crd"),
      kind: "key_secret",
      account_id,
      key_id: key.id,
      label: null,
      made_by: "account",
      created_at: key.created_at,
      last_used_at: null,
      last_host: null,
      last_client: null,
      expires_at: null,
      grant_id: null,
      replaced_at: null,
      address: null,
      confirmed_at: null,
      changed_id: key.id,
      changed_revision: revision,
    });
    const deliveries = notificationPlans.ofAccountChange(account_id, changed);
    const events = [eventOf(changed, "key.created", account_id, { key })];
    return { key, secret, row, secretInsert, change: { deliveries, events } };
  };

  return {
    /** The key and its revision. `404 not_found` for a key that the caller's account does not have. */
    find,

    /** All keys of the caller's account, newest first. */
    async list(caller: Caller): Promise<Key[]> {
      const rows = await store.read(keysOfAccount({ account_id: caller.account_id }));
      return rows.map(toKey);
    },

    commitKey,
    prepare,

    /** Creates a key; only this answer has the secret. `403 forbidden` in the caller's trial, `409 too_many_keys`. */
    async create(caller: AccountCaller, label: string): Promise<{ key: Key; secret: string }> {
      await assertPastTrial(caller);
      const { key, secret, row, secretInsert, change } = prepare(caller, label);
      if (!(await commit({ ...change, statements: [insertKey(row), secretInsert] }))) {
        await assertLive(caller);
        fail("too_many_keys");
      }
      return { key, secret };
    },

    /**
     * Replaces the secret of a key; only this answer has the new one. The waits of the old one end at once, and
     * a webhook that it set (§5.4.7). `403 forbidden` in the caller's trial, `404 not_found`.
     */
    replaceSecret: (caller: AccountCaller, id: string): Promise<{ key: Key; secret: string }> =>
      untilDecided(async () => {
        await assertPastTrial(caller);
        const row = await find(caller, id);
        const { secret, ...shown } = newSecret();
        const of_secret = row.webhook.id !== null && row.webhook.set_by === SECRET;
        const { webhook, ...rest } = toKey(row);
        const key = { ...rest, ...shown, ...(webhook && !of_secret && { webhook }) };
        const revision = ids.unique();
        const { revision: old_revision } = row;
        const at_key = { key_id: id, changed_id: id, changed_revision: revision };
        const happened = await commitKey(caller, key, revision, [
          replaceSecret({ id, ...shown, revision, old_revision }),
          replaceSecretDigest({ digest: digest(secret), ...at_key }),
          deleteWebhookOfSecret(at_key),
        ]);
        return happened ? { key, secret } : undefined;
      }),

    /** Changes the label of a key. `403 forbidden` in the caller's trial, `404 not_found`. */
    async setLabel(caller: AccountCaller, id: string, label: string): Promise<Key> {
      await assertPastTrial(caller);
      return change(caller, id, { label });
    },

    setHost: (caller: KeyCaller, host: string): Promise<Key> =>
      change(caller, caller.key_id, { last_host: host }),

    setClient: (caller: KeyCaller, client: ClientInfo): Promise<Key> =>
      change(caller, caller.key_id, { last_client: client }),

    /** Sets `last_used_at` of a key or a sign-in, at most once a minute, without an event (§2.3.2, §2.9.2). */
    async touch(caller: Caller): Promise<void> {
      const now = clock.now();
      const every = LIMITS.last_used_every;
      const use = { last_used_at: now, not_after: now - every, not_before: now + every };
      await store.write([
        ...(caller.kind === "key" ? [touchKey({ id: caller.key_id, ...use })] : []),
        touchCredential({ digest: caller.credential, ...use }),
      ]);
    },

    /**
     * Deletes a key: refuses its secret and hides its data at once (§5.4.6). `403 forbidden` in the trial, `404
     * not_found`.
     */
    async remove(caller: AccountCaller, id: string): Promise<void> {
      await assertPastTrial(caller);
      const { account_id } = caller;
      const revision = ids.unique();
      const changed = { table: "keys", id, revision } as const;
      const happened = await commit({
        statements: [deleteKey({ id, account_id, deleted_at: clock.now(), revision })],
        deliveries: notificationPlans.ofDeletion(account_id, changed),
        events: [eventOf(changed, "key.deleted", account_id, { key_id: id })],
      });
      if (!happened) {
        await assertLive(caller);
        failNotFound("key_id");
      }
    },
  };
}

/** A key from its row. It has the field `webhook` only if it has a webhook (§2.3.6). */
export function toKey({ key, counts, webhook }: KeyRow): Key {
  return webhook.id === null
    ? { ...key, counts }
    : { ...key, counts, webhook: toKeyWebhook(webhook) };
}

function toKeyWebhook(row: KeyRow["webhook"] & { readonly id: string }): KeyWebhook {
  const { id: _id, set_by: _set_by, error_code, error_at, missed, created_at, ...shown } = row;
  const last_error =
    error_code === null || error_at === null ? null : { code: error_code, at: error_at };
  return { ...shown, last_error, missed, created_at };
}
