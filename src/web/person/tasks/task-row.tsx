/** A row of the list of tasks, with a button that finishes the task. */

import { Ban, Check, Circle, CircleDashed, LoaderCircle } from "lucide-react";
import { memo } from "react";
import type { Priority, Status, Task } from "../../state/api.ts";
import { faultOf } from "../../state/api.ts";
import { AgoInLink } from "../../ui/ago.tsx";
import { classes } from "../../ui/classes.ts";
import { Badge, ProgressBar, type Tone } from "../../ui/parts.tsx";
import { OneLine } from "../../ui/prose.tsx";
import { momentOf } from "../../ui/time.ts";
import { toast } from "../../ui/toast.tsx";
import { useAction } from "../../ui/use-action.ts";
import { useNow } from "../../ui/use-now.ts";
import { labelOf, useKey, useSession, useTask } from "../use-store.ts";
import { PRIORITY_NAMES, STATUS_NAMES } from "../words.ts";

const TONES: Readonly<Record<Priority, Tone>> = {
  urgent: "danger",
  high: "warn",
  medium: "plain",
  low: "plain",
};

export function PriorityBadge({ priority }: { priority: Priority }) {
  return <Badge tone={TONES[priority]}>{PRIORITY_NAMES[priority]}</Badge>;
}

const MARKS: Readonly<Record<Status, { icon: typeof Circle; color: string }>> = {
  todo: { icon: Circle, color: "text-edge" },
  in_progress: { icon: CircleDashed, color: "text-accent" },
  done: { icon: Check, color: "text-ok" },
  cancelled: { icon: Ban, color: "text-faint" },
};

export const TaskRow = memo(({ id, search }: { id: string; search: string }) => {
  const task = useTask(id);
  if (!task) return null;
  const open = task.status === "todo" || task.status === "in_progress";
  return (
    <div className="relative mb-2 flex items-stretch overflow-hidden rounded-2xl border border-line bg-surface">
      <Mark task={task} open={open} />
      <a
        href={`#/tasks/${id}${search && `?${search}`}`}
        className="min-w-0 flex-1 py-3 pr-4 -outline-offset-4 hover:bg-sunken/50"
      >
        <p className="flex items-center gap-2">
          <bdi
            dir="auto"
            className={classes(
              "min-w-0 flex-1 truncate font-medium",
              task.status === "cancelled" && "text-soft line-through",
            )}
          >
            {task.title}
          </bdi>
          {open && task.priority !== "medium" && <PriorityBadge priority={task.priority} />}
        </p>
        <p className="mt-0.5 flex gap-2 text-faint text-sm">
          <Byline task={task} />
          {task.progress !== null && open ? (
            <span className="shrink-0 tabular-nums">{task.progress}%</span>
          ) : (
            <span className="shrink-0">
              <AgoInLink at={task.updated_at} />
            </span>
          )}
        </p>
        {task.progress !== null && task.status === "in_progress" && (
          <div className="absolute inset-x-0 bottom-0">
            <ProgressBar value={task.progress} label="Progress" thin />
          </div>
        )}
      </a>
    </div>
  );
});

function Byline({ task: { key_id, status_note, silent_since } }: { task: Task }) {
  const key = useKey(key_id);
  return (
    <span className="min-w-0 flex-1 truncate">
      {/* First, so that a long name does not push it out of the line. */}
      {silent_since && (
        <>
          <Silence since={silent_since} />
          {" · "}
        </>
      )}
      <bdi className="text-soft">{labelOf(key)}</bdi>
      {status_note !== null && (
        <>
          {" · "}
          <bdi dir="auto">
            <OneLine text={status_note} />
          </bdi>
        </>
      )}
    </span>
  );
}

function Silence({ since }: { since: number }) {
  const now = useNow(60);
  return <span className="text-warn">Silent since {momentOf(since, now)}</span>;
}

/** Status icon; for an open task it is the button that finishes it. */
function Mark({ task, open }: { task: Task; open: boolean }) {
  const { api, store } = useSession();
  const { busy, run } = useAction();
  const { icon: Icon, color } = MARKS[task.status];
  if (!open) {
    return (
      <span className="flex w-12 shrink-0 items-center justify-center">
        <Icon
          role="img"
          aria-label={STATUS_NAMES[task.status]}
          className={classes("size-5", color)}
        />
      </span>
    );
  }
  const finish = () =>
    run(async () => {
      try {
        const done = { task_id: task.id, status: "done" } as const;
        store.put("tasks", await api.tasks.update.mutate(done));
        toast("Task finished");
      } catch (error) {
        toast(faultOf(error).message, { bad: true });
      }
    });
  return (
    <button
      type="button"
      aria-label={`Finish: ${task.title}`}
      title="Finish"
      data-careful
      aria-disabled={busy || undefined}
      onClick={() => busy || void finish()}
      className={classes(
        "group flex w-12 shrink-0 items-center justify-center -outline-offset-4 hover:text-ok",
        color,
      )}
    >
      {busy ? (
        <LoaderCircle aria-hidden className="size-5 animate-spin" />
      ) : (
        <>
          <Icon aria-hidden className="size-5 group-hover:hidden" />
          <Check aria-hidden className="hidden size-5 group-hover:block" />
        </>
      )}
    </button>
  );
}
