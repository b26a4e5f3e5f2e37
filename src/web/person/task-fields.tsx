/** Fields that the forms for new and existing tasks share. */

import type { ReactNode } from "react";
import type { Fault, Priority } from "../state/api.ts";
import { PRIORITIES } from "../state/order.ts";
import { AreaField, SelectField, Switch, TextField } from "../ui/field.tsx";
import { PRIORITY_NAMES } from "./words.ts";

export interface TaskText {
  readonly title: string;
  readonly description: string;
  readonly priority: Priority;
  readonly notify: boolean;
}

interface PartProps<T extends TaskText> {
  readonly value: T;
  readonly onChange: (next: T) => void;
}

interface TextProps<T extends TaskText> extends PartProps<T> {
  readonly fault: Fault | null;
  /** True while the form is being sent: the text cannot be changed then. */
  readonly busy?: boolean;
  /** Hints by field name. */
  readonly hints?: Readonly<Record<string, ReactNode>>;
}

interface HintedProps<T extends TaskText> extends PartProps<T> {
  /** Replaces the default hint. */
  readonly hint?: ReactNode;
}

export function TaskTextFields<T extends TaskText>({
  value,
  onChange,
  fault,
  busy,
  hints,
}: TextProps<T>) {
  return (
    <>
      <TextField
        label="Title"
        name="title"
        required
        readOnly={busy}
        value={value.title}
        onChange={({ target }) => onChange({ ...value, title: target.value })}
        hint={hints?.title}
        error={fault?.fields.title}
      />
      <AreaField
        label="Description"
        name="description"
        readOnly={busy}
        value={value.description}
        onChange={({ target }) => onChange({ ...value, description: target.value })}
        hint={hints?.description}
        error={fault?.fields.description}
      />
    </>
  );
}

export function PriorityField<T extends TaskText>({ value, onChange, hint }: HintedProps<T>) {
  return (
    <SelectField
      label="Priority"
      hint={hint}
      value={value.priority}
      onChange={({ target }) => onChange({ ...value, priority: target.value as Priority })}
      options={PRIORITIES.map((one) => [one, PRIORITY_NAMES[one]] as const)}
    />
  );
}

export function NotifySwitch<T extends TaskText>({ value, onChange, hint }: HintedProps<T>) {
  return (
    <Switch
      label="Notify me"
      hint={hint ?? "Get a notification when the agent changes this task."}
      checked={value.notify}
      onChange={({ target }) => onChange({ ...value, notify: target.checked })}
    />
  );
}
