/** Repeated requests with an `Idempotency-Key`: the change is made once (§8). */

import { idempotencyRecord, insertIdempotencyRecord } from "../../../db/idempotency.ts";
import type { RowRevision } from "../../../db/outbox.ts";
import type { Statement } from "../../../db/store/store.ts";
import { fail } from "../../errors.ts";
import type { Caller } from "../../model/caller.ts";
import type { IdempotentRequest } from "../../model/idempotency.ts";
import type { ServiceDeps } from "./deps.ts";

type CreatedRow = RowRevision & { readonly table: "tasks" | "questions" | "items" };

export function createIdempotency({ store, clock }: Pick<ServiceDeps, "store" | "clock">) {
  return {
    /**
     * Id of the resource that the same request created before, if any. Look again after a write that did nothing:
     * the request may have been done meanwhile. `422 idempotency_mismatch` if its body was different.
     */
    async findResult(request: IdempotentRequest | null): Promise<string | undefined> {
      if (!request) return undefined;
      const [row] = await store.read(idempotencyRecord({ id: request.id }));
      if (!row) return undefined;
      const [body, resource_id] = row as [string, string];
      if (body !== request.body) fail("idempotency_mismatch");
      request.replayed = true;
      return resource_id;
    },

    /** Records the request in the batch of its change. */
    record(request: IdempotentRequest | null, caller: Caller, changed: CreatedRow): Statement[] {
      if (!request) return [];
      const { account_id } = caller;
      const key_id = caller.kind === "key" ? caller.key_id : null;
      const created_at = clock.now();
      return [
        insertIdempotencyRecord(
          request,
          { resource_id: changed.id, account_id, key_id, created_at },
          changed,
        ),
      ];
    },
  };
}
