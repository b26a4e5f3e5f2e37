/** Changes a task. Only what the person changed is sent, so that what others change meanwhile stays. */

import { type FormEvent, useState } from "react";
import type { Priority, Status, Task } from "../state/api.ts";
import { PRIORITIES, STATUSES } from "../state/order.ts";
import { Problem } from "../ui/bits.tsx";
import { Button } from "../ui/button.tsx";
import { AreaField, SelectField, Switch, TextField } from "../ui/field.tsx";
import { useAction } from "../ui/use-action.ts";
import { useSession } from "./use-store.ts";
import { PRIORITY_NAMES, STATUS_NAMES } from "./words.ts";

export function TaskForm({ task, onDone }: { task: Task; onDone: () => void }) {
  const { api, store } = useSession();
  const { busy, fault, run } = useAction();
  const [start] = useState(task);
  const [title, setTitle] = useState(task.title);
  const [description, setDescription] = useState(task.description);
  const [status, setStatus] = useState<Status>(task.status);
  const [priority, setPriority] = useState<Priority>(task.priority);
  const [progress, setProgress] = useState(task.progress?.toString() ?? "");
  const [note, setNote] = useState(task.status_note ?? "");
  const [notify, setNotify] = useState(task.notify);

  const [slip, setSlip] = useState<string>();

  const submit = (event: FormEvent) => {
    event.preventDefault();
    const share = progressOf(progress);
    setSlip(share === undefined ? "must be a whole number from 0 to 100" : undefined);
    if (share === undefined) return;
    const wanted = {
      title,
      description,
      status,
      priority,
      notify,
      progress: share,
      status_note: note.trim() === "" ? null : note,
    };
    const changed = Object.entries(wanted).filter(
      ([name, value]) => value !== start[name as keyof Task],
    );
    const patch: Partial<typeof wanted> = Object.fromEntries(changed);
    void run(async () => {
      store.put("tasks", await api.tasks.update.mutate({ task_id: task.id, ...patch }));
      onDone();
    });
  };

  return (
    <form onSubmit={submit} className="space-y-5">
      <TextField
        label="Title"
        name="title"
        required
        value={title}
        onChange={({ target }) => setTitle(target.value)}
        error={fault?.fields.title}
      />
      <AreaField
        label="Description"
        name="description"
        value={description}
        onChange={({ target }) => setDescription(target.value)}
        error={fault?.fields.description}
      />
      <div className="grid grid-cols-2 gap-4">
        <SelectField
          label="Status"
          value={status}
          onChange={({ target }) => setStatus(target.value as Status)}
          options={STATUSES.map((one) => [one, STATUS_NAMES[one]] as const)}
        />
        <SelectField
          label="Priority"
          value={priority}
          onChange={({ target }) => setPriority(target.value as Priority)}
          options={PRIORITIES.map((one) => [one, PRIORITY_NAMES[one]] as const)}
        />
      </div>
      <TextField
        label="Progress"
        name="progress"
        inputMode="numeric"
        placeholder="0 to 100"
        hint="Leave it empty when it cannot be told."
        value={progress}
        onChange={({ target }) => setProgress(target.value)}
        error={slip ?? fault?.fields.progress}
      />
      <TextField
        label="Note"
        name="note"
        hint="One line on what goes on."
        value={note}
        onChange={({ target }) => setNote(target.value)}
        error={fault?.fields.status_note}
      />
      <Switch
        label="Notify"
        hint="The agent's changes to it show as notifications on your devices."
        checked={notify}
        onChange={({ target }) => setNotify(target.checked)}
      />
      {fault && Object.keys(fault.fields).length === 0 && <Problem>{fault.message}</Problem>}
      <div className="flex flex-wrap gap-3">
        <Button type="submit" look="primary" busy={busy}>
          Save
        </Button>
        <Button onClick={onDone}>Discard</Button>
      </div>
    </form>
  );
}

/** What was typed as progress: null for nothing, undefined when it is none. */
function progressOf(typed: string): number | null | undefined {
  if (typed.trim() === "") return null;
  const share = Number(/^\s*(\d{1,3})\s*%?\s*$/.exec(typed)?.[1]);
  return share <= 100 ? share : undefined;
}
