/** Finishes, cancels and deletes what the person chooses, so that it can be undone for some seconds. */

import { useMemo } from "react";
import {
  type Fault,
  faultOf,
  type Key,
  retryMessage,
  type Status,
  type Task,
} from "../state/api.ts";
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
  const changed: Task[] = [];
  const done = status === "done" ? "finished" : "cancelled";
  const failed = await sendEach(session, tasks, async ({ id: task_id }) => {
    const task = await calls.api.tasks.update.mutate({ task_id, status });
    store.put("tasks", task);
    changed.push(task);
    return null;
  });
  if (failed) toast(`${nounOf(failed.of)} not ${done}: ${failed.why}`, { bad: true });
  if (changed.length === 0) return;
  offer(session, changed, {
    title: `${nounOf(changed)} ${done}`,
    undo: async () => {
      const left = await sendEach(session, changed, async ({ id: task_id, updated_at }) => {
        const { api } = calls;
        // What the page showed may have been old: the server knows what the change replaced.
        const { items } = await api.tasks.history.query({ task_id, limit: 2 });
        const [last, before] = items;
        if (!before || last?.at !== updated_at || last.by !== "account") {
          return "It was changed meanwhile.";
        }
        const { status: was, progress } = before;
        store.put("tasks", await api.tasks.update.mutate({ task_id, status: was, progress }));
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
      const failed = await sendEach(session, things, send, retryMessage);
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
 * Sends the request of each, a few at once. `send` resolves to why nothing was sent, or null; `textOf` says what a fault
 * means. Resolves to what failed; null if nothing did.
 */
async function sendEach<One extends Task | Key>(
  { calls, ended }: Session,
  things: readonly One[],
  send: (one: One) => Promise<string | null>,
  textOf: (fault: Fault) => string = ({ message }) => message,
): Promise<Failed<One> | null> {
  const failed: [One, string][] = [];
  const left = [...things];
  const work = async () => {
    for (let one = left.shift(); one; one = left.shift()) {
      const of = one;
      const run = () => send(of);
      // Several could use up the quota: they wait for their turn.
      const sent = things.length === 1 ? run() : calls.pace.call(ended.signal, run);
      const why = await sent.catch((error) => textOf(faultOf(error)));
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
