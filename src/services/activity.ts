/** Reads the activity log of a key (docs/interface.md 15). */

import { activityOfKey } from "../../db/activity.ts";
import { LIMITS } from "../limits.ts";
import { isKnownEntry, unpackEntry } from "../model/activity.ts";
import type { AccountCaller } from "../model/caller.ts";
import { readCursor, writeCursor } from "./cursor.ts";
import type { ServiceDeps } from "./deps.ts";
import type { Keys } from "./keys.ts";
import { endPage } from "./page.ts";

export type Activity = ReturnType<typeof createActivity>;

interface Page {
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

/** Compared as milliseconds, which have no fractions. */
const ms = (seconds: number) => Math.round(seconds * 1000);

export function createActivity({ store, clock, keys }: ServiceDeps & { readonly keys: Keys }) {
  return {
    /** Newest first; `404` for a key that the account does not have. */
    async list(
      caller: AccountCaller,
      key_id: string,
      page: Page,
      { page_bytes }: { readonly page_bytes: number },
    ) {
      const { limit = LIMITS.activity_page_default, cursor } = page;
      const bound_to = ["activity", caller.account_id, key_id];
      const after = cursor === undefined ? null : readCursor(cursor, bound_to);
      await keys.assertOwn(caller, key_id);
      const since = clock.now() - LIMITS.activity_retention;
      const blocks = await store.read(
        activityOfKey({
          key_id,
          account_id: caller.account_id,
          since,
          limit: LIMITS.activity_per_key,
        }),
      );
      const rest = blocks
        .flatMap(({ id, entries }) => entries.map((entry, i) => unpackEntry(id, entry, i)))
        .filter(isKnownEntry)
        .sort((a, b) => ms(b.at) - ms(a.at) || (a.id < b.id ? 1 : -1))
        .slice(0, LIMITS.activity_per_key)
        .filter(
          ({ at, id }) =>
            at >= since &&
            (after === null || ms(at) < after.at || (ms(at) === after.at && id < after.id)),
        );
      const items = endPage(rest, {
        limit,
        bytes: page_bytes,
        unitsOf: ({ client, host, message }) =>
          (client ? client.name.length + client.version.length : 0) +
          (host?.length ?? 0) +
          (message?.length ?? 0),
        recordOf: (entry) => entry,
      });
      const last = items.length < rest.length ? items.at(-1)! : null;
      return {
        items: [...items],
        next_cursor: last && writeCursor({ at: ms(last.at), id: last.id }, bound_to),
      };
    },
  };
}
