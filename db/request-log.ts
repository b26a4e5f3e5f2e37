/** Queries on the request log. */

import { LIMITS } from "../src/limits.ts";
import type { PackedEntry } from "../src/model/request-log.ts";
import { request_log } from "./history-schema.ts";
import { p, sql } from "./store/sql.ts";
import { qb, select, statement } from "./store/statement.ts";
import type { Statement } from "./store/store.ts";

const kept = sql.raw(LIMITS.activity_per_key);

/** Entries of one key that are stored in one row: at least one, oldest first. */
export interface LogBlock {
  readonly id: string;
  readonly key_id: string;
  readonly entries: PackedEntry[];
}

/** Up to `limit` of the newest blocks of a key, which have at least as many entries. None once the key is deleted. */
export const logOfKey = select(
  qb.select({ id: request_log.id, entries: request_log.entries }).from(request_log),
  sql`where key_id = ${p("key_id")} and at >= ${p("since", request_log.at)}
      and exists (select 1 from keys where keys.id = ${p("key_id")}
        and keys.account_id = ${p("account_id")} and keys.deleted_at is null)
    order by at desc, id desc limit ${p("limit")}`,
);

const upsert = statement(
  sql`insert into request_log (id, key_id, at, size, entries)
    select value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4
    from json_each(${p("rows")})
    where exists (select 1 from keys where keys.id = value ->> 1 and keys.deleted_at is null)
    on conflict (key_id, at, id) do update set entries = excluded.entries`,
  { synced: false },
);

/** Writes the blocks of keys that are not deleted, also again with more requests counted in their entries. */
export function writeLogBlocks(blocks: readonly LogBlock[]): Statement {
  const rows = blocks.map(({ id, key_id, entries }) => {
    const [at_ms] = entries.at(-1)!;
    // As text within the text, which the store need not parse: several times as quick.
    return [id, key_id, at_ms, entries.length, JSON.stringify(entries)];
  });
  return upsert({ rows: JSON.stringify(rows) });
}

const trim = statement(
  sql`delete from request_log where rowid in (
    select rowid from (
      select old.rowid, sum(size) over (partition by key_id order by at desc, old.id desc) - size as newer
      from json_each(${p("key_ids")}) as k, request_log as old where key_id = k.value)
    where newer >= ${kept})`,
  { synced: false },
);

/** Removes blocks without any of their key's newest 200 entries. */
export function trimLogs(key_ids: readonly string[]): Statement {
  return trim({ key_ids: JSON.stringify(key_ids) });
}
