/** Finishes, cancels and deletes what the person chooses, so that it can be undone for some seconds. */

import { useMemo } from "react";
import { faultOf, type Key, retryMessage, type Status, type Task } from "../state/api.ts";
import type { Session } from "../state/session.ts";
import { isOpen } from "../state/task-order.ts";
import type { Change } from "../state/undo.ts";
import { toast } from "../ui/toast.tsx";
import { say } from "./questions/announcer.tsx";
import { useUndoable } from "./use-store.ts";

/** Requests at once. */
const AT_ONCE = 4;

const MEANWHILE: Readonly<Record<Status, string>> = {
  done: "It was finished meanwhile.",
  cancelled: "It was cancelled meanwhile.",
  todo: "It was reopened meanwhile.",
  in_progress: "It was reopened meanwhile.",
};

/** Ids of tasks and agents that are about to be deleted. */
export function useDeleting(): ReadonlySet<string> {
  const changes = useUndoable();
  return useMemo(() => new Set(changes.flatMap(({ make, ids }) => (make ? ids : []))), [changes]);
}

/** Sets the status of tasks at once. Resolves when the server has answered; tells the person what failed. */
export async function endTasks(
  session: Session,
  status: "done" | "cancelled",
  tasks: readonly Task[],
): Promise<void> {
  const { store, calls } = session;
  /** The tasks before, by those after the change. */
  const made = new Map<Task, Task>();
  const done = status === "done" ? "finished" : "cancelled";
  const failed = await sendEach(session, tasks, async ({ id: task_id }) => {
    const { api } = calls;
    const known = store.connection() === "live" ? store.all.tasks.get(task_id) : undefined;
    const before = known ?? (await api.tasks.get.query({ task_id }));
    const after = await api.tasks.update.mutate({ task_id, status });
    store.put("tasks", after);
    if (before.status !== status) made.set(after, before);
    return null;
  });
  if (failed) toast(`${nounOf(failed.of)} not ${done}: ${failed.why}`, { bad: true });
  if (made.size === 0) return;
  const changed = [...made.keys()];
  offer(session, changed, {
    title: `${nounOf(changed)} ${done}`,
    undo: async () => {
      const left = await sendEach(session, changed, async (after) => {
        const { id: task_id, status: was, progress } = made.get(after)!;
        const now = await calls.api.tasks.get.query({ task_id });
        store.put("tasks", now);
        if (now.updated_at !== after.updated_at) return "It was changed meanwhile.";
        const task = await calls.api.tasks.update.mutate({ task_id, status: was, progress });
        store.put("tasks", task);
        return null;
      });
      return left && `${nounOf(left.of)} not reopened: ${left.why}`;
    },
  });
}

/** Deletes tasks in some seconds, unless they were finished, cancelled or reopened by then. */
export function deleteTasks(session: Session, tasks: readonly Task[]): void {
  const { store, calls } = session;
  deleteLater(session, tasks, async ({ id: task_id, status }) => {
    const now = store.all.tasks.get(task_id);
    if (now && isOpen(now.status) !== isOpen(status)) return MEANWHILE[now.status];
    await calls.api.tasks.delete.mutate({ task_id });
    store.drop("tasks", task_id);
    return null;
  });
}

/** Deletes an agent in some seconds, with all that it has. */
export function deleteAgent(session: Session, agent: Key): void {
  const { store, calls } = session;
  deleteLater(session, [agent], async ({ id: key_id }) => {
    await calls.api.keys.delete.mutate({ key_id });
    store.drop("keys", key_id);
    return null;
  });
}

function deleteLater<One extends Task | Key>(
  session: Session,
  things: readonly One[],
  send: (one: One) => Promise<string | null>,
): void {
  const noun = nounOf(things);
  offer(session, things, {
    title: `Deleting ${noun.toLowerCase()}`,
    make: async () => {
      const failed = await sendEach(session, things, send);
      if (failed) toast(`${nounOf(failed.of)} not deleted: ${failed.why}`, { bad: true });
    },
  });
}

/** Offers to undo a change of these things, and says so. */
function offer(
  { undo }: Session,
  things: readonly (Task | Key)[],
  change: Pick<Change, "title" | "undo" | "make">,
): void {
  const name = things.length === 1 ? nameOf(things[0]!) : null;
  undo.add({ ...change, name, ids: things.map(({ id }) => id) });
  say(`${change.title}${name === null ? "" : `: ${name}`}. Press Control Z to undo.`);
}

interface Failed<One> {
  readonly of: readonly One[];
  /** The name of the first one, and why, for the person. */
  readonly why: string;
}

/**
 * Sends the request of each, a few at once. `send` resolves to why nothing was sent, or null. Resolves to what failed;
 * null if nothing did.
 */
async function sendEach<One extends Task | Key>(
  { calls, ended }: Session,
  things: readonly One[],
  send: (one: One) => Promise<string | null>,
): Promise<Failed<One> | null> {
  const failed: [One, string][] = [];
  const left = [...things];
  const work = async () => {
    for (let one = left.shift(); one; one = left.shift()) {
      const of = one;
      const run = () => send(of);
      // Several could use up the quota: they wait for their turn.
      const sent = things.length === 1 ? run() : calls.pace.call(ended.signal, run);
      const why = await sent.catch((error) => retryMessage(faultOf(error)));
      if (why !== null) failed.push([of, why]);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  const [first] = failed;
  return first ? { of: failed.map(([one]) => one), why: `${nameOf(first[0])}. ${first[1]}` } : null;
}

const nameOf = (one: Task | Key): string => ("title" in one ? one.title : one.label);

/** Such as `Task` or `3 tasks`. */
function nounOf(things: readonly (Task | Key)[]): string {
  if (things.some((one) => "label" in one)) return "Agent";
  return things.length === 1 ? "Task" : `${things.length} tasks`;
}
