/** Who may call each procedure on whose resources: one rule each, from the columns and clauses of docs/interface.md. */

import { DEVICE, WEBHOOK } from "../support/client.ts";
import type { Resource } from "../support/credentials.ts";
import { WORK_RULES } from "./credentials-work.rules.ts";

export interface Action {
  /** What the request names, if anything; it must belong to the caller. */
  readonly names?: Resource;
  /** The kind that may not send this: `422 fields.key_id` (§5.5.3, §4.1.4). */
  readonly not_for?: "account" | "key";
  /** True: what is named or shown may belong to any key of the caller's account. */
  readonly by_account?: boolean;
  /** What it also names, always the caller's own. */
  readonly beside?: Resource;
  readonly input: (id: string, beside: string) => Record<string, unknown>;
  readonly success: 200 | 201 | 204;
  /** True: success ends the resource, or the caller's account if it names none. */
  readonly ends?: boolean;
}

export interface Rule {
  /** §5.1.1. */
  readonly access: "none" | "account" | "key" | "any";
  readonly actions: Readonly<Record<string, Action>>;
}

/** One rule for each procedure; a procedure without a rule fails the test below. */
export const RULES: Readonly<Record<string, Rule>> = {
  "accounts.create": {
    access: "none",
    actions: { "[§5.2.1] [§4.1.3]": { input: () => ({}), success: 201 } },
  },
  "attest.challenge": {
    access: "none",
    actions: { "[§4.2.2] [§4.1.3]": { input: () => ({}), success: 200 } },
  },
  "accounts.get": {
    access: "account",
    actions: { "[§5.2.2]": { input: () => ({}), success: 200 } },
  },
  "accounts.update": {
    access: "account",
    actions: {
      "[§5.2.3]": {
        input: () => ({ settings: { live_activities: false } }),
        success: 200,
      },
    },
  },
  "accounts.replaceToken": {
    access: "account",
    actions: { "": { input: () => ({}), success: 200, ends: true } },
  },
  "accounts.delete": {
    access: "account",
    actions: { "[§5.2.5]": { input: () => ({}), success: 204, ends: true } },
  },
  "sessions.list": {
    access: "account",
    actions: { "[§5.13.1]": { input: () => ({}), success: 200 } },
  },
  "sessions.update": {
    access: "account",
    actions: {
      "[§5.13.2]": {
        names: "session",
        input: (session_id) => ({ session_id, label: "renamed" }),
        success: 200,
      },
    },
  },
  "sessions.delete": {
    access: "account",
    actions: {
      "[§5.13.3]": {
        names: "session",
        input: (session_id) => ({ session_id }),
        success: 204,
        ends: true,
      },
    },
  },
  "sessions.confirm": {
    access: "account",
    actions: {
      "[§5.13.4]": {
        names: "session",
        input: (session_id) => ({ session_id }),
        success: 200,
      },
    },
  },
  "pairings.create": {
    access: "account",
    actions: { "[§5.14.1]": { input: () => ({}), success: 201 } },
  },
  "pairings.lookup": { access: "none", actions: {} },
  // What a code opens is tested in test/api/pairings.store.test.ts.
  "pairings.claim": { access: "none", actions: {} },
  "recovery.get": {
    access: "account",
    actions: { "[§5.2.8]": { input: () => ({}), success: 200 } },
  },
  "recovery.replace": {
    access: "account",
    actions: { "[§5.2.7]": { input: () => ({}), success: 201 } },
  },
  // What a code opens is tested in test/api/recovery.store.test.ts.
  "recovery.claim": { access: "none", actions: {} },
  "devices.list": {
    access: "account",
    actions: { "": { input: () => ({}), success: 200 } },
  },
  "devices.put": {
    access: "account",
    actions: {
      "[§5.3.2]": {
        input: () => ({ device_id: `dev_${crypto.randomUUID()}`, ...DEVICE }),
        success: 200,
      },
    },
  },
  "devices.delete": {
    access: "account",
    actions: {
      "[§5.3.3]": {
        names: "device",
        input: (device_id) => ({ device_id }),
        success: 204,
        ends: true,
      },
    },
  },
  "channels.list": {
    access: "account",
    actions: { "[§19.2.1]": { input: () => ({}), success: 200 } },
  },
  "channels.create": {
    access: "account",
    actions: { "[§19.2.2]": { input: () => WEBHOOK, success: 201 } },
  },
  "channels.check": {
    access: "account",
    actions: { "[§19.2.11]": { input: () => ({ type: "web_push" }), success: 200 } },
  },
  // Without a bot none can be made: test/api/channel-links.store.test.ts tests who may see and confirm a link.
  "channels.createLink": { access: "account", actions: {} },
  "channels.getLink": { access: "account", actions: {} },
  "channels.confirmLink": { access: "account", actions: {} },
  // Only a notification has the code: test/api/test-answers.store.test.ts.
  "channels.reached": { access: "none", actions: {} },
  "channels.key": {
    access: "account",
    actions: { "[§19.2.6]": { input: () => ({}), success: 200 } },
  },
  "channels.update": {
    access: "account",
    actions: {
      "[§19.2.3]": {
        names: "channel",
        input: (channel_id) => ({ channel_id, label: "renamed" }),
        success: 200,
      },
    },
  },
  "channels.delete": {
    access: "account",
    actions: {
      "[§19.2.4]": {
        names: "channel",
        input: (channel_id) => ({ channel_id }),
        success: 204,
        ends: true,
      },
    },
  },
  "channels.test": {
    access: "account",
    actions: {
      "[§19.2.5]": {
        names: "channel",
        input: (channel_id) => ({ channel_id }),
        success: 200,
      },
    },
  },
  "keys.list": {
    access: "account",
    actions: { "[§5.4.1]": { input: () => ({}), success: 200 } },
  },
  "keys.create": {
    access: "account",
    actions: { "[§5.4.2]": { input: () => ({ label: "new" }), success: 201 } },
  },
  "keys.update": {
    access: "account",
    actions: {
      "[§5.4.3]": {
        names: "key",
        input: (key_id) => ({ key_id, label: "renamed" }),
        success: 200,
      },
    },
  },
  "keys.delete": {
    access: "account",
    actions: {
      "[§5.4.4]": {
        names: "key",
        input: (key_id) => ({ key_id }),
        success: 204,
        ends: true,
      },
    },
  },
  "keys.replaceSecret": {
    access: "account",
    actions: {
      "[§5.4.7]": {
        names: "key",
        input: (key_id) => ({ key_id }),
        success: 200,
        ends: true,
      },
    },
  },
  "keys.grants": {
    access: "account",
    actions: {
      "[§5.4.8]": { names: "key", input: (key_id) => ({ key_id }), success: 200 },
    },
  },
  // What a grant is, and whose, is tested in test/oauth.
  "keys.revokeGrant": { access: "account", actions: {} },
  // An agent names its own key: test/notify/key-webhooks.store.test.ts.
  "keys.setWebhook": { access: "any", actions: {} },
  "keys.webhook": { access: "any", actions: {} },
  "keys.removeWebhook": { access: "any", actions: {} },
  "oauth.request": { access: "account", actions: {} },
  "oauth.approve": { access: "account", actions: {} },
  "oauth.deny": { access: "account", actions: {} },
  "oauth.askApproval": { access: "none", actions: {} },
  "oauth.awaitApproval": { access: "none", actions: {} },
  "keys.activity": {
    access: "account",
    actions: {
      "[§5.4.5] [§15.1.5]": {
        names: "key",
        input: (key_id) => ({ key_id }),
        success: 200,
      },
    },
  },
  ...WORK_RULES,
};
