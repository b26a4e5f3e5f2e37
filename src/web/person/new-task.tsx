/** A task that the person gives to an agent. */

import { type FormEvent, useState } from "react";
import { FormProblem } from "../ui/bits.tsx";
import { Button, ButtonLink } from "../ui/button.tsx";
import { Sheet } from "../ui/dialog.tsx";
import { SelectField } from "../ui/field.tsx";
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

const NOTHING: TaskText = { title: "", description: "", priority: "medium", notify: true };

function Form({ agent }: { agent: string | null }) {
  const { api, store } = useSession();
  const keys = useKeyOptions();
  const { busy, fault, run } = useAction();
  const [chosen, setChosen] = useState(agent);
  const draft = useDraft("task", NOTHING);
  // The one that was chosen can be deleted meanwhile.
  const key_id = (keys.find(([id]) => id === chosen) ?? keys[0]!)[0];
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void run(async () => {
      const task = await api.tasks.create.mutate({ key_id, ...draft.value });
      store.put("tasks", task);
      draft.forget();
      go(`tasks/${task.id}`, { replace: true });
    });
  };
  return (
    <form onSubmit={submit} className="space-y-5">
      <SelectField
        label="Agent"
        value={key_id}
        onChange={({ target }) => setChosen(target.value)}
        options={keys}
        error={fault?.fields.key_id}
      />
      <TaskTextFields value={draft.value} onChange={draft.set} fault={fault} />
      <PriorityField value={draft.value} onChange={draft.set} />
      <NotifySwitch value={draft.value} onChange={draft.set} />
      <FormProblem fault={fault} />
      <Button type="submit" look="primary" busy={busy} className="w-full">
        Create task
      </Button>
    </form>
  );
}
