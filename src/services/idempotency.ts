/** Requests that a client may send again: what was done once is not done twice. */

import { idempotencyRecord, remember } from "../../db/idempotency.ts";
import type { Stamp } from "../../db/outbox.ts";
import type { Statement } from "../../db/store.ts";
import { fail } from "../errors.ts";
import type { Caller } from "../model/caller.ts";
import type { IdempotentRequest } from "../model/idempotency.ts";
import type { ServiceDeps } from "./deps.ts";

type RepeatableStamp = Stamp & { readonly table: "tasks" | "questions" | "items" };

/** Reads until a request counts as new. */
const LOOKS = 10;

export function createIdempotency({ store, clock }: Pick<ServiceDeps, "store" | "clock">) {
  /**
   * Id of the resource that the same request gave before; undefined when there was none.
   * `422 idempotency_mismatch` when its body was another.
   */
  const repeated = async (once: IdempotentRequest | null): Promise<string | undefined> => {
    if (!once) return undefined;
    const [row] = await store.read(idempotencyRecord({ id: once.id }));
    if (!row) return undefined;
    const [body, resource_id] = row as [string, string];
    if (body !== once.body) fail("idempotency_mismatch");
    once.replayed = true;
    return resource_id;
  };

  return {
    repeated,

    /**
     * As {@link repeated}, after a write that did nothing, perhaps since the request was done before: a
     * libSQL server may show other connections a commit a moment after a write has met it.
     */
    async repeatedMeanwhile(once: IdempotentRequest | null): Promise<string | undefined> {
      for (let look = 0; once && look < LOOKS; look++) {
        const id = await repeated(once);
        if (id !== undefined) return id;
      }
      return undefined;
    },

    /** What remembers the request in the batch of its change, with it or not at all. */
    done(once: IdempotentRequest | null, caller: Caller, stamp: RepeatableStamp): Statement[] {
      if (!once) return [];
      const { account_id } = caller;
      const key_id = caller.kind === "key" ? caller.key_id : null;
      const created_at = clock.now();
      return [remember(once, { resource_id: stamp.id, account_id, key_id, created_at }, stamp)];
    },
  };
}
