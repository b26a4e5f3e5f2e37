/** Sends one waiting change, unless the task was changed meanwhile in a way that decides otherwise. */

import { faultOf, type Status, type Task } from "./api.ts";
import { type ChangeAction, isOpen, type Subject, TARGETS } from "./changes.ts";
import type { Calls } from "./pace.ts";
import type { Store } from "./store.ts";

const ENDS: Readonly<Record<Status, string>> = {
  done: "It was finished meanwhile.",
  cancelled: "It was cancelled meanwhile.",
  todo: "It was reopened meanwhile.",
  in_progress: "It was reopened meanwhile.",
};

/**
 * Why a task must not be changed, for the person; null if nothing speaks against it: it was finished,
 * cancelled or reopened since the person decided.
 */
export function whyNot(
  action: ChangeAction,
  { was_open, tried }: Pick<Subject, "was_open" | "tried">,
  { status }: Task,
): string | null {
  if (was_open === undefined || tried !== undefined || isOpen(status) === was_open) return null;
  return action !== "delete" && TARGETS[action as keyof typeof TARGETS] === status
    ? null
    : ENDS[status];
}

interface SendOptions {
  readonly action: ChangeAction;
  readonly subject: Subject;
  readonly calls: Calls;
  readonly store: Store;
  readonly ended: AbortSignal;
  /** False once the person has taken the change back. */
  readonly isWaiting: () => boolean;
  /** Called just before the request, with what {@link Subject} notes as `tried`. */
  readonly onTry: (tried: number | null) => void;
}

/**
 * Null once the server has made the change, or the person has taken it back; otherwise why it was not made,
 * for the person. Throws faults.
 */
export async function sendChange(options: SendOptions): Promise<string | null> {
  const { action, subject, calls, store, ended, isWaiting, onTry } = options;
  const { id, tried } = subject;
  const call = <Result>(run: () => Promise<Result>) => calls.pace.call(ended, run);
  /** Sends the request, unless the person has taken the change back while it waited for its turn. */
  const send = <Result>(run: () => Promise<Result>) =>
    call(async () => {
      if (!isWaiting()) return null;
      onTry(tried ?? store.held("tasks", id)?.updated_at ?? null);
      return run();
    });
  if (action === "delete agent") {
    await send(() => calls.api.keys.delete.mutate({ key_id: id }));
    if (isWaiting()) store.drop("keys", id);
    return null;
  }
  const held = store.held("tasks", id);
  const conflict = held ? whyNot(action, subject, held) : null;
  if (conflict !== null) return conflict;
  if (action === "delete") {
    await send(() => calls.api.tasks.delete.mutate({ task_id: id }));
    if (isWaiting()) store.drop("tasks", id);
    return null;
  }
  const status = TARGETS[action];
  if (held?.status === status) return null;
  try {
    if (tried !== undefined) {
      // The response was lost: a second request could overwrite a change that came after the first one.
      const task = await call(() => calls.api.tasks.get.query({ task_id: id }));
      store.put("tasks", task);
      if (task.status === status) return null;
      if (task.updated_at !== tried) return "It was changed meanwhile.";
    }
    const task = await send(() => calls.api.tasks.update.mutate({ task_id: id, status }));
    if (task) store.put("tasks", task);
    return null;
  } catch (error) {
    if (faultOf(error).code === "not_found") return "It no longer exists.";
    throw error;
  }
}
