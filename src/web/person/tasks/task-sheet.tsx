/** The details of a task and its actions. */

import { Check, Pencil, Play, RotateCcw, Trash2, Undo2 } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import type { Status, Task } from "../../state/api.ts";
import { draftOf, editOf } from "../../state/drafts.ts";
import { Ago } from "../../ui/ago.tsx";
import { Part } from "../../ui/boundary.tsx";
import { Button, ButtonLink } from "../../ui/button.tsx";
import { Sheet } from "../../ui/dialog.tsx";
import { Badge, Facts, Problem, ProgressBar } from "../../ui/parts.tsx";
import { Prose } from "../../ui/prose.tsx";
import { useAction } from "../../ui/use-action.ts";
import { TrialNote, useTrialEnd } from "../account/trial.tsx";
import { deleteTasks, endTasks } from "../changes.ts";
import { RefusedAnswers } from "../questions/kept-answers.tsx";
import { QuestionRow } from "../questions/question-row.tsx";
import { labelOf, useKey, useSession, useStore, useTask } from "../use-store.ts";
import { STATUS_NAMES } from "../words.ts";
import { WriteButton } from "../write-button.tsx";
import { TaskForm } from "./task-form.tsx";
import { TaskHistory } from "./task-history.tsx";
import { PriorityBadge } from "./task-row.tsx";

export function TaskSheet({ id, onClose }: { id: string | null; onClose: () => void }) {
  const [editing, setEditing] = useState(false);
  // Keep the content while the sheet slides out.
  const [shown, setShown] = useState(id);
  useEffect(() => {
    if (id === null) return;
    setShown(id);
    setEditing(false);
  }, [id]);
  const task = useTask(shown ?? "");
  // Keep the form open if the task is deleted elsewhere.
  const last = useRef(task);
  last.current = task ?? (last.current?.id === shown ? last.current : undefined);
  const edited = editing ? last.current : undefined;
  return (
    <Sheet
      open={id !== null}
      onClose={onClose}
      title={editing ? "Edit task" : <bdi dir="auto">{task?.title ?? "Task"}</bdi>}
    >
      {edited ? (
        <TaskForm
          key={edited.id}
          task={edited}
          gone={task === undefined}
          onDone={() => setEditing(false)}
        />
      ) : task ? (
        <Details key={task.id} task={task} onEdit={() => setEditing(true)} onGone={onClose} />
      ) : (
        <>
          <RefusedAnswers />
          <p className="text-soft">Task not found. It may have been deleted.</p>
        </>
      )}
    </Sheet>
  );
}

interface DetailsProps {
  readonly task: Task;
  readonly onEdit: () => void;
  /** Called when the person has deleted the task. */
  readonly onGone: () => void;
}

