/** `docs/interface.md` says what the code does: routes, fields, limits, errors, events, variables. */

import { expect, test } from "bun:test";
import { z } from "zod";
import { ERRORS, type ErrorCode } from "../../src/errors.ts";
import { LIMITS, RATES } from "../../src/limits.ts";
import { RPC } from "../../src/mcp/result.ts";
import { Account } from "../../src/model/account.ts";
import { Approval, Authorization, Grant } from "../../src/model/authorization.ts";
import { Channel } from "../../src/model/channel.ts";
import { Delivery, Reach } from "../../src/model/delivery.ts";
import { Device } from "../../src/model/device.ts";
import { EVENTS } from "../../src/model/event.ts";
import { Agent, Item } from "../../src/model/item.ts";
import { Key, KeyWebhook } from "../../src/model/key.ts";
import { Pairing } from "../../src/model/pairing.ts";
import { Question } from "../../src/model/question.ts";
import { ActivityEntry } from "../../src/model/request-log.ts";
import { Session } from "../../src/model/session.ts";
import { Task } from "../../src/model/task.ts";
import { HistoryEntry } from "../../src/model/task-history.ts";
import {
  NOTIFICATION_LIMITS,
  REPLY_LIMITS,
  WEBHOOK_LIMITS,
} from "../../src/notification-limits.ts";
import { hasClause, namesIn, readDocument, rowsWith } from "./document.ts";
import { jsonOf, PROCEDURES, resourceOf, responseOf, type Schema, typeOf } from "./words.ts";

const root = new URL("../../", import.meta.url);
const document = await readDocument();

/** A route that is not a procedure: what the table says about it beside its clause. */
const FIXED_ROUTES = [
  "GET /v1/events account 200",
  "GET /v1/openapi.json none 200",
  "GET /health none 200",
  "GET /health/live none 200",
  "POST /mcp key 200",
];

const numeral = (value: number) => value.toLocaleString("en");

// --- routes

test("section 5.1 lists every route with its credential, status, response, codes and procedure", () => {
  const words = { none: "none", account: "account", key: "key", any: "account or key" } as const;
  const expected = PROCEDURES.map(({ name, meta, route, output }) => {
    const { access = "none", errors = [] } = meta;
    const status = meta.may_exist ? `${meta.status} or 200` : (meta.status ?? 200);
    const response = output instanceof z.ZodVoid ? "" : responseOf(jsonOf(output, "output"));
    return [route, words[access], status, response, [...errors].sort(), name].join(" | ");
  });
  const listed = rowsWith(document, "Method").filter(({ clause }) => clause === "5.1.1");
  const written = listed
    .filter(({ row }) => row.Procedure !== "")
    .map(({ row }) => {
      const codes = row.Codes === "" ? [] : namesIn(row.Codes!).sort();
      const { Method, Path, Credential, Success, Response, Procedure } = row;
      return [`${Method} ${Path}`, Credential, Success, Response, codes, Procedure].join(" | ");
    });
  expect(written.sort()).toEqual(expected.sort());
  const others = listed
    .filter(({ row }) => row.Procedure === "")
    .map(({ row: { Method, Path, Credential, Success } }) =>
      [Method, Path, Credential, Success].join(" "),
    );
  expect(others.sort()).toEqual([...FIXED_ROUTES].sort());
});

test("section 5.1 lists the routes that are not procedures", async () => {
  const source = await Bun.file(new URL("src/app.ts", root)).text();
  const paths = [...source.matchAll(/^ +"(\/[^"]+)": \{/gm)].map(([, path]) => path!);
  expect(paths.sort()).toEqual(FIXED_ROUTES.map((route) => route.split(" ")[1]!).sort());
});

test("the clause that section 5.1 names for a route is about that route", () => {
  const headings = new Map(
    [...document.text.matchAll(/^#### (\S+) .*`([A-Z]+ \/\S*)`$/gm)].map(([, clause, route]) => [
      route,
      clause,
    ]),
  );
  const listed = rowsWith(document, "Method").filter(({ row }) => row.Procedure);
  const expected = listed.map(({ row }) => [`${row.Method} ${row.Path}`, row.Clause]);
  const named = expected.map(([route]) => [route, headings.get(route)]);
  expect(named).toEqual(expected);
});

