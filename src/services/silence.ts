/** Finds agents that have fallen silent while an update of their task is expected, and those that are back (§3.3). */

import {
  beginSilence,
  correctLastUse,
  dueTasks,
  endSilence,
  laterTasks,
  markSilent,
  moveDueTimes,
} from "../../db/silence.ts";
import { IN_BACKGROUND, type Statement } from "../../db/store/store.ts";
import { LIMITS } from "../limits.ts";
import { activeBefore, isExpected, silentAt } from "../model/silence.ts";
import type { Task } from "../model/task.ts";
import { eventOf } from "./shared/commit.ts";
import type { ServiceDeps } from "./shared/deps.ts";

/** Seconds between two looks of a process. */
export const LOOK_EVERY = 15;

const WATCH = {
  /** Seconds between two looks, above which the process counts as having been away. */
  gap: 3 * LOOK_EVERY,
  /** Seconds by which the clock may differ from the monotonic one between two looks. */
  jump: 30,
  /** Seconds that a task is left to another process, which may have watched for longer. */
  left: 60,
  /** Seconds by which clocks of processes may differ. */
  tolerance: 60,
  /** Tasks of one step. */
  step: 25,
  /** Changes that are written at once: each may plan deliveries to 20 channels, and writes of others wait for them. */
  at_once: 4,
  /** Tasks that have been due for longest, from which a step takes some of each account. */
  window: 1_000,
  /** Steps up to one that passes by the accounts of those before. Its window is as many tasks as a key may have. */
  passing: { every: 5, window: LIMITS.tasks_per_key },
  /** Tasks whose due time one look checks. */
  checked: 200,
} as const;

type DueTask = ReturnType<ReturnType<typeof dueTasks>["read"]>[number];

const ms = (seconds: number) => Math.round(seconds * 1000);