function Details({ task, onEdit, onGone }: DetailsProps) {
  const key = useKey(task.key_id);
  const questions = useStore((store) => store.all.questions);
  useStore((store) => store.versions.questions);
  const about = [...questions.values()].filter(({ task_id }) => task_id === task.id);
  return (
    <div className="space-y-6">
      <div className="flex flex-wrap gap-2">
        <Badge tone={task.status === "done" ? "ok" : "accent"}>{STATUS_NAMES[task.status]}</Badge>
        <PriorityBadge priority={task.priority} />
        {!task.notify && <Badge>Muted</Badge>}
        {task.silent_since && <Badge tone="warn">Silent</Badge>}
      </div>
      {task.status_note !== null && (
        <Prose text={task.status_note} className="border-accent border-l-2 pl-3 text-base" />
      )}
      {task.progress !== null && (
        <div>
          <p className="mb-1.5 flex justify-between text-sm text-soft">
            <span>Progress</span>
            <span className="tabular-nums">{task.progress}%</span>
          </p>
          <ProgressBar value={task.progress} label="Progress" />
        </div>
      )}
      {task.description.trim() !== "" && (
        <div>
          <Prose text={task.description} with_source />
        </div>
      )}
      <Moves task={task} />
      <Facts
        facts={[
          [
            "Agent",
            <a key="a" href={`#/agents/${task.key_id}`} className="text-accent hover:underline">
              <bdi>{labelOf(key)}</bdi>
            </a>,
          ],
          ["Created by", task.source === "agent" ? "Agent" : "You"],
          ...(task.host === null ? [] : [["Host", <bdi key="h">{task.host}</bdi>] as const]),
          ["Created", <Ago key="c" at={task.created_at} />],
          ["Updated", <Ago key="u" at={task.updated_at} />],
          ...(task.silent_since
            ? [["Agent silent since", <Ago key="q" at={task.silent_since} />] as const]
            : []),
          ...(task.completed_at === null
            ? []
            : [["Finished", <Ago key="f" at={task.completed_at} />] as const]),
          ["Seen by agent", task.seen_at ? <Ago key="s" at={task.seen_at} /> : "Not yet"],
        ]}
      />
      {about.length > 0 && (
        <section>
          <h3 className="mb-2 font-semibold text-faint text-sm">Questions</h3>
          <ul className="divide-y divide-line rounded-2xl border border-line">
            {about.map((question) => (
              <li key={question.id}>
                <Part name="question">
                  <QuestionRow question={question} />
                </Part>
                {question.status === "pending" && (
                  <ButtonLink href={`#/questions/${question.id}`} className="mx-4 mb-4 sm:mx-5">
                    Answer
                  </ButtonLink>
                )}
              </li>
            ))}
          </ul>
        </section>
      )}
      <TaskHistory task={task} />
      <div className="flex flex-wrap justify-between gap-3 border-line border-t pt-5">
        <Button onClick={onEdit}>
          <Pencil aria-hidden className="size-4" />
          {draftOf(editOf(task.id)) === null ? "Edit" : "Resume editing"}
        </Button>
        <Remove task={task} onGone={onGone} />
      </div>
    </div>
  );
}

function Remove({ task, onGone }: Pick<DetailsProps, "task" | "onGone">) {
  const session = useSession();
  const in_trial = useTrialEnd() !== null;
  if (in_trial) return <TrialNote what="delete tasks" />;
  return (
    <Button
      variant="warning"
      onClick={() => {
        deleteTasks(session, [task]);
        onGone();
      }}
    >
      <Trash2 aria-hidden className="size-4" />
      Delete
    </Button>
  );
}

/** Actions for each status, the most likely first. */
const MOVES: Readonly<Record<Status, readonly (readonly [Status, string, typeof Check])[]>> = {
  todo: [
    ["done", "Finish", Check],
    ["in_progress", "Start", Play],
    ["cancelled", "Cancel task", Undo2],
  ],
  in_progress: [
    ["done", "Finish", Check],
    ["cancelled", "Cancel task", Undo2],
  ],
  done: [["todo", "Reopen", RotateCcw]],
  cancelled: [["todo", "Reopen", RotateCcw]],
};

function Moves({ task }: { task: Task }) {
  const session = useSession();
  const { busy, fault, run } = useAction();
  const [pressed, setPressed] = useState<Status>();
  const move = (status: Status) => {
    setPressed(status);
    return run(async () => {
      if (status === "done" || status === "cancelled") return endTasks(session, status, [task]);
      const { api, store } = session;
      store.put("tasks", await api.tasks.update.mutate({ task_id: task.id, status }));
    });
  };
  return (
    <div>
      <div className="flex flex-wrap gap-3">
        {MOVES[task.status].map(([status, name, Icon]) => (
          <Button
            key={status}
            variant={status === "done" ? "primary" : "plain"}
            busy={busy && status === pressed}
            disabled={busy && status !== pressed}
            onClick={() => void move(status)}
          >
            <Icon aria-hidden className="size-4" />
            {name}
          </Button>
        ))}
        <WriteButton id={task.key_id} variant="plain" />
      </div>
      {fault && (
        <div className="mt-3">
          <Problem>{fault.message}</Problem>
        </div>
      )}
    </div>
  );
}
