/** Creates many tasks at once, where thousands of requests would prove no more. */

import { getTableColumns } from "drizzle-orm";
import { tasks } from "../../db/schema.ts";
import { openStore } from "../../db/store/open.ts";
import { p, sql } from "../../db/store/sql.ts";
import { statement } from "../../db/store/statement.ts";
import { systemClock } from "../../src/clock.ts";

/** Copies a key's only task, with new ids. */
export async function copyTask(
  database_url: string,
  key_id: string,
  copies: number,
): Promise<void> {
  const store = await openStore({ url: database_url, auth_token: undefined }, systemClock);
  const columns = Object.values(getTableColumns(tasks)).filter(({ name }) => name !== "id");
  const names = sql.raw(columns.map(({ name }) => name).join(", "));
  const copy = statement(sql`insert into tasks (id, ${names})
    with recursive n(i) as (select 1 union all select i + 1 from n where i < ${sql.raw(copies)})
    select substr(id, 1, 26) || printf('%010x', i), ${names} from tasks, n where key_id = ${p("key_id")}`);
  await store.write([copy({ key_id })]);
  await store.close();
}
