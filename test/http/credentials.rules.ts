/** Who may do what to whose: one rule for each procedure, from the columns and clauses of docs/interface.md. */

import { DEVICE, WEBHOOK } from "../support/client.ts";
import type { Resource } from "../support/credentials.ts";

export interface Action {
  /** What the request names, if anything; it must be the caller's. */
  readonly names?: Resource;
  /** The kind that may not send this: `422 fields.key_id` (§5.5.3, §4.1.4). */
  readonly not_for?: "account" | "key";
  /** True: what is named or shown may be of any key of the caller's account. */
  readonly by_account?: boolean;
  /** What it names besides, always the caller's own. */
  readonly beside?: Resource;
  readonly input: (id: string, beside: string) => Record<string, unknown>;
  readonly success: 200 | 201 | 204;
  /** True: success ends the resource, or the caller's account when it names none. */
  readonly ends?: boolean;
}

export interface Rule {
  /** docs/interface.md 5.1.1. */
  readonly access: "none" | "account" | "key" | "any";
  readonly actions: Readonly<Record<string, Action>>;
}

const ANSWER = { answer: "fine" };
const ASK = { prompt: "p", kind: "text" };

/** One rule per procedure; one without a rule fails the test below. */
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
  "pairings.create": {
    access: "account",
    actions: { "[§5.14.1]": { input: () => ({}), success: 201 } },
  },
  "pairings.lookup": { access: "none", actions: {} },
  // What a code opens is the business of test/api/pairings.test.ts.
  "pairings.claim": { access: "none", actions: {} },
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
  // What a grant is, and whose, is the business of test/oauth.
  "keys.revokeGrant": { access: "account", actions: {} },
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
  "tasks.list": {
    access: "any",
    actions: {
      "[§5.5.4]": { input: () => ({}), success: 200 },
      "[§5.5.2 key_id] [§4.1.4]": {
        names: "key",
        not_for: "key",
        input: (key_id) => ({ key_id }),
        success: 200,
      },
    },
  },
  "tasks.create": {
    access: "any",
    actions: {
      "[§5.5.3(1)] [§5.5.3(2)] [§4.1.4]": {
        names: "key",
        not_for: "key",
        input: (key_id) => ({ key_id, title: "new" }),
        success: 201,
      },
      "without key_id [§5.5.3(1)] [§9.2.1 422]": {
        not_for: "account",
        input: () => ({ title: "new" }),
        success: 201,
      },
    },
  },
  "tasks.get": {
    access: "any",
    actions: {
      "[§5.5.1]": { names: "task", input: (task_id) => ({ task_id }), success: 200 },
    },
  },
  "tasks.update": {
    access: "any",
    actions: {
      "[§5.5.5] [§4.1.4]": {
        names: "task",
        input: (task_id) => ({ task_id, progress: 7 }),
        success: 200,
      },
      "without a change [§5.5.5(4)]": {
        names: "task",
        input: (task_id) => ({ task_id }),
        success: 200,
      },
    },
  },
  "tasks.delete": {
    access: "any",
    actions: {
      "[§5.5.6] [§4.1.4]": {
        names: "task",
        input: (task_id) => ({ task_id }),
        success: 204,
        ends: true,
      },
    },
  },
  "liveActivities.put": {
    access: "account",
    actions: {
      "the task [§5.6.1(2)]": {
        names: "task",
        beside: "device",
        input: (task_id, device_id) => ({ task_id, device_id, push_token: "ab" }),
        success: 204,
      },
      "the device [§5.6.1(2)]": {
        names: "device",
        beside: "task",
        input: (device_id, task_id) => ({ task_id, device_id, push_token: "ab" }),
        success: 204,
      },
    },
  },
  "liveActivities.delete": {
    access: "account",
    actions: {
      "the task [§5.6.1(2)] [§5.6.2(1)]": {
        names: "task",
        beside: "device",
        input: (task_id, device_id) => ({ task_id, device_id }),
        success: 204,
      },
      "the device [§5.6.1(2)] [§5.6.2(1)]": {
        names: "device",
        beside: "task",
        input: (device_id, task_id) => ({ task_id, device_id }),
        success: 204,
      },
    },
  },
  "questions.list": {
    access: "any",
    actions: {
      "[§5.7.1]": { input: () => ({}), success: 200 },
      "by key": {
        names: "key",
        not_for: "key",
        input: (key_id) => ({ key_id }),
        success: 200,
      },
      "by task": { names: "task", input: (task_id) => ({ task_id }), success: 200 },
    },
  },
  "questions.ask": {
    access: "key",
    actions: {
      "[§5.7.2(2)]": {
        names: "task",
        input: (task_id) => ({ ...ASK, task_id }),
        success: 201,
      },
      "about no task [§5.7.2]": { input: () => ASK, success: 201 },
    },
  },
  "questions.get": {
    access: "any",
    actions: {
      "[§5.7.3]": {
        names: "question",
        input: (question_id) => ({ question_id }),
        success: 200,
      },
    },
  },
  "questions.answer": {
    access: "account",
    actions: {
      "[§5.7.4] [§5.7.4(2)]": {
        names: "question",
        input: (question_id) => ({ question_id, ...ANSWER }),
        success: 200,
        ends: true,
      },
    },
  },
  "questions.cancel": {
    access: "key",
    actions: {
      "[§5.7.5]": {
        names: "question",
        input: (question_id) => ({ question_id }),
        success: 204,
        ends: true,
      },
    },
  },
  "deliveries.list": {
    access: "any",
    actions: {
      "[§5.7.7]": { names: "question", input: (question_id) => ({ question_id }), success: 200 },
    },
  },
  "deliveries.receive": {
    access: "account",
    actions: {
      "for a page [§5.7.8]": {
        names: "question",
        input: (question_id) => ({ question_id, event: "shown" }),
        success: 204,
      },
      "for a device [§5.7.8]": {
        names: "question",
        beside: "device",
        input: (question_id, device_id) => ({ question_id, device_id, event: "opened" }),
        success: 204,
      },
    },
  },
  "inbox.read": {
    access: "key",
    actions: { "[§5.9.2]": { by_account: true, input: () => ({}), success: 200 } },
  },
  "inbox.ofKey": {
    access: "account",
    actions: {
      "[§5.9.4]": {
        names: "key",
        input: (key_id) => ({ key_id }),
        success: 200,
      },
    },
  },
  "messages.send": {
    access: "any",
    actions: {
      "[§5.10.1]": {
        names: "key",
        by_account: true,
        input: (key_id) => ({ key_id, text: "hello" }),
        success: 201,
      },
    },
  },
  "agents.list": {
    access: "key",
    actions: { "[§5.11.1]": { by_account: true, input: () => ({}), success: 200 } },
  },
};
