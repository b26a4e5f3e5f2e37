/** Entries of the request log: what a key requested, when, and how it ended (§2.8). */

import { z } from "zod";
import type { ServiceError } from "../errors.ts";
import type { KeyCaller } from "./caller.ts";
import { Client } from "./client.ts";
import { Timestamp } from "./text.ts";

const Surface = z.enum(["mcp", "rest"]).meta({ id: "ActivitySurface" });
const Status = z.enum(["ok", "error"]).meta({ id: "ActivityStatus" });

export const ActivityEntry = z
  .object({
    id: z.string(),
    at: Timestamp.meta({
      description: "When the request came; the first one, if `count` is above 1",
    }),
    surface: Surface,
    action: z.string().meta({ description: "Method and route, or the name of a tool" }),
    status: Status,
    code: z.string().nullable().meta({ description: "Null for `ok`" }),
    message: z.string().nullable(),
    duration_ms: z.int().min(0).meta({ description: "Milliseconds, any wait included" }),
    client: Client.nullable(),
    host: z.string().nullable(),
    count: z.int().min(1).meta({ description: "How many equal requests the entry stands for" }),
    last_at: Timestamp.meta({ description: "When the last of them came" }),
  })
  .meta({ id: "ActivityEntry" });
export type ActivityEntry = z.infer<typeof ActivityEntry>;

/** An entry as stored in a block: short, since every request writes one. Trailing nulls are left out. */
export type PackedEntry = readonly [
  at_ms: number,
  surface: ActivityEntry["surface"],
  action: string,
  duration_ms: number,
  code?: string | null,
  message?: string | null,
  host?: string | null,
  client?: ActivityEntry["client"],
  count?: number,
  last_at_ms?: number,
];

/** A request of a key that has ended, as a surface reports it. It has no content. */
export interface KeyRequest {
  readonly caller: KeyCaller;
  /** When it arrived, epoch seconds. */
  readonly at: number;
  readonly surface: ActivityEntry["surface"];
  /** Method and route with the names of its parameters, or the name of an MCP request or tool; never an id. */
  readonly action: string;
  /** Null when it succeeded. */
  readonly error: ServiceError | null;
  /** Milliseconds from its start to its response. */
  readonly duration_ms: number;
  /** The MCP `clientInfo`; null for REST. */
  readonly client: ActivityEntry["client"];
  readonly host: string | null;
}

export function packEntry(request: KeyRequest): PackedEntry {
  const { at, surface, action, duration_ms, error, host, client } = request;
  const at_ms = Math.round(at * 1000);
  if (!error && host === null && !client) return [at_ms, surface, action, duration_ms];
  const { code = null, summary = null } = error ?? {};
  if (client) return [at_ms, surface, action, duration_ms, code, summary, host, client];
  return [at_ms, surface, action, duration_ms, code, summary, host];
}

/** The newest entries of a key among which an equal one is sought: more than a client's loop has different requests. */
export const RECENT = 8;
/** Milliseconds within which equal requests become one entry. */
const TOGETHER = 3_600_000;

/** True for requests that differ only in their time and duration. */
const isEqual = (a: PackedEntry, b: PackedEntry): boolean =>
  a[2] === b[2] &&
  a[1] === b[1] &&
  (a[4] ?? null) === (b[4] ?? null) &&
  (a[5] ?? null) === (b[5] ?? null) &&
  (a[6] ?? null) === (b[6] ?? null) &&
  a[7]?.name === b[7]?.name &&
  a[7]?.version === b[7]?.version;

/** Counts a request in an equal one of the last entries, if that came up to an hour before; false if there is none. */
export function countRepeat(entries: PackedEntry[], next: PackedEntry): boolean {
  const [next_ms] = next;
  for (let i = entries.length - 1; i >= Math.max(0, entries.length - RECENT); i--) {
    const entry = entries[i]!;
    const [at_ms, surface, action, duration_ms, code = null, message = null] = entry;
    if (!isEqual(entry, next) || next_ms < at_ms || next_ms > at_ms + TOGETHER) continue;
    const [, , , , , , host = null, client = null, count = 1, last_at_ms = at_ms] = entry;
    const said = [at_ms, surface, action, duration_ms, code, message, host, client] as const;
    entries[i] = [...said, count + 1, Math.max(last_at_ms, next_ms)];
    return true;
  }
  return false;
}

/** False for an entry that a newer version wrote. */
export const isKnownEntry = ({ surface }: ActivityEntry): boolean =>
  Surface.safeParse(surface).success;

/** The entry at `place` in a block. Its id is the block's with the place in it, so ids sort as the entries do. */
export function unpackEntry(block_id: string, packed: PackedEntry, place: number): ActivityEntry {
  const [at_ms, surface, action, duration_ms] = packed;
  const [, , , , code = null, message = null, host = null, client = null] = packed;
  const [, , , , , , , , count = 1, last_at_ms = at_ms] = packed;
  return {
    id: `${block_id.slice(0, -4)}${(0x10000 + place).toString(16).slice(1)}`,
    at: at_ms / 1000,
    surface,
    action,
    status: code === null ? "ok" : "error",
    code,
    message,
    duration_ms,
    client,
    host,
    count,
    last_at: last_at_ms / 1000,
  };
}
