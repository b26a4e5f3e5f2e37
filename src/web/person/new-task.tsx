/** The form for a new task. */

import { type FormEvent, useState } from "react";
import { Button, ButtonLink } from "../ui/button.tsx";
import { Sheet } from "../ui/dialog.tsx";
import { SelectField } from "../ui/field.tsx";
import { FormProblem } from "../ui/parts.tsx";
import { toast } from "../ui/toast.tsx";
import { useAction } from "../ui/use-action.ts";
import { go } from "./route.ts";
import { NotifySwitch, PriorityField, type TaskText, TaskTextFields } from "./task-fields.tsx";
import { useDraft } from "./use-draft.ts";
import { useKeyOptions, useSession, useStore } from "./use-store.ts";

interface NewTaskProps {
  readonly open: boolean;
  /** The agent that the list is filtered by: preselected. */
  readonly agent: string | null;
  readonly onClose: () => void;
}

export function NewTask({ open, agent, onClose }: NewTaskProps) {
  const some = useStore((store) => store.keys().length > 0);
  return (
    <Sheet open={open} onClose={onClose} title="New task">
      {some ? (
        <Form agent={agent} />
      ) : (
        <div className="space-y-4">
          <p className="text-soft">Every task belongs to an agent, and you have none yet.</p>
          <ButtonLink variant="primary" href="#/agents/new">
            Add an agent
          </ButtonLink>
        </div>
      )}
    </Sheet>
  );
}

interface NewText extends TaskText {
  readonly key_id: string;
}

function Form({ agent }: { agent: string | null }) {
  const { api, store } = useSession();
  const keys = useKeyOptions();
  const { busy, fault, run } = useAction();
  const [start] = useState<NewText>(() => ({
    key_id: agent ?? keys[0]![0],
    title: "",
    description: "",
    priority: "medium",
    notify: true,
  }));
  const { value, set: change, send } = useDraft("task", start);
  // Changes made while the form is being sent would be lost.
  const set = busy ? () => {} : change;
  // If the chosen agent is deleted, the person must choose again.
  const there = keys.some(([id]) => id === value.key_id);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void run(async () => {
      const { result: task, changed } = await send((options) =>
        api.tasks.create.mutate(value, options),
      );
      store.put("tasks", task);
      // Stay if the person has navigated elsewhere, or begun another task.
      const here = location.hash.startsWith("#/tasks/new") && !changed;
      if (here) go(`tasks/${task.id}`, { replace: true });
      else toast("Task created");
    });
  };
  return (
    <form onSubmit={submit} className="space-y-5">
      <SelectField
        label="Agent"
        required
        value={there ? value.key_id : ""}
        onChange={({ target }) => set({ ...value, key_id: target.value })}
        options={there ? keys : [["", "Choose an agent"], ...keys]}
        error={there ? fault?.fields.key_id : "agent no longer exists: choose another one"}
      />
      <TaskTextFields value={value} onChange={set} fault={fault} busy={busy} />
      <PriorityField value={value} onChange={set} />
      <NotifySwitch value={value} onChange={set} />
      <FormProblem fault={fault} />
      <Button type="submit" variant="primary" busy={busy} className="w-full">
        Create task
      </Button>
    </form>
  );
}
