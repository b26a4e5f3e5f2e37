/** A row of the list of tasks, with a button that finishes the task; while tasks are chosen, a checkbox. */

import { Ban, Check, Circle, CircleDashed, Square, SquareCheck } from "lucide-react";
import { memo, useState } from "react";
import type { Priority, Status, Task } from "../../state/api.ts";
import { isOpen } from "../../state/task-order.ts";
import { AgoInLink } from "../../ui/ago.tsx";
import { classes } from "../../ui/classes.ts";
import { Badge, ProgressBar, type Tone } from "../../ui/parts.tsx";
import { OneLine } from "../../ui/prose.tsx";
import { momentOf } from "../../ui/time.ts";
import { useNow } from "../../ui/use-now.ts";
import { endTasks } from "../changes.ts";
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

interface TaskRowProps {
  readonly id: string;
  /** Query of the address; kept while the task is open. */
  readonly search: string;
  /** Whether the task is chosen; null while tasks are not being chosen. */
  readonly chosen: boolean | null;
  /** Chooses the task, or not any more; with `range`, all from the last one to this. */
  readonly onChoose: (id: string, range: boolean) => void;
}

const ROW = "relative mb-2 flex w-full items-stretch overflow-hidden rounded-2xl border text-left";

export const TaskRow = memo(({ id, search, chosen, onChoose }: TaskRowProps) => {
  const task = useTask(id);
  if (!task) return null;
  const open = isOpen(task.status);
  if (chosen !== null) {
    const Icon = chosen ? SquareCheck : Square;
    return (
      // A checkbox of its own: browsers differ in whether a label passes a click with Shift on to its field.
      // biome-ignore lint/a11y/useSemanticElements: the whole row is the control.
      <button
        type="button"
        role="checkbox"
        aria-checked={chosen}
        aria-labelledby={`${id}-title`}
        data-task={id}
        onClick={({ shiftKey }) => onChoose(id, shiftKey)}
        className={classes(
          ROW,
          "select-none -outline-offset-4",
          chosen ? "border-accent bg-accent-soft" : "border-line bg-surface hover:bg-sunken/50",
        )}
      >
        <span className="flex w-12 shrink-0 items-center justify-center">
          <Icon aria-hidden className={classes("size-5", chosen ? "text-accent" : "text-edge")} />
        </span>
        <Content task={task} open={open} />
      </button>
    );
  }
  return (
    <div data-task={id} className={classes(ROW, "border-line bg-surface")}>
      <Mark task={task} open={open} />
      <a
        href={`#/tasks/${id}${search && `?${search}`}`}
        className="flex min-w-0 flex-1 -outline-offset-4 hover:bg-sunken/50"
      >
        <Content task={task} open={open} />
      </a>
    </div>
  );
});

function Content({ task, open }: { task: Task; open: boolean }) {
  return (
    <span className="block min-w-0 flex-1 py-3 pr-4">
      <span className="flex items-center gap-2">
        <bdi
          dir="auto"
          id={`${task.id}-title`}
          className={classes(
            "min-w-0 flex-1 truncate font-medium",
            task.status === "cancelled" && "text-soft line-through",
          )}
        >
          {task.title}
        </bdi>
        {open && task.priority !== "medium" && <PriorityBadge priority={task.priority} />}
      </span>
      <span className="mt-0.5 flex gap-2 text-faint text-sm">
        <Byline task={task} />
        {task.progress !== null && open ? (
          <span className="shrink-0 tabular-nums">{task.progress}%</span>
        ) : (
          <span className="shrink-0">
            <AgoInLink at={task.updated_at} />
          </span>
        )}
      </span>
      {task.progress !== null && task.status === "in_progress" && (
        <span className="absolute inset-x-0 bottom-0 block">
          <ProgressBar value={task.progress} label="Progress" thin />
        </span>
      )}
    </span>
  );
}

function Byline({ task: { key_id, status_note, silent_since } }: { task: Task }) {
  const key = useKey(key_id);
  return (
    // Each text is cut by itself, at its own end, also if it runs from right to left.
    <span className="flex min-w-0 flex-1 gap-1 overflow-hidden whitespace-nowrap">
      {/* First, so that a long name does not push it out of the line. */}
      {silent_since && (
        <>
          <Silence since={silent_since} />
          {" · "}
        </>
      )}
      <bdi className="max-w-2/3 shrink-0 truncate text-soft">{labelOf(key)}</bdi>
      {status_note !== null && (
        <>
          {" · "}
          <bdi dir="auto" className="truncate">
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
  const session = useSession();
  const [busy, setBusy] = useState(false);
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
  const finish = async () => {
    if (busy) return;
    setBusy(true);
    await endTasks(session, "done", [task]);
    setBusy(false);
  };
  return (
    <button
      type="button"
      aria-disabled={busy || undefined}
      aria-label={`Finish: ${task.title}`}
      title="Finish"
      data-careful
      onClick={() => void finish()}
      className={classes(
        "group flex w-12 shrink-0 items-center justify-center -outline-offset-4 hover:text-ok",
        busy ? "animate-pulse text-ok" : color,
      )}
    >
      <Icon aria-hidden className="size-5 group-hover:hidden group-aria-disabled:hidden" />
      <Check aria-hidden className="hidden size-5 group-hover:block group-aria-disabled:block" />
    </button>
  );
}
