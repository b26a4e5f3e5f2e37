/** Queries on open pages, by account and process (§5.7.9). */

import { pageProcesses } from "./notify/schema.ts";
import { p, sql } from "./store/sql.ts";
import { statement } from "./store/statement.ts";
import { IN_BACKGROUND, type Store } from "./store/store.ts";

const until = p("until", pageProcesses.until);
// A power cut ends all pages, so no write waits for the disk.
const UNSYNCED = { synced: false };

/** Begins the lease of a process, or extends it. */
export const beginPageLease = statement(
  sql`insert into page_processes (id, until) values (${p("process_id")}, ${until})
    on conflict (id) do update set until = excluded.until`,
  UNSYNCED,
);

/** Extends the lease of a process, unless another process has removed it. */
export const renewPageLease = statement(
  sql`update page_processes set until = ${until} where id = ${p("process_id")}`,
  UNSYNCED,
);

const names = sql`(select value from json_each(${p("accounts")}))`;

/** Adds `accounts` (JSON list of ids), which have a page in this process now, if the process has a lease. */
export const addOpenPages = statement(
  sql`insert into open_pages (account_id, process_id) select id, ${p("process_id")} from accounts
    where id in ${names} and deleted_at is null
      and exists (select 1 from page_processes where id = ${p("process_id")}) on conflict do nothing`,
  UNSYNCED,
);

/** Removes `accounts` (JSON list of ids), whose last page in this process is closed. */
export const removeOpenPages = statement(
  sql`delete from open_pages where process_id = ${p("process_id")} and account_id in ${names}`,
  UNSYNCED,
);

/** Removes all rows of a process that stops. */
export const endPageProcess = [
  statement(sql`delete from open_pages where process_id = ${p("process_id")}`, UNSYNCED),
  statement(sql`delete from page_processes where id = ${p("process_id")}`, UNSYNCED),
] as const;

const forget = [
  // The lease first: a process that was wrongly taken for dead then sees that, and writes all its pages again.
  statement(
    sql`delete from page_processes where until < ${p("before", pageProcesses.until)}`,
    UNSYNCED,
  ),
  statement(
    sql`delete from open_pages where rowid in (select rowid from open_pages
      where process_id not in (select id from page_processes) limit ${p("limit")})`,
    UNSYNCED,
  ),
];

/** Removes up to `limit` rows of processes whose lease ended before `before`; returns their number. */
export async function forgetOpenPages(store: Store, before: number, limit: number) {
  const results = await store.write(
    forget.map((step) => step({ before, limit })),
    IN_BACKGROUND,
  );
  return results[1]!.changes;
}