for (const { route, meta, input } of PROCEDURES) {
  test(`the tables of ${route} have exactly its body and query fields`, () => {
    const { properties = {}, required = [] } = jsonOf(input, "input") as Schema;
    const in_path = [...meta.openapi.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
    const rest = Object.entries<Schema>(properties).filter(([name]) => !in_path.includes(name));
    const takes_body = meta.openapi.method !== "GET";
    const isQuery = (name: string) => !takes_body || meta.query?.includes(name) === true;
    const fields = rest.filter(([name]) => !isQuery(name));
    const parameters = rest.filter(([name]) => isQuery(name));
    const here = ({ title }: { title: string }) => title.endsWith(`\`${route}\``);
    const body = rowsWith(document, "Body field").filter(here);
    const query = rowsWith(document, "Parameter").filter(here);
    const expected_body = fields.map(([name, schema]) => {
      return [name, typeOf(schema), required.includes(name) ? "yes" : "no"];
    });
    const expected_query = parameters.map(([name, schema]) => {
      return [name, typeOf(schema).replace(/^array of one of /, "list of ")];
    });
    const written_body = body.map(({ row }) => [row["Body field"], row.Type, row.Required]);
    const written_query = query.map(({ row }) => [row.Parameter, row.Type]);
    expect(written_body.sort()).toEqual(expected_body.sort());
    expect(written_query.sort()).toEqual(expected_query.sort());
    // The numbers and defaults of the schema match the table.
    for (const { row } of [...body, ...query]) {
      const name = (row["Body field"] ?? row.Parameter)!;
      const schema = { ...properties[name], ...properties[name]!.anyOf?.[0] } as Schema;
      const most = schema.maxLength ?? schema.maximum ?? schema.maxItems;
      if (most < Number.MAX_SAFE_INTEGER) expect(row.Description).toContain(` ${numeral(most)}`);
      const [, standard] = /[Dd]efault `?(\w+)/.exec(properties[name]!.description ?? "") ?? [];
      if (standard && row.Parameter) expect([name, row.Default]).toEqual([name, standard]);
    }
  });
}

test("section 8.1 lists the routes that accept an Idempotency-Key", () => {
  const expected = PROCEDURES.filter(({ meta }) => meta.accepts_idempotency_key).map(
    ({ route }) => route,
  );
  const written = rowsWith(document, "Method").filter(({ clause }) => clause === "8.1");
  expect(written.map(({ row }) => `${row.Method} ${row.Path}`).sort()).toEqual(expected.sort());
});

// --- resources

const RESOURCES: Readonly<Record<string, z.ZodType>> = {
  "2.1": Account,
  "2.2": Device,
  "2.3": Key,
  "2.4": Task,
  "2.5": Question,
  "2.6": Item,
  "2.7": Agent,
  "2.8": ActivityEntry,
  "2.9": Session,
  "2.10": Pairing,
  "2.11": Delivery,
  "2.12": Reach,
  "2.13": Grant,
  "2.14": Authorization,
  "2.15": Approval,
  "2.16": KeyWebhook,
  "2.17": HistoryEntry,
  "19.1": Channel,
};

for (const [section, schema] of Object.entries(RESOURCES)) {
  test(`section ${section} has the fields of its resource with their types`, () => {
    const rows = rowsWith(document, "Field").filter(({ clause }) => clause === section);
    const written = rows.map(({ row }) => [row.Field, row.Type] as [string, string]);
    expect(written).toEqual(resourceOf(schema));
  });
}

test("no section has a table of another resource", () => {
  const sections = new Set(rowsWith(document, "Field").map(({ clause }) => clause));
  expect([...sections]).toEqual(Object.keys(RESOURCES));
});

// --- errors, limits, events, tools, variables

const namesClause = (text: string, clause: string) =>
  hasClause(document, clause) && text.split(/[^\d.]+/).includes(clause);

test("section 9.2 lists every code with its status, its clause, and whether it says when to retry", () => {
  const expected = Object.entries(ERRORS).map(([code, kind]) => [
    String(kind.status),
    code,
    "retry_after" in kind ? "yes" : "no",
    kind.clause,
  ]);
  const rows = rowsWith(document, "Status").filter(({ clause }) => clause === "9.2.1");
  const written = rows.map(({ row: { Status, Code, Retry, Meaning } }) => {
    const { clause } = ERRORS[Code as ErrorCode];
    return [Status, Code, Retry, namesClause(Meaning!, clause) ? clause : Meaning];
  });
  expect(written).toEqual(expected);
});

const UNITS: Readonly<Record<string, number>> = {
  "": 1,
  s: 1,
  bytes: 1,
  h: 3_600,
  days: 86_400,
  KiB: 1024,
  MiB: 1024 * 1024,
};

function numberIn(name: string, text: string): number {
  const [, digits = "", unit = ""] = /^([\d,]+) ?(\w*)$/.exec(text) ?? [];
  // The name of a limit in days says so.
  const factor = unit === "days" && name.endsWith("_days") ? 1 : UNITS[unit];
  return digits === "" || factor === undefined ? NaN : Number(digits.replaceAll(",", "")) * factor;
}

test("sections 10, 14 and 19 list every limit that a client can observe, with its value", () => {
  const rows = rowsWith(document, "Limit").map(({ clause, row }) => {
    const name = row.Limit!;
    const [section] = clause.split(".");
    return { section, entry: [name, numberIn(name, row.Value!)] as const };
  });
  const written = (section: string) =>
    Object.fromEntries(rows.filter((row) => row.section === section).map(({ entry }) => entry));
  expect(written("10")).toEqual(LIMITS);
  expect(written("14")).toEqual(NOTIFICATION_LIMITS);
  expect(written("19")).toEqual({ ...WEBHOOK_LIMITS, ...REPLY_LIMITS });
  expect(rows.length).toBe(new Set(rows.map(({ entry: [name] }) => name)).size);
});

test("section 10.6 lists the rate limits", () => {
  const rows = rowsWith(document, "Name").filter(({ clause }) => clause === "10.6.1");
  const written = rows.map(({ row }) => [
    row.Name,
    { quota: Number(row.Burst), window: numberIn("", row.Window!) },
  ]);
  expect(Object.fromEntries(written)).toEqual(RATES);
});

test("section 7.2 lists every event with its data", () => {
  const expected = Object.entries(EVENTS).map(([name, schema]) => [
    name,
    responseOf(jsonOf(schema, "output")),
  ]);
  const written = rowsWith(document, "Event").map(({ row }) => [row.Event, row.Data]);
  expect(written).toEqual(expected);
});

test("section 12.3 lists every tool with its route and its own default", () => {
  const expected = PROCEDURES.filter(({ meta }) => meta.mcp).map(({ meta, route, output }) => {
    const { name, defaults = {} } = meta.mcp!;
    const own = Object.entries(defaults).map(
      ([field, value]) => `\`${field}\` is ${value} by default`,
    );
    if (output instanceof z.ZodVoid) own.push("result `{done: true}`");
    return [name, route, own.join(", ")];
  });
  const written = rowsWith(document, "Tool").map(({ row }) => [
    row.Tool,
    row.Route,
    row["Differs in"],
  ]);
  expect(written.sort()).toEqual(expected.sort());
});

