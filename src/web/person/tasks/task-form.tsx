/**
 * Edits a task. Only fields that the person changed are sent, so that other people's changes stay.
 */

import { type FormEvent, type ReactNode, useState } from "react";
import type { Status, Task } from "../../state/api.ts";
import { editOf } from "../../state/drafts.ts";
import { Button } from "../../ui/button.tsx";
import { SelectField, TextField } from "../../ui/field.tsx";
import { FormProblem, Problem } from "../../ui/parts.tsx";
import { useAction } from "../../ui/use-action.ts";
import { useIsMounted } from "../../ui/use-is-mounted.ts";
import { useDraft } from "../use-draft.ts";
import { useSession } from "../use-store.ts";
import { PRIORITY_NAMES, STATUS_NAMES, STATUS_OPTIONS } from "../words.ts";
import {
  NotifySwitch,
  PriorityField,
  SilenceField,
  silenceName,
  TaskTextFields,
} from "./task-fields.tsx";

/** The values of the form's fields for a task; numbers as text. */
const valuesOf = ({ title, description, status, priority, notify, ...task }: Task) => ({
  title,
  description,
  status,
  priority,
  notify,
  progress: task.progress?.toString() ?? "",
  status_note: task.status_note ?? "",
  expect_update_within: task.expect_update_within?.toString() ?? "",
});
type Values = ReturnType<typeof valuesOf>;

interface TaskFormProps {
  readonly task: Task;
  /** True if the task was deleted while it was being edited. */
  readonly gone: boolean;
  readonly onDone: () => void;
}

export function TaskForm({ task, gone, onDone }: TaskFormProps) {
  const { api, store, keptAnswers } = useSession();
  const { busy, fault, run } = useAction();
  const [slip, setSlip] = useState<string>();
  const now = valuesOf(task);
  const draft = useDraft(editOf(task.id), { start: now, changes: {} as Partial<Values> });
  const { start, changes } = draft.value;
  // Untouched fields follow changes made elsewhere.
  const value = { ...now, ...changes };
  const isMounted = useIsMounted();
  const change = (next: Values) => {
    // Changes made while it is being saved would be lost.
    if (busy || gone) return;
    const touched = { ...changes, ...differences(next, value) };
    // A field that equals the current value again counts as untouched.
    const left = differences(touched, now);
    if (Object.keys(left).length === 0) draft.forget();
    else draft.set({ start, changes: left });
  };
  const done = () => {
    draft.forget();
    if (gone) keptAnswers.drop(task.id);
    onDone();
  };

  const submit = (event: FormEvent) => {
    event.preventDefault();
    const progress = progressOf(value.progress);
    setSlip(progress === undefined ? "must be a whole number from 0 to 100" : undefined);
    if (progress === undefined) return;
    const status_note = value.status_note.trim() === "" ? null : value.status_note;
    const expect_update_within =
      value.expect_update_within === "" ? null : Number(value.expect_update_within);
    const patch = differences(
      { ...value, progress, status_note, expect_update_within },
      // A task from an older version's archive lacks the field.
      { ...task, expect_update_within: task.expect_update_within ?? null },
    );
    void run(async () => {
      const { result, changed } = await draft.send(() =>
        api.tasks.update.mutate({ task_id: task.id, ...patch }),
      );
      store.put("tasks", result);
      // Another form of the task may be open by now.
      if (!changed && isMounted.current) onDone();
    });
  };

  const hints: Record<string, ReactNode> = {};
  for (const name of Object.keys(now) as (keyof Values)[]) {
    if (now[name] === start[name] || now[name] === value[name]) continue;
    hints[name] = (
      <>
        Changed elsewhere to: <bdi className="said line-clamp-3">{shownOf(now, name)}</bdi>
      </>
    );
  }

  return (
    <form onSubmit={submit} className="space-y-5">
      {gone && <Problem>This task was deleted. Your changes are kept under Questions.</Problem>}
      <TaskTextFields
        value={value}
        onChange={change}
        fault={fault}
        hints={hints}
        busy={busy || gone}
      />
      <div className="grid grid-cols-2 gap-4">
        <SelectField
          label="Status"
          hint={hints.status}
          value={value.status}
          onChange={({ target }) => change({ ...value, status: target.value as Status })}
          options={STATUS_OPTIONS}
        />
        <PriorityField value={value} onChange={change} hints={hints} />
      </div>
      <TextField
        label="Progress"
        name="progress"
        inputMode="numeric"
        placeholder="0 to 100"
        readOnly={busy}
        hint={hints.progress ?? "Leave empty if unknown."}
        value={value.progress}
        onChange={({ target }) => change({ ...value, progress: target.value })}
        error={slip ?? fault?.fields.progress}
      />
      <TextField
        label="Status note"
        name="note"
        readOnly={busy}
        hint={hints.status_note ?? "One line about what's happening."}
        value={value.status_note}
        onChange={({ target }) => change({ ...value, status_note: target.value })}
        error={fault?.fields.status_note}
      />
      <SilenceField
        value={value.expect_update_within}
        onChange={(expect_update_within) => change({ ...value, expect_update_within })}
        hint={hints.expect_update_within}
      />
      <NotifySwitch value={value} onChange={change} hints={hints} />
      <FormProblem fault={fault} />
      <div className="flex flex-wrap gap-3">
        <Button type="submit" variant="primary" busy={busy} disabled={gone}>
          Save
        </Button>
        <Button onClick={done}>Discard</Button>
      </div>
    </form>
  );
}

function shownOf(values: Values, name: keyof Values): string {
  if (name === "status") return STATUS_NAMES[values.status];
  if (name === "priority") return PRIORITY_NAMES[values.priority];
  if (name === "expect_update_within") return silenceName(values.expect_update_within);
  if (name === "notify") return values.notify ? "on" : "off";
  return values[name] || "empty";
}

/** The members of `values` that differ from `others`. */
function differences<T extends object>(values: T, others: { readonly [K in keyof T]: unknown }) {
  const changed = Object.entries(values).filter(
    ([name, value]) => value !== others[name as keyof T],
  );
  return Object.fromEntries(changed) as Partial<T>;
}

/** Parses the progress: null if empty, undefined if invalid. */
function progressOf(typed: string): number | null | undefined {
  if (typed.trim() === "") return null;
  const share = Number(/^\s*(\d{1,3})\s*%?\s*$/.exec(typed)?.[1]);
  return share <= 100 ? share : undefined;
}
