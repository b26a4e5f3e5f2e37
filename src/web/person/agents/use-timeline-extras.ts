/** What the timeline of an agent shows besides its tasks and questions: status notes, and messages to and from it. */

import { useRef } from "react";
import type { HistoryEntry, Item, Key, Task } from "../../state/api.ts";
import { useLoaded } from "../../ui/use-loaded.ts";
import { usePaced } from "../use-paced.ts";
import { useSession, useStore } from "../use-store.ts";

/** Tasks whose history is read, the last updated first, and entries of each. */
const TASKS = 10;
const ENTRIES = 50;
/** Other agents whose inboxes are read for messages from this one. */
const OTHERS = 10;
/** Seconds between two reads while tasks or inboxes keep changing. */
const PACE = 5;

/** A status note, from when it was set. */
export interface Note {
  readonly task_id: string;
  readonly at: number;
  readonly text: string;
  readonly by: HistoryEntry["by"];
}

/** The entries of a history, newest first, that set a note. */
function notesOf(task_id: string, items: readonly HistoryEntry[]): Note[] {
  return items.flatMap(({ at, by, status_note: text }, i) =>
    text !== null && text !== items[i + 1]?.status_note ? [{ task_id, at, text, by }] : [],
  );
}

/** The last updated tasks of an agent. */
function lastTasks(tasks: Iterable<Task>, key_id: string): Task[] {
  return [...tasks]
    .filter((task) => task.key_id === key_id)
    .sort((a, b) => b.updated_at - a.updated_at)
    .slice(0, TASKS);
}

export function useTimelineExtras(key_id: string) {
  const { api, store } = useSession();
  const version = usePaced(
    useStore(({ versions }) => versions.tasks),
    PACE,
  );
  const known = useRef(new Map<string, { readonly updated_at: number; readonly notes: Note[] }>());
  const notes = useLoaded(`${key_id} ${version}`, async () => {
    const tasks = lastTasks(store.all.tasks.values(), key_id);
    const read = await Promise.all(
      tasks.map(async ({ id, updated_at }) => {
        const before = known.current.get(id);
        if (before?.updated_at === updated_at) return [id, before] as const;
        const query = { task_id: id, limit: ENTRIES };
        // It may be deleted by now.
        const page = await api.tasks.history.query(query).catch(() => null);
        if (!page) return [id, before ?? { updated_at: 0, notes: [] }] as const;
        return [id, { updated_at, notes: notesOf(id, page.items) }] as const;
      }),
    );
    known.current = new Map(read);
    return read.flatMap(([, { notes }]) => notes);
  });

  const keys = useStore((one) => one.keys());
  // Changes with each event of an inbox.
  const changed = usePaced(
    useStore((one) =>
      inboxesOf(one.keys(), key_id)
        .map((id) => one.unreadOf(id) ?? "")
        .join(),
    ),
    PACE,
  );
  const loads = useStore((one) => one.loads());
  const messages = useLoaded(`${key_id} ${loads} ${changed}`, async () => {
    const found = await Promise.all(
      inboxesOf(keys, key_id).map((id) => api.inbox.ofKey.query({ key_id: id })),
    );
    const items: readonly Item[] = found.flatMap((inbox) => inbox.items);
    return items.filter(
      ({ type, key_id: to, from }) =>
        type === "message" && (to === key_id || from.key_id === key_id),
    );
  });
  return {
    notes: notes.value ?? NONE,
    messages: messages.value ?? NO_ITEMS,
    loadMessages: messages.load,
  };
}

/** The agents whose inboxes may have messages to or from an agent: itself, and the newest others. */
function inboxesOf(keys: readonly Key[], key_id: string): string[] {
  const others = keys.filter(({ id }) => id !== key_id);
  return [key_id, ...others.slice(0, OTHERS).map(({ id }) => id)];
}

const NONE: readonly Note[] = [];
const NO_ITEMS: readonly Item[] = [];
