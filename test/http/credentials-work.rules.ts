/** The rules of tasks, questions and messages: see credentials.rules.ts. */

import type { Rule } from "./credentials.rules.ts";

const ANSWER = { answer: "fine" };
const ASK = { prompt: "p", kind: "text" };

export const WORK_RULES: Readonly<Record<string, Rule>> = {
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
  "tasks.history": {
    access: "any",
    actions: {
      "[§5.5.7]": { names: "task", input: (task_id) => ({ task_id }), success: 200 },
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
  "questions.remind": {
    access: "account",
    actions: {
      "[§5.7.10] [§4.1.4]": {
        names: "question",
        input: (question_id) => ({ question_id, minutes: 10 }),
        success: 200,
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
