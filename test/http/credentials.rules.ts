/** Who may do what to whose: one rule for each procedure, from the columns and clauses of interface.md. */

import { DEVICE } from "../support/client.ts";
import type { Resource } from "../support/credentials.ts";

export interface Action {
  /** What the request names, if anything; it must be the caller's. */
  readonly names?: Resource;
  /** The kind that may not send this: `422 fields.key_id` (§4 Tasks, Create body; §5 3). */
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
  /** interface.md §4, the Auth columns. */
  readonly access: "none" | "account" | "key" | "any";
  readonly actions: Readonly<Record<string, Action>>;
}

const ANSWER = { answer: "fine" };
const ASK = { prompt: "p", kind: "text" };

/** One rule per procedure; one without a rule fails the test below. */
export const RULES: Readonly<Record<string, Rule>> = {
  "accounts.create": {
    access: "none",
    actions: { "[§4 Accounts POST] [§5 2]": { input: () => ({}), success: 201 } },
  },
  "attest.challenge": {
    access: "none",
    actions: { "[§4 Accounts attest] [§5 2]": { input: () => ({}), success: 200 } },
  },
  "accounts.get": {
    access: "account",
    actions: { "[§4 Accounts GET]": { input: () => ({}), success: 200 } },
  },
  "accounts.update": {
    access: "account",
    actions: {
      "[§4 Accounts PATCH]": {
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
    actions: { "[§4 Accounts DELETE]": { input: () => ({}), success: 204, ends: true } },
  },
  "devices.list": {
    access: "account",
    actions: { "": { input: () => ({}), success: 200 } },
  },
  "devices.put": {
    access: "account",
    actions: {
      "[§4 Devices PUT]": {
        input: () => ({ device_id: `dev_${crypto.randomUUID()}`, ...DEVICE }),
        success: 200,
      },
    },
  },
  "devices.delete": {
    access: "account",
    actions: {
      "[§4 Devices DELETE]": {
        names: "device",
        input: (device_id) => ({ device_id }),
        success: 204,
        ends: true,
      },
    },
  },
  "keys.list": {
    access: "account",
    actions: { "[§4 Keys GET]": { input: () => ({}), success: 200 } },
  },
  "keys.create": {
    access: "account",
    actions: { "[§4 Keys POST]": { input: () => ({ label: "new" }), success: 201 } },
  },
  "keys.update": {
    access: "account",
    actions: {
      "[§4 Keys PATCH]": {
        names: "key",
        input: (key_id) => ({ key_id, label: "renamed" }),
        success: 200,
      },
    },
  },
  "keys.delete": {
    access: "account",
    actions: {
      "[§4 Keys DELETE]": {
        names: "key",
        input: (key_id) => ({ key_id }),
        success: 204,
        ends: true,
      },
    },
  },
  "keys.activity": {
    access: "account",
    actions: {
      "[§4 Keys activity] [§4 Activity log]": {
        names: "key",
        input: (key_id) => ({ key_id }),
        success: 200,
      },
    },
  },
  "tasks.list": {
    access: "any",
    actions: {
      "[§4 Tasks GET]": { input: () => ({}), success: 200 },
      "[§4 Tasks List key_id] [§5 3]": {
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
      "[§4 Tasks Create key_id account] [§4 Tasks Create key_id key] [§5 3]": {
        names: "key",
        not_for: "key",
        input: (key_id) => ({ key_id, title: "new" }),
        success: 201,
      },
      "without key_id [§4 Tasks Create key_id account] [§7 422]": {
        not_for: "account",
        input: () => ({ title: "new" }),
        success: 201,
      },
    },
  },
  "tasks.get": {
    access: "any",
    actions: {
      "[§4 Tasks credentials]": { names: "task", input: (task_id) => ({ task_id }), success: 200 },
    },
  },
  "tasks.update": {
    access: "any",
    actions: {
      "[§4 Tasks PATCH] [§5 3]": {
        names: "task",
        input: (task_id) => ({ task_id, progress: 7 }),
        success: 200,
      },
      "without a change [§4 Tasks Update body 4]": {
        names: "task",
        input: (task_id) => ({ task_id }),
        success: 200,
      },
    },
  },
  "tasks.delete": {
    access: "any",
    actions: {
      "[§4 Tasks DELETE] [§5 3]": {
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
      "the task [§4 Live activities 2]": {
        names: "task",
        beside: "device",
        input: (task_id, device_id) => ({ task_id, device_id, push_token: "ab" }),
        success: 204,
      },
      "the device [§4 Live activities 2]": {
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
      "the task [§4 Live activities 2] [§4 Live activities 3]": {
        names: "task",
        beside: "device",
        input: (task_id, device_id) => ({ task_id, device_id }),
        success: 204,
      },
      "the device [§4 Live activities 2] [§4 Live activities 3]": {
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
      "[§4 Questions GET]": { input: () => ({}), success: 200 },
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
      "[§4 Ask body task_id]": {
        names: "task",
        input: (task_id) => ({ ...ASK, task_id }),
        success: 201,
      },
      "about no task [§4 Questions POST]": { input: () => ASK, success: 201 },
    },
  },
  "questions.get": {
    access: "any",
    actions: {
      "[§4 Questions GET one]": {
        names: "question",
        input: (question_id) => ({ question_id }),
        success: 200,
      },
    },
  },
  "questions.answer": {
    access: "account",
    actions: {
      "[§4 Questions answer] [§4 Answer]": {
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
      "[§4 Cancel]": {
        names: "question",
        input: (question_id) => ({ question_id }),
        success: 204,
        ends: true,
      },
    },
  },
  "inbox.read": {
    access: "key",
    actions: { "[§4 Inbox GET]": { by_account: true, input: () => ({}), success: 200 } },
  },
  "inbox.ofKey": {
    access: "account",
    actions: {
      "[§4 Inbox account view]": {
        names: "key",
        input: (key_id) => ({ key_id }),
        success: 200,
      },
    },
  },
  "messages.send": {
    access: "any",
    actions: {
      "[§4 Messages POST]": {
        names: "key",
        by_account: true,
        input: (key_id) => ({ key_id, text: "hello" }),
        success: 201,
      },
    },
  },
  "agents.list": {
    access: "key",
    actions: { "[§4 Agents GET]": { by_account: true, input: () => ({}), success: 200 } },
  },
};
