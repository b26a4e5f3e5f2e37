/** Inboxes: read, acknowledge, wait, write messages, forget old items (§5.9). */

import {
  countUnread,
  deleteMarked,
  deleteRead,
  type ItemRow,
  insertMessage,
  itemById,
  itemPage,
  itemPosition,
  markRead,
  oldestUnread,
  oldUnread,
  taskOf,
  unreadItems,
} from "../../db/inbox.ts";
import type { Statement } from "../../db/store/store.ts";
import type { TaskRow } from "../../db/tasks.ts";
import { fail, failNotFound } from "../errors.ts";
import { LIMITS } from "../limits.ts";
import type { AccountCaller, Caller, KeyCaller } from "../model/caller.ts";
import { inboxOf } from "../model/event.ts";
import type { IdempotentRequest } from "../model/idempotency.ts";
import type { Agent, Item, MessageInput } from "../model/item.ts";
import { questionUnits } from "../model/question.ts";
import { storedTask, type Task, taskUnits } from "../model/task.ts";
import type { Keys } from "./keys.ts";
import { untilDecided } from "./shared/commit.ts";
import { CHECKED, type Confirm, type ServiceDeps } from "./shared/deps.ts";
import { createIdempotency } from "./shared/idempotency.ts";
import { endPage, type PageQuery, readCursor, writeCursor } from "./shared/list-page.ts";
import type { Tasks } from "./tasks.ts";

/** Items read at once: each may be 60 KiB, and a list page is bounded by bytes. */
const STRETCH = 34;

export type Inbox = ReturnType<typeof createInbox>;

interface ReadQuery {
  /** Seconds to wait for the first unread item; 0 does not wait. */
  readonly wait?: number | undefined;
  readonly limit?: number | undefined;
  /** True: the items stay unread. */
  readonly peek?: boolean | undefined;
  /** Id of an item: it and all older items become read first. */
  readonly ack?: string | undefined;
}

interface ReadOptions {
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
  /** False for HEAD, which marks nothing and does not wait. */
  readonly effects: boolean;
  /** Bytes of JSON for the items, at most; the other items stay unread. */
  readonly page_bytes: number;
  readonly confirmed?: Confirm;
}

interface InboxRead extends PageSize {
  readonly peek: boolean;
  readonly acked: number;
}

interface PageSize {
  readonly limit: number;
  readonly page_bytes: number;
}

type InboxDeps = ServiceDeps & {
  readonly keys: Keys;
  readonly tasks: Pick<Tasks, "seen">;
};

