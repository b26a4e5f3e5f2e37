/**
 * Prints the SQL of every statement in db as a JSON list. Runs as a separate process, so that statements
 * built by tests are not included.
 */

import { Glob } from "bun";
import { questionList, questionPosition } from "../../db/question-list.ts";
import { STATEMENT_TEXTS } from "../../db/store/statement.ts";
import { taskPage, taskPosition } from "../../db/tasks.ts";
import { QUESTION_STATUSES } from "../../src/model/question.ts";
import { TASK_STATUSES } from "../../src/model/task.ts";

const root = new URL("../../db/", import.meta.url);
for await (const file of new Glob("**/*.ts").scan(root.pathname)) {
  await import(new URL(file, root).href);
}

// Queries of lists are built when first read: one of each shape.
for (const scope of ["key", "account"] as const) {
  for (const narrowed of [false, true]) {
    const base = { scope, owner: "", after: null, limit: 1 };
    for (const down_to of [null, { updated_at: 0, id: "" }]) {
      const priorities = narrowed ? (["low"] as const) : null;
      const filter = { ...base, statuses: TASK_STATUSES, priorities, down_to };
      taskPage(filter, { inline_bytes: 1 });
      taskPosition(filter, 1);
    }
    const task_id = narrowed ? "" : null;
    for (const down_to of [null, { created_at: 0, id: "" }]) {
      const filter = { ...base, statuses: QUESTION_STATUSES, task_id, now: 0, down_to };
      for (const words of [null, ["a"], ["a", "é"]]) questionList({ ...filter, words });
      questionPosition({ ...filter, words: null }, 1);
    }
  }
}

process.stdout.write(JSON.stringify([...STATEMENT_TEXTS]));
