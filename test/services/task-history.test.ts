/** What the history of a task keeps, compared with a list of all entries. */

import { expect, test } from "bun:test";
import { LIMITS } from "../../src/limits.ts";
import { changeTask, newTask, TASK_STATUSES, type TaskPatch } from "../../src/model/task.ts";
import {
  changeHistory,
  type HistoryBlock,
  type HistoryEntry,
  newHistory,
  readBlock,
  readRecent,
} from "../../src/model/task-history.ts";
import { seeded } from "../support/random.ts";

interface Expected extends HistoryEntry {
  readonly only_progress: boolean;
}

const title =
  "the row of a task and its blocks have every entry once, whatever changes come [§5.5.7]";

test(
  title,
  seeded(title, async (random) => {
    const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)]!;
    for (let round = 0; round < 20; round++) {
      let now = 1_000;
      let task = newTask({ id: "t", key_id: "k", source: "app", host: null, now, title: "a" });
      let stored = newHistory(task);
      const blocks: HistoryBlock[] = [];
      const first = { at: now, by: "account", status: "todo", progress: null, status_note: null };
      const all = [{ ...first, only_progress: false } as Expected];
      for (let i = 0; i < 300; i++) {
        now += pick([0, 1, 9.999, 10, 60]);
        const patch: TaskPatch = {
          ...(random() < 0.2 && { status: pick(TASK_STATUSES) }),
          ...(random() < 0.7 && { progress: pick([null, 1, 2, 3]) }),
          ...(random() < 0.2 && { status_note: pick([null, "b", "c", "d".repeat(200)]) }),
          ...(random() < 0.2 && { title: pick(["a", "b"]) }),
        };
        const by = pick(["account", "key"] as const);
        const { task: next } = changeTask(task, patch, now);
        const changed = changeHistory(stored, task, next, by);
        const { status, progress, status_note, updated_at: at } = next;
        const only_progress = status === task.status && status_note === task.status_note;
        if (only_progress && progress === task.progress) expect(changed).toBeNull();
        else {
          const passed = Math.round((at - all[0]!.at) * 1000);
          if (only_progress && all[0]!.only_progress && passed < 10_000) all.shift();
          const party = by === "key" ? "agent" : "account";
          all.unshift({ at, by: party, status, progress, status_note, only_progress });
          stored = changed!.recent;
          if (changed!.moved) blocks.unshift(changed!.moved);
        }
        task = next;
      }
      const recent = readRecent(stored, task);
      const kept = [...recent.entries, ...blocks.flatMap(readBlock)];
      expect(kept).toEqual(
        all.map(({ only_progress: _, ...entry }, n) => ({ seq: all.length - n, entry })),
      );
      expect(recent.oldest).toBe(Math.max(1, all.length - LIMITS.history_per_task + 1));
      expect(stored.length).toBeWithin(1, 513);
    }
  }),
);

test("an entry of a newer version has its number and is not shown [§17.6]", () => {
  // A status and a party that are not known.
  const entries = "1 at \n2 ax50 note\n3 xt ";
  const read = readBlock({ seq: 7, entries });
  expect(read.map(({ seq, entry }) => [seq, entry?.at ?? null])).toEqual([
    [9, null],
    [8, null],
    [7, 0.001],
  ]);
});
