/** Writes the inbox item that tells an agent of a change by the account (§5.9.1). */

import { insertItem, mergeTaskUpdates } from "../../../db/inbox.ts";
import type { RowRevision } from "../../../db/outbox.ts";
import type { Statement } from "../../../db/store/store.ts";
import type { Item } from "../../model/item.ts";
import type { Task } from "../../model/task.ts";
import type { Change } from "./commit.ts";
import type { ServiceDeps } from "./deps.ts";

interface NewItem {
  readonly type: Exclude<Item["type"], "message">;
  readonly key_id: string;
  readonly account_id: string;
  readonly task_id: string | null;
  readonly question_id?: string;
  /** For `task.updated`: names of the changed fields. */
  readonly changes?: readonly string[];
  /** For `task.deleted`. */
  readonly last_task?: Task;
}

/** The part of a change that writes the item, in the batch of the change. */
type InboxWrite = Required<Pick<Change, "inbox">> & { readonly statements: readonly Statement[] };

const NO_ITEM: InboxWrite = { statements: [], inbox: null };

export function createInboxWriter({ ids, clock }: Pick<ServiceDeps, "ids" | "clock">) {
  return {
    /** `changed`: the row that changed. An `item` of null writes nothing. */
    write(
      changed: RowRevision & { readonly table: "tasks" | "questions" },
      item: NewItem | null,
    ): InboxWrite {
      if (!item) return NO_ITEM;
      const { type, key_id, account_id, task_id } = item;
      const id = ids.next("itm");
      const added = insertItem(
        { ...item, id, created_at: clock.now(), revision: ids.unique() },
        changed,
      );
      const merged =
        type === "task.updated" && task_id !== null
          ? mergeTaskUpdates({ id, key_id, task_id })
          : [];
      return { statements: [added, ...merged], inbox: { account_id, key_id, changed } };
    },
  };
}
