/** The incrementally sorted lists equal lists sorted from scratch. */

import { expect, test } from "bun:test";
import fc from "fast-check";
import type { Task } from "../../src/web/state/api.ts";
import { createTaskOrder, PRIORITIES, STATUSES } from "../../src/web/state/task-order.ts";
import { SEED } from "../support/random.ts";

const fields = fc.record({
  status: fc.constantFrom(...STATUSES),
  priority: fc.constantFrom(...PRIORITIES),
  created_at: fc.integer({ min: 0, max: 3 }),
  updated_at: fc.integer({ min: 0, max: 3 }),
});
/** A task that is created, changed or deleted. */
const step = fc.record({ id: fc.integer({ min: 0, max: 8 }), task: fc.option(fields) });

test("after any sequence of changes each task list is sorted and complete", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const order = createTaskOrder();
      const all = new Map<number, Task>();
      for (const { id, task } of steps) {
        const before = all.get(id);
        if (task) {
          const next = { id: `tsk_${id}`, ...task } as Task;
          all.set(id, next);
          order.put(next, before);
        } else if (before) {
          all.delete(id);
          order.remove(before);
        }
      }
      for (const status of STATUSES) {
        const open = status === "todo" || status === "in_progress";
        const keys = (one: Task) =>
          open ? [PRIORITIES.indexOf(one.priority), -one.created_at] : [-one.updated_at];
        const wanted = [...all.values()]
          .filter((one) => one.status === status)
          .sort((a, b) => {
            const [x, y] = [keys(a), keys(b)];
            const at = x.findIndex((value, i) => value !== y[i]);
            return at < 0 ? b.id.localeCompare(a.id) : x[at]! - y[at]!;
          });
        expect(order.list(status)).toEqual(wanted);
      }
    }),
    { numRuns: 300, seed: SEED },
  );
});

test("a change that keeps a task's position does not change the list's version", () => {
  const order = createTaskOrder();
  const task = { id: "tsk_1", status: "todo", priority: "low", created_at: 1 } as Task;
  order.put(task, undefined);
  const version = order.version();
  order.put({ ...task, title: "b", updated_at: 2 }, task);
  expect(order.version()).toBe(version);
  expect(order.list("todo")[0]?.title).toBe("b");
});
