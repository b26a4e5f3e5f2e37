/** Decides whether a channel's settings want a message (§19.1.2); pure. */

import type { Sends } from "../../model/channel.ts";
import type { Task } from "../../model/task.ts";

const PRIORITIES: readonly Task["priority"][] = ["low", "medium", "high", "urgent"];

/** True if a task of this priority is important enough. */
export const isImportant = (priority: Task["priority"], least: Task["priority"]): boolean =>
  PRIORITIES.indexOf(priority) >= PRIORITIES.indexOf(least);

/** True if the settings want an event; they limit only tasks and questions. `data`: its JSON text. */
export function isWanted(
  { type, data }: { readonly type: string; readonly data: string },
  settings: { readonly sends: Sends; readonly min_priority: Task["priority"] },
): boolean {
  if (type.startsWith("question.")) return settings.sends.includes("questions");
  if (!type.startsWith("task.")) return true;
  if (!settings.sends.includes("tasks")) return false;
  if (settings.min_priority === "low") return true;
  // The event of a deletion has nothing but the id of the task.
  const { task } = JSON.parse(data) as { readonly task?: Pick<Task, "priority"> };
  return task === undefined || isImportant(task.priority, settings.min_priority);
}