export function createInbox(deps: InboxDeps) {
  const { store, storage, commit, waits, clock, ids, assertLive, keys, tasks, notificationPlans } =
    deps;
  const idempotency = createIdempotency(deps);

  const unreadOf = async (key_id: string) => {
    const [[unread, unreceived] = [0, 0]] = await store.read(countUnread({ key_id }));
    return { unread, unreceived };
  };

  /** Marks the unread items from `first` to `last` as read. False if another reader took `first`. */
  const mark = (
    { account_id, key_id }: Pick<KeyCaller, "account_id" | "key_id">,
    { first, last }: { readonly first: string; readonly last: number },
    { forget = false, read_at = clock.now() } = {},
  ): Promise<boolean> => {
    const revision = ids.unique();
    return commit({
      statements: [markRead({ key_id, first, last, read_at, revision })],
      events: [],
      inbox: { account_id, key_id, changed: { table: "items", id: first, revision } },
      removals: forget ? [deleteMarked({ key_id, last, revision })] : [],
    });
  };

  /** The position of an item in this inbox; 0, which is before all items, if the inbox has no such item. */
  const positionOf = async (id: string | undefined, key_id: string): Promise<number> => {
    const [row] = id === undefined ? [] : await store.read(itemPosition({ id, key_id }));
    return row?.[0] ?? 0;
  };

  /** Reads rows in stretches until the list page is full by number or bytes. `read` gets the last position so far. */
  const readPage = async (
    { limit, page_bytes }: PageSize,
    read: (last: number | undefined, limit: number) => Statement<ItemRow>,
  ): Promise<{ readonly page: readonly ItemRow[]; readonly more: boolean }> => {
    const rows: ItemRow[] = [];
    for (;;) {
      const most = Math.min(STRETCH, limit + 1 - rows.length);
      const stretch = await store.read(read(rows.at(-1)?.seq, most));
      rows.push(...stretch);
      const recordOf = (row: ItemRow) => toItem(row, tasksOf([row]));
      const page = endPage(rows, { limit, bytes: page_bytes, unitsOf, recordOf });
      const more = page.length < rows.length;
      if (more || stretch.length < most) return { page, more };
    }
  };

  /**
   * Returns the unread items after the position `acked`, and marks them read; with `peek`, only those before it.
   * `confirmed`: read together with the items; if it throws, nothing is marked.
   */
  const lookOnce = (
    caller: KeyCaller,
    { peek, acked, ...size }: InboxRead,
    { effects, confirmed }: { readonly effects: boolean; readonly confirmed: Confirm },
  ): Promise<{ readonly items: Item[]; readonly none_left: boolean }> =>
    untilDecided(async () => {
      const { key_id } = caller;
      // Read before the items: if it is still unread when they are marked, nobody took any of them.
      const [oldest] = acked > 0 ? await store.read(oldestUnread({ key_id, last: acked })) : [];
      const unread = (last: number | undefined, limit: number) =>
        unreadItems({ key_id, after: last ?? acked, limit });
      // Both at once: one round trip.
      const [{ page: rows }] = await Promise.all([readPage(size, unread), confirmed()]);
      const last = peek || rows.length === 0 ? acked : rows.at(-1)!.seq;
      const seen = effects ? await seenBy(caller, rows) : tasksOf(rows);
      const first = oldest?.[0] ?? (peek ? undefined : rows[0]?.item.id);
      const read_at = clock.now();
      // Another reader took the first item: read again.
      if (first !== undefined && !(await mark(caller, { first, last }, { read_at }))) {
        return undefined;
      }
      const items = rows.map((row) => toItem(row, seen));
      return {
        items: peek ? items : items.map((item) => ({ ...item, read_at })),
        none_left: rows.length === 0 && first === undefined,
      };
    });

  /** The tasks of the items by id, after they are marked as seen by their agent. */
  const seenBy = async (caller: KeyCaller, rows: readonly ItemRow[]) => {
    const found = rows.map(taskOf).filter((row) => row !== null);
    const by_id = new Map<string, TaskRow>(found.map((row) => [row.task.id, row]));
    const seen = await tasks.seen(caller, [...by_id.values()]);
    return new Map(seen.map((task) => [task.id, task]));
  };

  return {
    /**
     * Returns the unread items, oldest first, and the number of items left unread. Without `peek` they become read,
     * each for one reader. `429 too_many_waits`.
     */
    async read(caller: KeyCaller, query: ReadQuery, options: ReadOptions) {
      const { signal, effects, page_bytes, confirmed = CHECKED } = options;
      const { key_id, account_id } = caller;
      const { wait = 0, limit = LIMITS.inbox_page_default, peek = false, ack } = query;
      const look = {
        limit,
        page_bytes,
        peek: peek || !effects,
        acked: effects ? await positionOf(ack, key_id) : 0,
      };
      const { items, none_left } =
        wait === 0 || !effects
          ? await lookOnce(caller, look, { effects, confirmed })
          : await waits.wait({
              owner: key_id,
              // The deletion of the key or the account ends the wait at once.
              subjects: [inboxOf(key_id), key_id, account_id],
              seconds: wait,
              signal,
              async read() {
                const recheck = () => assertLive(caller);
                const value = await lookOnce(caller, look, { effects, confirmed: recheck });
                return { value, done: value.items.length > 0 };
              },
            });
      const unread = none_left ? 0 : (await unreadOf(key_id)).unread;
      return { items, unread };
    },

    /** The inbox as the account sees it: read and unread items, newest first. `404 not_found` for the key. */
    async ofKey(
      caller: AccountCaller,
      key_id: string,
      query: PageQuery,
      { page_bytes }: Pick<ReadOptions, "page_bytes">,
    ) {
      const { account_id } = caller;
      const { limit = LIMITS.inbox_page_default, cursor } = query;
      const bound_to = ["inbox", account_id, key_id];
      const before =
        cursor === undefined ? Number.MAX_SAFE_INTEGER : readCursor(cursor, bound_to).at;
      await keys.find(caller, key_id);
      const { page, more } = await readPage({ limit, page_bytes }, (last, most) =>
        itemPage({ key_id, account_id, before: last ?? before, limit: most }),
      );
      const next = more ? page.at(-1)! : null;
      const now = tasksOf(page);
      return {
        items: page.map((row) => toItem(row, now)),
        ...(await unreadOf(key_id)),
        next_cursor: next && writeCursor({ at: next.seq, id: next.item.id }, bound_to),
      };
    },

    /** Sends a message to another agent. `404 not_found` for the key, `409 inbox_full` (§5.10.1(2)). */
    async send(
      caller: Caller,
      { key_id, text }: MessageInput,
      { idempotent_request }: { readonly idempotent_request: IdempotentRequest | null },
    ): Promise<Item> {
      const { account_id } = caller;
      const replay = async () => {
        const id = await idempotency.findResult(idempotent_request);
        if (id === undefined) return undefined;
        const [row] = await store.read(itemById({ id, account_id }));
        return row ? toItem(row, tasksOf([row])) : fail("not_found");
      };
      const before = await replay();
      if (before) return before;
      storage.assertRoom(account_id);
      const from = caller.kind === "key" ? await keys.find(caller, caller.key_id) : null;
      const row = {
        id: ids.next("itm"),
        key_id,
        account_id,
        type: "message" as const,
        from_key_id: from?.key.id ?? null,
        from_label: from?.key.label ?? null,
        text,
        created_at: clock.now(),
        revision: ids.unique(),
      };
      const changed = { table: "items", id: row.id, revision: row.revision } as const;
      const happened = await commit({
        statements: [
          insertMessage({ ...row, idempotency_id: idempotent_request?.id ?? null }),
          ...idempotency.record(idempotent_request, caller, changed),
        ],
        events: [],
        inbox: { account_id, key_id, changed },
        deliveries:
          caller.kind === "account" ? notificationPlans.ofAccountChange(account_id, changed) : [],
      });
      if (!happened) {
        const meanwhile = await replay();
        if (meanwhile) return meanwhile;
        await keys.find(caller, key_id);
        if (caller.kind === "key") fail("inbox_full");
        failNotFound("key_id");
      }
      const blank = { task_id: null, question_id: null, changes: [], last_task: null };
      return toItem(
        {
          seq: 0,
          item: { ...blank, ...row, read_at: null },
          task: { id: null },
          question: { id: null },
          account_id,
          silent_due_at: null,
          revision: row.revision,
          history: null,
        },
        new Map(),
      );
    },

    /** All agents of the account, newest first. */
    async agents(caller: KeyCaller): Promise<Agent[]> {
      const all = await keys.list(caller);
      return all.map(({ id, label, last_used_at }) => ({
        key_id: id,
        label,
        self: id === caller.key_id,
        last_used_at,
      }));
    },

    /**
     * Removes up to `limit` items whose retention is over at `now`, with an event where unread items are removed.
     * Returns how many it found (§5.9.3).
     */
    async forget(now: number, limit: number): Promise<number> {
      const days = (count: number) => now - count * 86_400;
      const [read] = await store.write([
        deleteRead({ before: days(LIMITS.read_item_days), limit }),
      ]);
      const unread = await store.read(oldUnread({ before: days(LIMITS.unread_item_days), limit }));
      const of_key = new Map<string, { account_id: string; first: string; last: number }>();
      for (const [key_id, account_id, id, seq] of unread) {
        const { first } = of_key.get(key_id) ?? { first: id };
        const last = Math.max(seq, of_key.get(key_id)?.last ?? 0);
        of_key.set(key_id, { account_id, first, last });
      }
      for (const [key_id, { account_id, ...range }] of of_key) {
        await mark({ account_id, key_id }, range, { forget: true });
      }
      return Math.max(read!.rows.length, unread.length);
    },
  };
}