test("section 12.5 lists the numbers of JSON-RPC errors", () => {
  const written = rowsWith(document, "Number").map(({ row }) => [row.Name, Number(row.Number)]);
  // The protocol library turns it into invalid_params.
  const { resource_not_found: _, ...expected } = RPC;
  expect(Object.fromEntries(written)).toEqual(expected);
});

// --- clauses

test("clauses are numbered in order, without a gap", () => {
  const faults: string[] = [];
  let before: number[] = [];
  for (const clause of document.clauses) {
    const now = clause.split(".").map(Number);
    const depth = now.length;
    const next = before.slice(0, depth);
    if (next.length === depth) next[depth - 1]!++;
    else next.push(1);
    if (next.join(".") !== clause) faults.push(`${clause} follows ${before.join(".")}`);
    before = now;
  }
  expect(faults).toEqual([]);
});

test("references within the document name clauses that it has", () => {
  const prose = document.text.replace(/`[^`\n]*`/g, "").replace(/^#+ \S+|^\*\*\S+\*\*/gm, "");
  const cited = [
    ...prose.matchAll(/(?<![\d.,v/-])\b(\d{1,2}\.\d{1,2}(?:\.\d{1,2})?)\b(?![\d.]*\d)/g),
  ];
  const named = [...prose.matchAll(/\bsections? (\d+)(?: and (\d+))?/g)].flat();
  const wrong = [
    ...cited.map(([, number]) => number!),
    ...named.filter((n) => /^\d+$/.test(n ?? "")),
  ].filter((number) => !hasClause(document, number));
  expect(wrong).toEqual([]);
  expect(cited.length).toBeGreaterThan(50);
});
