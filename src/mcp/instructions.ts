/** The instructions that an agent gets when it connects, so that it uses the tools unasked. */

import type { Tools } from "./tools.ts";

/** Lines, each with the tool that it is about. */
const LINES: readonly (readonly [tool: string, line: string])[] = [
  [
    "create_task",
    "When you start a piece of work, look at list_tasks: if the person left a task for it, take that one, else call create_task. Set status in_progress.",
  ],
  [
    "update_task",
    "At each step call update_task with progress (0 to 100) and a one-line status_note, so that both stay true.",
  ],
  [
    "ask_question",
    "When only the person can decide or know, call ask_question with wait_seconds 50 instead of guessing; do not ask what you can find out or undo. They answer in seconds or in hours: while the question is pending, go on with work that does not depend on it, or wait with get_question. No answer is not a yes.",
  ],
  [
    "read_inbox",
    "When you start, and between steps, call read_inbox: the person may have changed a task or answered, or another agent written. An answer that a wait returned comes again there: act on it once.",
  ],
  [
    "update_task",
    "When the work ends, set status done, or cancelled with a status_note that says why. Leave no task in_progress that you do not work on.",
  ],
];

export function instructionsFor(tools: Tools): string {
  const lines = LINES.filter(([tool]) => tools.has(tool)).map(([, line]) => `- ${line}`);
  return [
    "Relay shows the person you work for what you do, and carries your questions to their phone.",
    ...lines,
    "- Timestamps (fields that end in _at) are Unix epoch seconds.",
  ].join("\n");
}
