/** The tables of docs/interface.md and docs/configuration.md whose cells come from the code. */

import { z } from "zod";
import { CONFIG } from "../../src/config.ts";
import { ERRORS } from "../../src/errors.ts";
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
import { jsonOf, PROCEDURES, resourceOf, responseOf, type Schema, typeOf } from "./wording.ts";

/** Cells by column, as Markdown. A function gets the cell as it is written; columns left out stay as written. */
export type Cells = Readonly<Record<string, string | ((written: string) => string)>>;

export interface Source {
  /** Whether the table belongs to this section or clause, whose heading is `title`. Several tables share the rows. */
  readonly isAt: (clause: string, title: string) => boolean;
  /** The columns that identify a row, from the first one on. */
  readonly key: readonly string[];
  readonly rows: readonly Cells[];
}

/** Stands for a cell of a new row that somebody has to write; a guard refuses it. */
export const UNWRITTEN = "?";

const code = (text: string) => (text === "" ? "" : `\`${text}\``);
const at = (number: string) => (clause: string) => clause === number;
const within = (section: string) => (clause: string) => clause.split(".")[0] === section;

// --- routes

/** The routes that are not procedures, with their credential and clause. */
export const FIXED_ROUTES: readonly (readonly [
  route: string,
  credential: string,
  clause: string,
])[] = [
  ["GET /v1/events", "account", "7.1.1"],
  ["GET /v1/openapi.json", "none", "5.12.2"],
  ["GET /health", "none", "5.12.1"],
  ["GET /health/live", "none", "5.12.1"],
  ["POST /mcp", "key", "12.1.1"],
];

const routeCells = (route: string) => {
  const [method, path] = route.split(" ") as [string, string];
  return { Method: method, Path: code(path) };
};

const CREDENTIALS = {
  none: "none",
  account: "account",
  key: "key",
  any: "account or key",
} as const;

/** `clauseOf`: the clause whose heading names a route. */
const routes = (clauseOf: (route: string) => string): Source => ({
  isAt: at("5.1.1"),
  key: ["Method", "Path"],
  rows: [
    ...PROCEDURES.map(({ name, meta, route, output }) => ({
      ...routeCells(route),
      Credential: CREDENTIALS[meta.access ?? "none"],
      Success: meta.may_exist ? `${meta.status} or 200` : String(meta.status ?? 200),
      Response: output instanceof z.ZodVoid ? "" : code(responseOf(jsonOf(output, "output"))),
      Codes: (meta.errors ?? []).map(code).join(", "),
      Procedure: code(name),
      Clause: clauseOf(route),
    })),
    ...FIXED_ROUTES.map(([route, Credential, Clause]) => ({
      ...{ ...routeCells(route), Credential, Success: "200", Codes: "", Procedure: "", Clause },
    })),
  ],
});

