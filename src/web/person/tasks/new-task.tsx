/** The form for a new task. */

import { type FormEvent, useEffect, useRef } from "react";
import { Button, ButtonLink } from "../../ui/button.tsx";
import { FIRST_FIELD, Sheet } from "../../ui/dialog.tsx";
import { SelectField } from "../../ui/field.tsx";
import { FormProblem } from "../../ui/parts.tsx";
import { toast } from "../../ui/toast.tsx";
import { useAction } from "../../ui/use-action.ts";
import { TrialNote, useTrialEnd } from "../account/trial.tsx";
import { go } from "../route.ts";
import { useDraft } from "../use-draft.ts";
import { useKeyOptions, useSession, useStore } from "../use-store.ts";
import {
  NotifySwitch,
  PriorityField,
  SilenceField,
  type TaskText,
  TaskTextFields,
} from "./task-fields.tsx";

interface NewTaskProps {
  readonly open: boolean;
  /** Id of the agent that the list is filtered by, which is preselected. */
  readonly agent: string | null;
  readonly onClose: () => void;
}

export function NewTask({ open, agent, onClose }: NewTaskProps) {
  const some = useStore((store) => store.keys().length > 0);
  const in_trial = useTrialEnd() !== null;
  return (
    <Sheet open={open} onClose={onClose} title="New task">
      {some ? (
        <Form agent={agent} />
      ) : (
        <div className="space-y-4">
          <p className="text-soft">Every task belongs to an agent, and you have none yet.</p>
          {in_trial ? (
            <TrialNote what="add agents" />
          ) : (
            <ButtonLink variant="primary" href="#/agents/new">
              Add an agent
            </ButtonLink>
          )}
        </div>
      )}
    </Sheet>
  );
}

interface NewText extends TaskText {
  /** Empty until an agent is chosen. */
  readonly key_id: string;
  readonly expect_update_within: number | null;
}

const EMPTY: NewText = {
  key_id: "",
  title: "",
  description: "",
  priority: "medium",
  notify: true,
  expect_update_within: null,
};

function Form({ agent }: { agent: string | null }) {
  const { api, store } = useSession();
  const keys = useKeyOptions();
  const { busy, fault, run } = useAction();
  const { value: draft, set: change, send } = useDraft("task", EMPTY);
  // Not part of the draft's first value: the filter may change while the form is there.
  const value = { ...draft, key_id: draft.key_id || (agent ?? "") };
  // Changes made while the form is being sent would be lost.
  const set = busy ? () => {} : change;
  // A single agent is preselected. With several the person chooses, again if the agent is deleted.
  const key_id = value.key_id === "" && keys.length === 1 ? keys[0]![0] : value.key_id;
  const there = keys.some(([id]) => id === key_id);
  const form = useRef<HTMLFormElement>(null);
  // With a direct link, the sheet opens before the agents are loaded.
  useEffect(() => form.current?.querySelector<HTMLElement>(FIRST_FIELD)?.focus(), []);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void run(async () => {
      const { result: task, changed } = await send((options) =>
        api.tasks.create.mutate({ ...value, key_id }, options),
      );
      store.put("tasks", task);
      // Stay if the person has navigated elsewhere, or begun another task.
      const here = location.hash.startsWith("#/tasks/new") && !changed;
      if (here) go(`tasks/${task.id}`, { replace: true });
      else toast("Task created", { href: `#/tasks/${task.id}` });
    });
  };
  return (
    <form ref={form} onSubmit={submit} className="space-y-5">
      <SelectField
        label="Agent"
        required
        value={there ? key_id : ""}
        onChange={({ target }) => set({ ...value, key_id: target.value })}
        options={there ? keys : [["", "Choose an agent"], ...keys]}
        error={
          there || key_id === ""
            ? fault?.fields.key_id
            : "agent no longer exists: choose another one"
        }
      />
      <TaskTextFields value={value} onChange={set} fault={fault} busy={busy} />
      <PriorityField value={value} onChange={set} />
      <SilenceField
        value={value.expect_update_within?.toString() ?? ""}
        onChange={(seconds) =>
          set({ ...value, expect_update_within: seconds === "" ? null : Number(seconds) })
        }
      />
      <NotifySwitch value={value} onChange={set} />
      <FormProblem fault={fault} />
      <Button type="submit" variant="primary" busy={busy} className="w-full">
        Create task
      </Button>
    </form>
  );
}
