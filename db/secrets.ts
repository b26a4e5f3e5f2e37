/** Secrets of the service, made once and kept in the store (§12.2.1). */

import { secrets } from "./schema.ts";
import { p, sql } from "./store/sql.ts";
import { insertWhere, rowOf, statement } from "./store/statement.ts";
import type { Store } from "./store/store.ts";

const add = statement(sql`${insertWhere(secrets, sql`true`)} on conflict (name) do nothing`);
const find = statement(sql`select value from secrets where name = ${p("name")}`, {
  returns: rowOf<[value: string]>(),
});

const any = statement(sql`select name from secrets limit 1`, { returns: rowOf<[name: string]>() });

/** True until the first start on this store is complete, which makes the secrets last. Needs migrated tables. */
export const isNewStore = async (store: Pick<Store, "read">): Promise<boolean> =>
  (await store.read(any({}))).length === 0;

/** Returns the secret of this name. The first process that asks stores `fresh`, which every process then gets. */
export async function sharedSecret(store: Store, name: string, fresh: string): Promise<string> {
  const [known] = await store.read(find({ name }));
  if (known) return known[0];
  await store.write([add({ name, value: fresh })]);
  const [row] = await store.read(find({ name }));
  return row![0];
}
