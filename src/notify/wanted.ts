/** Whether a channel takes something, by its settings at this attempt, pure (docs/interface.md 19.1.2). */

import type { Sends } from "../model/channel.ts";
import type { Task } from "../model/task.ts";

const PRIORITIES: readonly Task["priority"][] = ["low", "medium", "high", "urgent"];

interface Settings {
  readonly sends: Sends;
  readonly min_priority: Task["priority"];
}

/** Whether a task of this priority is important enough. */
export function isImportant(
  priority: Task["priority"],
  { min_priority }: Pick<Settings, "min_priority">,
): boolean {
  return PRIORITIES.indexOf(priority) >= PRIORITIES.indexOf(min_priority);
}

/** `data`: JSON text of an event. What is about neither a task nor a question is always taken. */
export function isWanted(
  { type, data }: { readonly type: string; readonly data: string },
  settings: Settings,
): boolean {
  if (type.startsWith("question.")) return settings.sends.includes("questions");
  if (!type.startsWith("task.")) return true;
  if (!settings.sends.includes("tasks")) return false;
  if (settings.min_priority === "low") return true;
  // A deletion tells nothing of the task but its id.
  const { task } = JSON.parse(data) as { readonly task?: Pick<Task, "priority"> };
  return task === undefined || isImportant(task.priority, settings);
}