/** The tasks of the items by id, as their rows have them. */
export function tasksOf(rows: readonly ItemRow[]): Map<string, Task> {
  const found = rows.map(taskOf).filter((row) => row !== null);
  return new Map(found.map(({ task }) => [task.id, task]));
}

/** UTF-16 units of the texts in an item, for {@link endPage}. */
function unitsOf({ item, task, question }: ItemRow): number {
  const shown = item.last_task ? storedTask(item.last_task) : task.id === null ? null : task;
  return (
    (item.text?.length ?? 0) +
    (item.from_label?.length ?? 0) +
    (shown ? taskUnits(shown) : 0) +
    (question.id === null ? 0 : questionUnits(question))
  );
}

/** An item from its row. `tasks`: its task, if it still exists. */
export function toItem({ item, question }: ItemRow, tasks: ReadonlyMap<string, Task>): Item {
  const { from_key_id, from_label, last_task, received_at, ...rest } = item;
  return {
    ...rest,
    ...(received_at != null && { received_at }),
    from:
      from_key_id === null
        ? { kind: "account" }
        : { kind: "key", key_id: from_key_id, label: from_label! },
    task: last_task ? storedTask(last_task) : (tasks.get(item.task_id ?? "") ?? null),
    question: question.id === null ? null : question,
  };
}