export function createSilenceWatch(deps: ServiceDeps) {
  const { store, commit, clock, ids, notificationPlans } = deps;
  /** The last look that succeeded; `since`: how long this process has watched without a gap. */
  let last: { readonly now: number; readonly elapsed: number; readonly since: number } | null =
    null;
  /** Accounts whose tasks the last steps had. */
  const served = new Set<string>();
  /** The due time up to which {@link checkLater} has checked. */
  let checked = 0;

  /** Since when this process has watched without a gap, in epoch seconds. */
  const watch = (now: number): number => {
    const elapsed = clock.elapsed();
    const passed = last === null ? 0 : elapsed - last.elapsed;
    const watched =
      last !== null && passed <= WATCH.gap && Math.abs(now - last.now - passed) <= WATCH.jump;
    const since = watched ? last!.since : now;
    last = { now, elapsed, since };
    return since;
  };

  const change = (
    row: DueTask,
    next: Pick<Task, "silent_since"> & { readonly silent_due_at: number | null },
    update: (values: Parameters<typeof endSilence>[0]) => Statement,
    changes: readonly string[],
  ): Promise<boolean> => {
    const { account_id, revision: old_revision } = row;
    const { id } = row.task;
    const revision = ids.unique();
    const changed = { table: "tasks", id, revision } as const;
    const task = { ...row.task, silent_since: next.silent_since };
    return commit({
      statements: [update({ id, old_revision, revision, ...next })],
      events: [eventOf(changed, "task.updated", account_id, { task })],
      deliveries:
        changes.length === 0
          ? []
          : notificationPlans.ofTask(
              account_id,
              { before: row.task, after: task, changes, by: "server" },
              changed,
            ),
    });
  };

  /** Corrects due times that a clock which was ahead has written, {@link WATCH.checked} at each look. */
  const checkLater = async (now: number): Promise<void> => {
    const limit = WATCH.checked;
    const rows = await store.read(laterTasks({ after: Math.max(checked, now), limit }));
    checked = rows.length < limit ? 0 : rows.at(-1)!.silent_due_at!;
    const moved = rows.flatMap(({ id, silent_due_at, silent_since, expect_update_within }) => {
      const latest = silent_since === null ? silentAt(now, expect_update_within ?? 0) : now;
      return silent_due_at! > latest + WATCH.tolerance
        ? [[id, ms(latest), ms(silent_due_at!)]]
        : [];
    });
    if (moved.length > 0) {
      await store.write([moveDueTimes({ rows: JSON.stringify(moved) })], IN_BACKGROUND);
    }
  };

  /** Decides about one step of tasks, without those of the accounts `passed`; true if more may be due. */
  const step = async (now: number, since: number, passed: readonly string[] = []) => {
    const { window } = passed.length > 0 ? WATCH.passing : WATCH;
    const at = { now, limit: WATCH.step, window, passed: JSON.stringify(passed) };
    const rows = await store.read(dueTasks(at));
    const moved: [id: string, due: number | null, before: number][] = [];
    const corrections: Statement[] = [];
    const changes: (() => Promise<boolean>)[] = [];
    const back = new Set<string>();
    for (const row of rows) {
      served.add(row.account_id);
      const { task, facts } = row;
      const silent_due_at = row.silent_due_at!;
      const move = (due: number | null) =>
        moved.push([task.id, due === null ? null : ms(due), ms(silent_due_at)]);
      const key_used = facts.last_used_at ?? 0;
      const credential_used = (facts.credential_used_at ?? 0) / 1000;
      const is_known = credential_used <= now + WATCH.tolerance;
      const used = Math.max(key_used, is_known ? credential_used : 0);
      if (!isExpected(task)) {
        move(null);
        continue;
      }
      const within = task.expect_update_within!;
      if (task.silent_since !== null) {
        // Only the use of its key makes a silent task due.
        back.add(task.key_id);
        const due = silentAt(Math.min(used, now), within);
        const next = { silent_since: null, silent_due_at: due };
        changes.push(() => change(row, next, endSilence, []));
        continue;
      }
      if (key_used > now + WATCH.tolerance) {
        corrections.push(
          ...correctLastUse({ id: task.key_id, wrong: key_used, last_used_at: now }),
        );
      }
      const active = Math.max(
        activeBefore(silent_due_at, within),
        Math.min(now, used),
        // One that has just expired may still be stored as pending.
        Math.min(now, (facts.pending_until ?? 0) / 1000),
        Math.min(now, (facts.ended_at ?? 0) / 1000),
      );
      const due = silentAt(active, within);
      if (due > now) move(due);
      else if (silentAt(since, within) <= now) {
        const begin = (values: Parameters<typeof endSilence>[0]) =>
          beginSilence({ ...values, key_id: task.key_id, last_used_at: used, now });
        const next = { silent_since: active, silent_due_at: null };
        changes.push(() => change(row, next, begin, ["silent"]));
      } else if (now - silent_due_at >= WATCH.left) move(silentAt(since, within));
    }
    const statements = [...corrections];
    if (moved.length > 0) statements.push(moveDueTimes({ rows: JSON.stringify(moved) }));
    if (statements.length > 0) await store.write(statements, IN_BACKGROUND);
    const done: boolean[] = [];
    while (changes.length > 0) {
      done.push(...(await Promise.all(changes.splice(0, WATCH.at_once).map((write) => write()))));
    }
    if (back.size > 0) {
      await store.write([markSilent({ keys: JSON.stringify([...back]), now })], IN_BACKGROUND);
    }
    const progress = moved.length > 0 || done.includes(true);
    return progress && (rows.length === WATCH.step || back.size > 0);
  };

  return {
    /**
     * Looks once at what is due. Nothing counts as silent for the time in which this process
     * did not watch: before its start, while it was suspended or the store was away, or when its clock was set.
     */
    async look(): Promise<void> {
      if (!store.usable()) {
        // The use of keys is not recorded.
        last = null;
        return;
      }
      const now = clock.now();
      let since = watch(now);
      try {
        await checkLater(now);
        for (let steps = 1; await step(now, since); steps++) {
          if (steps % WATCH.passing.every === 0) {
            await step(now, since, [...served]);
            served.clear();
          }
          // A look at many tasks may take longer than a gap, so each step counts as one.
          since = watch(clock.now());
        }
      } catch (error) {
        last = null;
        throw error;
      }
    },
  };
}
