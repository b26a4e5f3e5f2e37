/** Reads the activity log of a key (interface.md §4 Activity log). */

import { activityPage } from "../../db/activity.ts";
import { LIMITS } from "../limits.ts";
import type { ActivityEntry } from "../model/activity.ts";
import type { AccountCaller } from "../model/caller.ts";
import { readCursor, writeCursor } from "./cursor.ts";
import type { ServiceDeps } from "./deps.ts";
import type { Keys } from "./keys.ts";

export type Activity = ReturnType<typeof createActivity>;

/** Seconds; later than any entry. */
const END_OF_TIME = 9_000_000_000_000;

interface Page {
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

export function createActivity({ store, clock, keys }: ServiceDeps & { readonly keys: Keys }) {
  return {
    /** Newest first; `404` for a key that the account does not have. */
    async list(caller: AccountCaller, key_id: string, page: Page) {
      const { limit = LIMITS.activity_page_default, cursor } = page;
      const bound_to = ["activity", caller.account_id, key_id];
      const after = cursor === undefined ? null : readCursor(cursor, bound_to);
      await keys.assertOwn(caller, key_id);
      const rows = await store.read(
        activityPage({
          key_id,
          account_id: caller.account_id,
          since: clock.now() - LIMITS.activity_retention,
          after_at: after ? after.at / 1000 : END_OF_TIME,
          after_id: after?.id ?? "",
          limit: limit + 1,
        }),
      );
      const items = rows
        .slice(0, limit)
        .map((row): ActivityEntry => ({ ...row, status: row.code === null ? "ok" : "error" }));
      const next = rows.length > limit ? items.at(-1)! : null;
      return {
        items,
        next_cursor: next && writeCursor({ at: Math.round(next.at * 1000), id: next.id }, bound_to),
      };
    },
  };
}
