/**
 * A key never sees, names or changes what belongs to another key or account: every procedure is called with
 * every kind of credential, on resources of every owner. RULES gives the expected response.
 */

import { expect, test } from "bun:test";
import { startTestApp } from "../support/app.ts";
import {
  type Credential,
  createHolders,
  hasAccess,
  TARGETS,
  type Target,
} from "../support/credentials.ts";
import { nameOf, ROUTES } from "../support/routes.ts";
import { type Code, exchange, faultsOf } from "../support/wire.ts";
import { type Action, RULES, type Rule } from "./credentials.rules.ts";

const app = await startTestApp({ env: { VAPID_SUBJECT: "mailto:relay@example.com" } });
const holders = await createHolders(app.url);

/** The only correct response, from the order of the checks (§9.4). */
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
  if (action.names && !hasAccess(credential, target, action.by_account)) return "not_found";
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

/** Tries every combination for one action; returns the failures. */
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
      // Keeps the key below 20 pending questions.
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

test("every procedure has a rule, and admits the callers that its rule names [§4.1.3]", () => {
  const access = ROUTES.map((route) => [route.procedure, route.access]);
  const rules = Object.entries(RULES).map(([procedure, rule]) => [procedure, rule.access]);
  expect(Object.fromEntries(access)).toEqual(Object.fromEntries(rules));
});

for (const route of ROUTES) {
  const rule = RULES[route.procedure];
  for (const [clause, action] of Object.entries(rule?.actions ?? {})) {
    test(`${nameOf(route)} checks the caller and the owner of ${action.names ?? "its data"} ${clause} [§1.4.3] [§4.1.5]`, async () => {
      expect(await tryAction("rest", route.procedure, rule!, action)).toEqual([]);
    });
  }
}

/** One of each form: reads, changes, ends, lists, and one that names another resource. */
const SAMPLE = ["tasks.get", "tasks.update", "tasks.list", "tasks.create", "questions.ask"];
for (const procedure of [...SAMPLE, "questions.answer", "keys.delete", "accounts.get"]) {
  test(`/trpc ${procedure} checks the caller and the owner [§4.1.4] [§4.1.5] [§1.4.3]`, async () => {
    const rule = RULES[procedure]!;
    for (const action of Object.values(rule.actions)) {
      expect(await tryAction("trpc", procedure, rule, action)).toEqual([]);
    }
  });
}

test("only an account may call GET /v1/events [§7.1.1] [§4.1.1] [§4.1.5]", async () => {
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
