/** Fields that the forms for new and existing tasks share. */

import type { ReactNode } from "react";
import type { Fault, Priority } from "../../state/api.ts";
import { AreaField, SelectField, Switch, TextField } from "../../ui/field.tsx";
import { PRIORITY_OPTIONS } from "../words.ts";

export interface TaskText {
  readonly title: string;
  readonly description: string;
  readonly priority: Priority;
  readonly notify: boolean;
}

interface FieldsProps<T extends TaskText> {
  readonly value: T;
  readonly onChange: (next: T) => void;
  /** Hints by field name, in place of the default ones. */
  readonly hints?: Readonly<Record<string, ReactNode>>;
}

interface TextProps<T extends TaskText> extends FieldsProps<T> {
  readonly fault: Fault | null;
  /** True while the form is being sent: the text cannot be changed then. */
  readonly busy?: boolean;
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

export function PriorityField<T extends TaskText>({ value, onChange, hints }: FieldsProps<T>) {
  return (
    <SelectField
      label="Priority"
      hint={hints?.priority}
      value={value.priority}
      onChange={({ target }) => onChange({ ...value, priority: target.value as Priority })}
      options={PRIORITY_OPTIONS}
    />
  );
}

const SILENCES: readonly (readonly [string, string])[] = [
  ["", "Never"],
  ["600", "After 10 minutes"],
  ["1800", "After 30 minutes"],
  ["3600", "After 1 hour"],
  ["14400", "After 4 hours"],
  ["86400", "After 24 hours"],
];

/** How `expect_update_within` is shown; `value`: seconds as text, empty for null. */
export const silenceName = (value: string): string =>
  SILENCES.find(([seconds]) => seconds === value)?.[1] ??
  `After ${Math.round(Number(value) / 60)} minutes`;

interface SilenceProps {
  /** Seconds as text; empty for null. */
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly hint?: ReactNode;
}

/** Chooses `expect_update_within` (§3.3). */
export function SilenceField({ value, onChange, hint }: SilenceProps) {
  const known = SILENCES.some(([seconds]) => seconds === value);
  return (
    <SelectField
      label="Tell me if the agent falls silent"
      hint={hint ?? "While the task is in progress."}
      value={value}
      onChange={({ target }) => onChange(target.value)}
      options={known ? SILENCES : [...SILENCES, [value, silenceName(value)]]}
    />
  );
}

export function NotifySwitch<T extends TaskText>({ value, onChange, hints }: FieldsProps<T>) {
  return (
    <Switch
      label="Notify me"
      hint={hints?.notify ?? "Get a notification when the agent changes this task."}
      checked={value.notify}
      onChange={({ target }) => onChange({ ...value, notify: target.checked })}
    />
  );
}
