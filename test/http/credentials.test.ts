/**
 * A key never sees, names or changes what belongs to another key or account: every procedure, with
 * every kind of credential, on resources of every owner. What is right is computed from RULES.
 */

import { expect, test } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { DEVICE } from "../support/client.ts";
import {
  type Credential,
  createHolders,
  has,
  type Resource,
  TARGETS,
  type Target,
} from "../support/credentials.ts";
import { nameOf, ROUTES } from "../support/routes.ts";
import { type Code, exchange, faultsOf } from "../support/wire.ts";

const app = await startTestApp();
const holders = await createHolders(app.url);

interface Action {
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

interface Rule {
  /** interface.md §4, the Auth columns. */
  readonly access: "none" | "account" | "key" | "any";
  readonly actions: Readonly<Record<string, Action>>;
}

const ANSWER = { answer: "fine" };
const ASK = { prompt: "p", kind: "text" };

/** One rule per procedure; one without a rule fails the test below. */
const RULES: Readonly<Record<string, Rule>> = {
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

/** The one answer that is right, from the order of the checks (decisions.md, Errors). */
function expected(
  { access }: Rule,
  action: Action,
  credential: Credential,
  target: Target,
): number | Code {
  if (access === "none") return action.success;
  if (!credential.is) return "unauthorized";
  if (access !== "any" && access !== credential.is.kind) return "forbidden";
  if (action.not_for === credential.is.kind) return "invalid_fields";
  if (action.names && !has(credential, target, action.by_account)) return "not_found";
  return action.success;
}

type Surface = "rest" | "trpc";

async function call(
  surface: Surface,
  procedure: string,
  input: Record<string, unknown>,
  header: string | null,
) {
  const route = ROUTES.find((one) => one.procedure === procedure)!;
  const headers = header === null ? {} : { headers: { authorization: header } };
  const json = JSON.stringify(input);
  if (surface === "trpc") {
    return route.type === "query"
      ? exchange(app.url, "GET", `/trpc/${procedure}?input=${encodeURIComponent(json)}`, headers)
      : exchange(app.url, "POST", `/trpc/${procedure}`, { ...headers, body: json });
  }
  const path = route.path.replace(/\{(\w+)\}/g, (_, name: string) => String(input[name]));
  const rest = Object.entries(input).filter(([name]) => !route.in_path.includes(name));
  if (route.in_body) {
    const body = JSON.stringify(Object.fromEntries(rest));
    return exchange(app.url, route.method, path, { ...headers, body });
  }
  const query = rest.map(([name, value]) => `${name}=${value}`).join("&");
  return exchange(app.url, route.method, path + (query && `?${query}`), headers);
}

/** Every cell of one action; gives what was wrong. */
async function tryAction(surface: Surface, procedure: string, rule: Rule, action: Action) {
  const faults: string[] = [];
  for (const credential of holders.credentials) {
    for (const target of action.names ? TARGETS : (["never there"] as const)) {
      const id = action.names ? await holders.target(action.names, target) : "";
      const owner = credential.is?.owner ?? "first";
      const beside = action.beside ? await holders.target(action.beside, owner) : "";
      const hidden = await holders.secretsFrom(credential, action.by_account);
      const right = expected(rule, action, credential, target);
      const ends = action.ends === true && typeof right === "number";
      const header =
        ends && !action.names ? await holders.throwaway(credential) : credential.header;
      const answer = await call(surface, procedure, action.input(id, beside), header);
      if (ends && action.names) holders.usedUp(action.names, target);
      // So that the key's 20 pending questions are not used up.
      if (answer.status < 300 && procedure === "questions.ask") {
        const asked = answer.body.id ?? answer.body.result.data.id;
        await holders.send(credential)(`DELETE /v1/questions/${asked}`);
      }

      const cell = `${credential.name} -> ${target}`;
      const fault = (what: string) => faults.push(`${cell}: ${what}`);
      if (typeof right === "string" && surface === "rest") {
        faultsOf(answer, right, right === "invalid_fields" ? ["key_id"] : []).map(fault);
      } else if (typeof right === "string") {
        const got = answer.body?.error?.data?.code_name;
        if (got !== right) fault(`${answer.status} ${got} instead of ${right}`);
      } else if (answer.status !== (surface === "rest" ? right : 200)) {
        fault(`${answer.status} ${answer.text.slice(0, 100)} instead of ${right}`);
      }
      for (const secret of hidden) if (answer.text.includes(secret)) fault(`shows ${secret}`);
    }
  }
  return faults;
}

test("every procedure has a rule, and lets in whom its rule says [§5 2]", () => {
  const access = ROUTES.map((route) => [route.procedure, route.access]);
  const rules = Object.entries(RULES).map(([procedure, rule]) => [procedure, rule.access]);
  expect(Object.fromEntries(access)).toEqual(Object.fromEntries(rules));
});

for (const route of ROUTES) {
  const rule = RULES[route.procedure];
  for (const [clause, action] of Object.entries(rule?.actions ?? {})) {
    test(`${nameOf(route)}: who may, on whose ${action.names ?? "own"} ${clause} [§7 404] [§5 4]`, async () => {
      expect(await tryAction("rest", route.procedure, rule!, action)).toEqual([]);
    });
  }
}

/** One of each shape: reads, changes, ends, lists, and what names another resource. */
const SAMPLE = ["tasks.get", "tasks.update", "tasks.list", "tasks.create", "questions.ask"];
for (const procedure of [...SAMPLE, "questions.answer", "keys.delete", "accounts.get"]) {
  test(`/trpc ${procedure}: who may, on whose [§5 3] [§5 4] [§7 404]`, async () => {
    const rule = RULES[procedure]!;
    for (const action of Object.values(rule.actions)) {
      expect(await tryAction("trpc", procedure, rule, action)).toEqual([]);
    }
  });
}

test("GET /v1/events lets in an account alone [§4 Event stream] [§5 1] [§5 4]", async () => {
  for (const { name, header, is } of holders.credentials) {
    const response = await fetch(`${app.url}/v1/events`, {
      ...(header !== null && { headers: { authorization: header } }),
    });
    const { status, headers } = response;
    if (is?.kind === "account") {
      expect([name, status, headers.get("content-type")]).toEqual([name, 200, "text/event-stream"]);
      await response.body!.cancel();
    } else {
      const text = await response.text();
      const right = is ? "forbidden" : "unauthorized";
      expect([name, ...faultsOf({ status, headers, text }, right)]).toEqual([name]);
    }
  }
});
