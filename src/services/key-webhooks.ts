/** The webhook of a key: set, read, remove (§5.4.10 to §5.4.12). */

import { sealSecret } from "../../db/channel-secrets.ts";
import {
  claimKey,
  deleteKeyWebhook,
  insertKeyWebhook,
  queueUnread,
  setterOf,
  webhookSets,
} from "../../db/key-webhooks.ts";
import type { KeyRow } from "../../db/keys.ts";
import { insertTestMessage } from "../../db/notify/webhook-queue.ts";
import type { Statement } from "../../db/store/store.ts";
import { fail, failFields, failNotFound } from "../errors.ts";
import { hostOf } from "../host-names.ts";
import { RATES } from "../limits.ts";
import type { Caller } from "../model/caller.ts";
import type { KeyWebhook } from "../model/key.ts";
import { WEBHOOK_LIMITS } from "../notification-limits.ts";
import type { UrlCheck } from "../notify/webhooks/url-check.ts";
import type { WebhookWorker } from "../notify/webhooks/worker.ts";
import { hintOf } from "./channels.ts";
import { type Keys, toKey } from "./keys.ts";
import { untilDecided } from "./shared/commit.ts";
import type { ServiceDeps } from "./shared/deps.ts";
import { type AdmitAddressUse, createUseLimit } from "./shared/use-limits.ts";

interface KeyWebhooksDeps extends ServiceDeps {
  readonly keys: Pick<Keys, "find" | "commitKey">;
  readonly checkUrl: UrlCheck;
  readonly admitAddressUse: AdmitAddressUse;
  readonly webhooks: Pick<WebhookWorker, "learn" | "run">;
  /** How often the webhook of a key can be set within an hour; 0 for no limit. */
  readonly sets_per_hour: number;
}

export function createKeyWebhooks(deps: KeyWebhooksDeps) {
  const { store, clock, ids, assertLive, assertPastTrial } = deps;
  const { keys, checkUrl, admitAddressUse, webhooks, sets_per_hour } = deps;
  const admit = createUseLimit(
    deps,
    webhookSets,
    RATES.webhook_sets,
    sets_per_hour,
    "The webhook of a key can be set",
  );

  /** `404 not_found` for a key that the account does not have; a key finds only itself. */
  const find = async (caller: Caller, id: string): Promise<KeyRow> => {
    if (caller.kind === "key" && caller.key_id !== id) failNotFound("key_id");
    return keys.find(caller, id);
  };

  /** Commits the webhook's new state by the statements. False if the key has changed since it was read. */
  const change = (
    caller: Caller,
    row: KeyRow,
    webhook: KeyWebhook | null,
    statementsOf: (changed: {
      readonly changed_id: string;
      readonly changed_revision: string;
    }) => Statement[],
  ): Promise<boolean> => {
    const { account_id, credential } = caller;
    const { id } = row.key;
    const { webhook: _before, ...rest } = toKey(row);
    const revision = ids.unique();
    const claim = claimKey({ id, account_id, credential, revision, old_revision: row.revision });
    return keys.commitKey(caller, webhook ? { ...rest, webhook } : rest, revision, [
      claim,
      ...statementsOf({ changed_id: id, changed_revision: revision }),
    ]);
  };

  return {
    /** The webhook of a key. `404 not_found` also for a key without a webhook. */
    async read(caller: Caller, key_id: string): Promise<KeyWebhook> {
      const { webhook } = toKey(await find(caller, key_id));
      return webhook ?? failNoWebhook();
    },

    /**
     * Posts the key's inbox items to `url` from now on, the unread ones first, in place of an earlier webhook.
     * Only this answer has the new secret. `403 forbidden` in the caller's trial, `404 not_found`,
     * `422 fields.url`, `429 rate_limited`.
     */
    async set(
      caller: Caller,
      key_id: string,
      url: string,
    ): Promise<{ readonly url: string; readonly secret: string }> {
      if (caller.kind === "account") await assertPastTrial(caller);
      await find(caller, key_id);
      const { account_id, credential } = caller;
      if (!(await admit({ id: key_id, account_id }))) failNotFound("key_id");
      const { origin } = new URL(url);
      const host = hostOf(url);
      if (!(await admitAddressUse({ account_id, host }))) await assertLive(caller);
      const wrong = await checkUrl(url, account_id);
      if (wrong !== null) failFields({ url: wrong });
      const secret = ids.webhookSecret();
      return untilDecided(async () => {
        const row = await find(caller, key_id);
        const [setter] = await store.read(setterOf({ credential }));
        if (!setter) {
          await assertLive(caller);
          return undefined;
        }
        const now = clock.now();
        const shown = { state: "ok", origin, hint: hintOf(url), created_at: now } as const;
        const webhook = { ...shown, last_sent_at: null, last_error: null, missed: 0 };
        const channel_id = ids.next("chn");
        const test = { key_id, label: row.key.label };
        const happened = await change(caller, row, webhook, (changed) => [
          deleteKeyWebhook({ key_id, ...changed }),
          insertKeyWebhook({
            ...BLANK,
            ...shown,
            ...changed,
            id: channel_id,
            account_id,
            key_id,
            set_by: setter[0],
            secret: sealSecret(store.vault, channel_id, { url, secret }),
            host,
            revision: changed.changed_revision,
          }),
          insertTestMessage({
            id: ids.next("msg"),
            account_id,
            channel_id,
            subject: channel_id,
            type: "webhook.test",
            data: JSON.stringify(test),
            created_at: now,
            due_at: now,
            expires_at: now + WEBHOOK_LIMITS.message_life,
            head: 1,
            lease: null,
            item_seq: null,
          }),
          queueUnread({
            key_id,
            channel_id,
            now,
            expires_at: now + WEBHOOK_LIMITS.message_life,
            ...changed,
          }),
        ]);
        if (!happened) return undefined;
        webhooks.learn(account_id);
        webhooks.run();
        return { url, secret };
      });
    },

    /**
     * Removes the webhook; items that were not posted stay unread. `403 forbidden` in the caller's trial, `404
     * not_found`.
     */
    remove: (caller: Caller, key_id: string): Promise<void> =>
      untilDecided(async () => {
        if (caller.kind === "account") await assertPastTrial(caller);
        const row = await find(caller, key_id);
        if (row.webhook.id === null) failNoWebhook();
        const removed = await change(caller, row, null, (changed) => [
          deleteKeyWebhook({ key_id, ...changed }),
        ]);
        if (removed) return null;
        await assertLive(caller);
        return undefined;
      }).then(() => undefined),
  };
}

function failNoWebhook(): never {
  fail("not_found", { detail: "This key has no webhook." });
}

/** The initial values of the columns of `channels` that are for channels of a person, or for deliveries. */
const BLANK = {
  type: "key_webhook",
  session_id: null,
  label: "",
  sends: ["questions", "tasks"],
  min_priority: "low",
  quiet_hours: null,
  endpoint_digest: null,
  last_sent_at: null,
  error_code: null,
  error_at: null,
  confirmed_at: null,
  held_until: null,
  claimed_at: null,
  due_at: null,
  listener: null,
  listen_error: null,
  listen_error_at: null,
  reached_at: null,
} as const;