/** The tables of body fields and parameters of each route. */
const fields: readonly Source[] = PROCEDURES.flatMap(({ route, meta, input }) => {
  const { properties = {}, required = [] } = jsonOf(input, "input") as Schema;
  const in_path = [...meta.openapi.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
  const rest = Object.entries<Schema>(properties).filter(([name]) => !in_path.includes(name));
  const isQuery = (name: string) =>
    meta.openapi.method === "GET" || meta.query?.includes(name) === true;
  const isAt = (_: string, title: string) => title.endsWith(`\`${route}\``);
  const body = rest.filter(([name]) => !isQuery(name));
  const query = rest.filter(([name]) => isQuery(name));
  return [
    {
      ...{ isAt, key: ["Body field"] },
      rows: body.map(([name, schema]) => ({
        ...{ "Body field": code(name), Type: typeOf(schema) },
        Required: required.includes(name) ? "yes" : "no",
      })),
    },
    {
      ...{ isAt, key: ["Parameter"] },
      rows: query.map(([name, schema]) => ({
        ...{ Parameter: code(name), Type: typeOf(schema).replace(/^array of one of /, "list of ") },
      })),
    },
  ];
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

const resources: readonly Source[] = Object.entries(RESOURCES).map(([section, schema]) => ({
  ...{ isAt: at(section), key: ["Field"] },
  rows: resourceOf(schema).map(([name, Type]) => ({ Field: code(name), Type })),
}));

// --- limits

const UNITS: Readonly<Record<string, number>> = {
  ...{ "": 1, s: 1, bytes: 1, h: 3_600, days: 86_400 },
  ...{ KiB: 1024, MiB: 1024 * 1024 },
};

/** The value in the unit in which it is written, as far as it is a whole number there. */
function valueIn(name: string, value: number, written: string): string {
  const unit = /[a-zA-Z]+$/.exec(written)?.[0] ?? "";
  // The name of a limit in days says so.
  const factor = unit === "days" && name.endsWith("_days") ? 1 : (UNITS[unit] ?? 1);
  const whole = value % factor === 0;
  const shown = (whole ? value / factor : value).toLocaleString("en");
  return [shown, whole ? unit : factor < 3_600 ? "bytes" : "s"].filter(Boolean).join(" ");
}

const limitsOf = (section: string, limits: Readonly<Record<string, number>>): Source => ({
  ...{ isAt: within(section), key: ["Limit"] },
  rows: Object.entries(limits).map(([name, value]) => ({
    Limit: code(name),
    Value: (written) => valueIn(name, value, written),
  })),
});

// --- all

const named = <Value>(
  of: Readonly<Record<string, Value>>,
  cells: (name: string, value: Value) => Cells,
) => Object.entries(of).map(([name, value]) => cells(name, value));

/** The sources of docs/interface.md. `clauseOf`: the clause whose heading names a route. */
export const interfaceTables = (clauseOf: (route: string) => string): readonly Source[] => [
  routes(clauseOf),
  ...fields,
  {
    ...{ isAt: at("8.1"), key: ["Method", "Path"] },
    rows: PROCEDURES.filter(({ meta }) => meta.accepts_idempotency_key).map(({ route }) =>
      routeCells(route),
    ),
  },
  ...resources,
  {
    ...{ isAt: at("9.2.1"), key: ["Status", "Code"] },
    rows: named(ERRORS, (name, kind) => ({
      ...{ Status: String(kind.status), Code: code(name) },
      Retry: "retry_after" in kind ? "yes" : "no",
    })),
  },
  limitsOf("10", LIMITS),
  limitsOf("14", NOTIFICATION_LIMITS),
  limitsOf("19", { ...WEBHOOK_LIMITS, ...REPLY_LIMITS }),
  {
    ...{ isAt: at("10.6.1"), key: ["Name"] },
    rows: named(RATES, (name, { quota, window }) => ({
      ...{ Name: code(name), Burst: String(quota) },
      Window: `${window.toLocaleString("en")} s`,
    })),
  },
  {
    ...{ isAt: at("7.2"), key: ["Event"] },
    rows: named<z.ZodType>(EVENTS, (name, schema) => ({
      ...{ Event: code(name), Data: code(responseOf(jsonOf(schema, "output"))) },
    })),
  },
  {
    ...{ isAt: at("12.3.1"), key: ["Tool"] },
    rows: PROCEDURES.filter(({ meta }) => meta.mcp).map(({ meta, route, output }) => {
      const { name, defaults = {} } = meta.mcp!;
      const own = Object.entries(defaults).map(
        ([field, value]) => `\`${field}\` is ${value} by default`,
      );
      if (output instanceof z.ZodVoid) own.push("result `{done: true}`");
      return { Tool: code(name), Route: code(route), "Differs in": own.join(", ") };
    }),
  },
  {
    ...{ isAt: at("12.5.2"), key: ["Number", "Name"] },
    rows: Object.entries(RPC)
      // The protocol library turns it into invalid_params.
      .filter(([name]) => name !== "resource_not_found")
      .map(([name, number]) => ({ Number: String(number), Name: code(name) })),
  },
];

/** The source of docs/configuration.md. */
export const CONFIGURATION: Source = {
  ...{ isAt: () => true, key: ["Variable"] },
  rows: named(CONFIG, (name, { doc, schema }) => {
    const standard = schema.parse(undefined);
    return {
      ...{ Variable: code(name), Description: doc },
      Default: code(standard === undefined ? "" : String(standard)),
    };
  }),
};
