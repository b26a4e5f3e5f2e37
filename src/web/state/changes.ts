/** A change that waits until it can no longer be undone: what it is, and what it replaces and covers. */

import type { Status } from "./api.ts";
import type { Cover } from "./covers.ts";

export type ChangeAction = "finish" | "cancel" | "delete" | "delete agent";

/** One of the tasks of a change, or its agent. */
export interface Subject {
  readonly id: string;
  /** Its title or label, for the person: it may be gone by the time it is needed. */
  readonly name: string;
  /** Whether the task was open when the person decided. */
  readonly was_open?: boolean;
  /** A change of the same task that this one replaced: it is made if this one is undone. */
  readonly after?: "finish" | "cancel";
  /** The task's `updated_at` when it was sent, null for an agent; absent: nothing was sent. */
  readonly tried?: number | null;
  /** Why it was not changed: a message for the person. */
  readonly refused?: string;
}

export interface WaitingChange {
  readonly id: string;
  readonly action: ChangeAction;
  readonly subjects: readonly Subject[];
  /** When the person decided: epoch seconds of the server's clock. */
  readonly at: number;
  /** The tab in which it was made, which sends it when it is left. */
  readonly tab?: string;
  /** When it is sent: epoch seconds of this machine's clock, which all tabs share. */
  readonly due: number;
  /** Why the last attempt failed, while it will be repeated: a message for the person. */
  readonly failed?: string;
}

const ACTIONS: ReadonlySet<unknown> = new Set<ChangeAction>([
  "finish",
  "cancel",
  "delete",
  "delete agent",
]);

/** True for what {@link WaitingChange} says; another version of the page may have kept something else. */
export function isChange(kept: unknown): kept is WaitingChange {
  const { id, action, subjects, due } = Object(kept) as Partial<WaitingChange>;
  return (
    ACTIONS.has(action) &&
    typeof id === "string" &&
    typeof due === "number" &&
    Array.isArray(subjects) &&
    subjects.every((one) => typeof one?.id === "string" && typeof one.name === "string")
  );
}

/** The status that an action gives to a task. */
export const TARGETS = { finish: "done", cancel: "cancelled" } as const;

export const isOpen = (status: Status): boolean => status === "todo" || status === "in_progress";

/** True unless the subject was refused. */
export const waits = ({ refused }: Subject): boolean => refused === undefined;

/** True if the subject waits, and nothing was sent. */
export const isUntried = ({ tried, refused }: Subject): boolean =>
  tried === undefined && refused === undefined;

/** True if nothing of the change was sent. */
export const isUndoable = ({ subjects }: WaitingChange): boolean => subjects.every(isUntried);

/** The changes without what these subjects wait for or were refused. What was sent stays. */
export function without(
  changes: readonly WaitingChange[],
  subjects: readonly Pick<Subject, "id">[],
): readonly WaitingChange[] {
  const ids = new Set(subjects.map(({ id }) => id));
  const stays = (one: Subject) => !ids.has(one.id) || (waits(one) && !isUntried(one));
  return changes.map((one) => ({ ...one, subjects: one.subjects.filter(stays) }));
}

/** The subjects of a deletion, each with the waiting change of the same task that it replaces. */
export function replacing(
  changes: readonly WaitingChange[],
  subjects: readonly Subject[],
): readonly Subject[] {
  return subjects.map((subject) => {
    const before = changes.find(
      ({ action, subjects: of }) =>
        action in TARGETS && of.some((one) => one.id === subject.id && isUntried(one)),
    );
    return before ? { ...subject, after: before.action as keyof typeof TARGETS } : subject;
  });
}

/** The request that makes a change. */
export function callOf(action: ChangeAction, id: string) {
  if (action === "delete agent") return { procedure: "keys.delete", input: { key_id: id } };
  if (action === "delete") return { procedure: "tasks.delete", input: { task_id: id } };
  return { procedure: "tasks.update", input: { task_id: id, status: TARGETS[action] } };
}

/** The functions of the changes that wait: the store compares them, to show again only what is affected. */
const made = new Map<string, Cover>();

/** How a task is seen while it waits to be finished or cancelled. */
function coverOf(action: keyof typeof TARGETS, at: number): Cover {
  const name = `${action} ${at}`;
  const cover: Cover =
    made.get(name) ??
    ((task) => ({
      ...task,
      status: TARGETS[action],
      progress: action === "finish" ? 100 : task.progress,
      completed_at: action === "finish" ? at : null,
      updated_at: Math.max(task.updated_at, at),
      silent_since: null,
    }));
  made.set(name, cover);
  return cover;
}

/** What the views see while the changes wait. */
export function coversOf(changes: readonly WaitingChange[]): ReadonlyMap<string, Cover> {
  if (changes.length === 0) made.clear();
  const covers = new Map<string, Cover>();
  for (const { action, subjects, at } of changes) {
    for (const { id } of subjects.filter(waits)) {
      if (action === "delete" || action === "delete agent") covers.set(id, "hidden");
      else covers.set(id, coverOf(action, at));
    }
  }
  return covers;
}
