/** Inbox items for the webhook of their key (§5.9.5). */

import { type ItemRow, itemById, markOneRead, taskOf } from "../../db/inbox.ts";
import type { Statement } from "../../db/store/store.ts";
import { ServiceError } from "../errors.ts";
import type { ItemPosts } from "../notify/webhooks/worker.ts";
import { tasksOf, toItem } from "./inbox.ts";
import type { ServiceDeps } from "./shared/deps.ts";
import type { Tasks } from "./tasks.ts";

type InboxPostsDeps = Pick<ServiceDeps, "store" | "commit" | "clock" | "ids"> & {
  readonly tasks: Pick<Tasks, "seen">;
};

export function createInboxPosts({ store, commit, clock, ids, tasks }: InboxPostsDeps): ItemPosts {
  const find = async (id: string, account_id: string): Promise<ItemRow | null> => {
    const [row] = await store.read(itemById({ id, account_id }));
    return row?.item.read_at === null ? row : null;
  };

  /** Marks the task of the item as seen by its agent, unless the task or the key is gone. */
  const see = async (row: ItemRow): Promise<void> => {
    const task = taskOf(row);
    if (!task) return;
    const { account_id } = row;
    const agent = { kind: "key", account_id, key_id: row.item.key_id, credential: "" } as const;
    await tasks.seen(agent, [task]).catch((error: unknown) => {
      if (!(error instanceof ServiceError && GONE.includes(error.code))) throw error;
    });
  };

  return {
    async read({ id, account_id }) {
      const row = await find(id, account_id);
      if (!row) return null;
      const item = toItem(row, tasksOf([row]));
      return { type: item.type, created_at: item.created_at, data: JSON.stringify({ item }) };
    },

    async taken({ id, account_id }, statements) {
      const row = await find(id, account_id);
      if (row) await see(row);
      const { key_id } = row?.item ?? {};
      const revision = ids.unique();
      const mark: Statement = markOneRead({ id, read_at: clock.now(), revision });
      const changed = { table: "items", id, revision } as const;
      await commit({
        statements: [mark, ...statements],
        events: [],
        inbox: key_id === undefined ? null : { account_id, key_id, changed },
      });
    },
  };
}

/** Codes of the errors for a task, or a key, that is gone. */
const GONE: readonly string[] = ["not_found", "unauthorized"];
