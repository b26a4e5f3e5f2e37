/** Queries on what each `Idempotency-Key` did (§8). */

import type { IdempotentRequest } from "../src/model/idempotency.ts";
import { guardOf, perTable, type RowRevision } from "./outbox.ts";
import { pruner } from "./retention.ts";
import { idempotency } from "./schema.ts";
import { COUNTED, freed } from "./storage.ts";
import { p, sql } from "./store/sql.ts";
import { insertWhere, rowOf, statement } from "./store/statement.ts";
import type { Statement } from "./store/store.ts";

/** What the request `id` did: the digest of its body, and the id of the resource. */
export const idempotencyRecord = statement(
  sql`select body, resource_id from idempotency where id = ${p("id")}`,
  { returns: rowOf<[body: string, resource_id: string]>() },
);

/** True in SQL unless `idempotency_id` is recorded. It is null for a request without an `Idempotency-Key`. */
export function isFirstRequest() {
  return sql`not exists (select 1 from idempotency where id = ${p("idempotency_id")})`;
}

const insert = perTable(["tasks", "questions", "items"], (guard) =>
  statement(insertWhere(idempotency, guard), { counts: COUNTED.idempotency }),
);

interface Done {
  readonly resource_id: string;
  readonly account_id: string;
  readonly key_id: string | null;
  readonly created_at: number;
}

/** Records the request if the row has the revision `changed`, given earlier in the batch. */
export function insertIdempotencyRecord(
  { id, body }: Pick<IdempotentRequest, "id" | "body">,
  done: Done,
  changed: RowRevision & { readonly table: keyof typeof insert },
): Statement {
  return insert[changed.table]({ id, body, ...done, ...guardOf(changed) });
}

/** Forgets requests from before `before`. */
export const pruneIdempotency = pruner(
  sql`delete from idempotency where id in (select id from idempotency where created_at < ${p("before", idempotency.created_at)} limit ${p("limit")})
    ${freed("idempotency", sql`ifnull(key_id, account_id)`)}`,
  { frees: true },
);
