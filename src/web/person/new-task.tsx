/** A task that the person gives to an agent. */

import { type FormEvent, useId, useState } from "react";
import type { Priority } from "../state/api.ts";
import { PRIORITIES } from "../state/order.ts";
import { Problem } from "../ui/bits.tsx";
import { Button, ButtonLink } from "../ui/button.tsx";
import { Sheet } from "../ui/dialog.tsx";
import { AreaField, SelectField, Switch, TextField } from "../ui/field.tsx";
import { useAction } from "../ui/use-action.ts";
import { go } from "./route.ts";
import { useSession, useStore } from "./use-store.ts";
import { PRIORITY_NAMES } from "./words.ts";

interface NewTaskProps {
  readonly open: boolean;
  /** Whom the list shows; then it is most likely for them. */
  readonly agent: string | null;
  readonly onClose: () => void;
}

export function NewTask({ open, agent, onClose }: NewTaskProps) {
  const keys = useStore((store) => store.keys());
  return (
    <Sheet open={open} onClose={onClose} title="New task">
      {keys.length === 0 ? (
        <div className="space-y-4">
          <p className="text-soft">A task is for an agent, and there is none yet.</p>
          <ButtonLink look="primary" href="#/agents/new">
            Add an agent
          </ButtonLink>
        </div>
      ) : (
        <Form agent={agent ?? keys[0]!.id} />
      )}
    </Sheet>
  );
}

function Form({ agent }: { agent: string }) {
  const { api, store } = useSession();
  const keys = useStore((one) => one.keys());
  const form = useId();
  const { busy, fault, run } = useAction();
  const [key_id, setKey] = useState(agent);
  const [title, setTitle] = useState("");
  const [description, setDescription] = useState("");
  const [priority, setPriority] = useState<Priority>("medium");
  const [notify, setNotify] = useState(true);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void run(async () => {
      const made = { key_id, title, description, priority, notify };
      const task = await api.tasks.create.mutate(made);
      store.put("tasks", task);
      go(`tasks/${task.id}`, { replace: true });
    });
  };
  return (
    <form id={form} onSubmit={submit} className="space-y-5">
      <SelectField
        label="Agent"
        value={key_id}
        onChange={({ target }) => setKey(target.value)}
        options={keys.map(({ id, label }) => [id, label] as const)}
        error={fault?.fields.key_id}
      />
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
      <SelectField
        label="Priority"
        value={priority}
        onChange={({ target }) => setPriority(target.value as Priority)}
        options={PRIORITIES.map((one) => [one, PRIORITY_NAMES[one]] as const)}
      />
      <Switch
        label="Notify"
        hint="The agent's changes to it show as notifications on your devices."
        checked={notify}
        onChange={({ target }) => setNotify(target.checked)}
      />
      {fault && Object.keys(fault.fields).length === 0 && <Problem>{fault.message}</Problem>}
      <Button type="submit" look="primary" busy={busy} className="w-full">
        Create task
      </Button>
    </form>
  );
}
