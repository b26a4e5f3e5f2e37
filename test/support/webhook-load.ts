/** Makes changes whose webhooks can be told apart, and checks that all of them arrived in order. */

import type { Send } from "./client.ts";
import type { Got } from "./receiver.ts";

/** One acknowledged change of a task. */
export interface Made {
  readonly task_id: string;
  /** Grows with each change of the task. */
  readonly progress: number;
}

/** Creates a task and changes it until the server goes away; acknowledged changes are added to `made`. */
export async function makeChanges(send: Send, made: Made[], changes = 3): Promise<void> {
  const create = await send("POST /v1/tasks", { title: "t" }).catch(() => null);
  if (create?.status !== 201) return;
  const task_id: string = create.body.id;
  made.push({ task_id, progress: 0 });
  for (let progress = 1; progress <= changes; progress++) {
    const change = await send(`PATCH /v1/tasks/${task_id}`, { progress }).catch(() => null);
    if (change?.status !== 200) return;
    made.push({ task_id, progress });
  }
}

/**
 * `missing`: acknowledged changes without a message. `disorder`: tasks whose messages arrived in another order
 * than their changes, or more than once with different ids.
 */
export function checkDelivered(made: readonly Made[], got: readonly Got[]) {
  /** A new task has no progress. */
  const progressOf = ({ data }: Got): number => data.task.progress ?? 0;
  const first = new Map<string, Got>();
  for (const one of got) {
    if (one.status === 200 && one.data.task && !first.has(one.id)) first.set(one.id, one);
  }
  const by_task = Map.groupBy(first.values(), ({ data }) => data.task.id as string);
  const missing = made.filter(
    ({ task_id, progress }) => !by_task.get(task_id)?.some((one) => progressOf(one) === progress),
  );
  const disorder = [...by_task].flatMap(([id, messages]) => {
    const values = messages.map(progressOf);
    const sorted = [...new Set(values)].sort((a, b) => a - b);
    return sorted.join() === values.join() ? [] : [`${id}: ${values.join()}`];
  });
  return { missing, disorder };
}

/** Sends messages to a key until the server goes away; ids of acknowledged messages are added to `said`. */
export async function sendMessages(
  send: Send,
  key_id: string,
  said: string[],
  messages = 4,
): Promise<void> {
  for (let i = 0; i < messages; i++) {
    const sent = await send("POST /v1/messages", { key_id, text: "m" }).catch(() => null);
    if (sent?.status !== 201) return;
    said.push(sent.body.id);
  }
}

/**
 * `missing`: acknowledged messages that were not posted. `disorder`: the posted messages, if their order differs
 * from the inbox's (ids, oldest first).
 */
export function checkPosted(
  said: readonly string[],
  inbox: readonly string[],
  got: readonly Got[],
) {
  const posted = [
    ...new Set(got.filter((one) => one.status === 200 && one.data.item).map(({ id }) => id)),
  ];
  const missing = said.filter((id) => !posted.includes(id));
  const ordered = inbox.filter((id) => posted.includes(id));
  return { missing, disorder: posted.join() === ordered.join() ? [] : posted };
}
