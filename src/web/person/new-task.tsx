/** A task that the person gives to an agent. */

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
  /** Whom the list shows; then it is most likely for them. */
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
          <p className="text-soft">A task is for an agent, and there is none yet.</p>
          <ButtonLink look="primary" href="#/agents/new">
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
  // What is changed while it is being sent would be lost.
  const set = busy ? () => {} : change;
  // The one that was chosen can be deleted meanwhile; nobody else is chosen for the person.
  const there = keys.some(([id]) => id === value.key_id);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void run(async () => {
      const { result: task, changed } = await send((options) =>
        api.tasks.create.mutate(value, options),
      );
      store.put("tasks", task);
      // Unless the person went elsewhere meanwhile, or on to another task.
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
        error={there ? fault?.fields.key_id : "agent is gone: choose another one"}
      />
      <TaskTextFields value={value} onChange={set} fault={fault} busy={busy} />
      <PriorityField value={value} onChange={set} />
      <NotifySwitch value={value} onChange={set} />
      <FormProblem fault={fault} />
      <Button type="submit" look="primary" busy={busy} className="w-full">
        Create task
      </Button>
    </form>
  );
}
