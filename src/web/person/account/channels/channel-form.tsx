/** The forms for a new webhook and for the settings of an existing channel. */

import { type FormEvent, useState } from "react";
import type { Channel, Fault, Priority } from "../../../state/api.ts";
import { Button } from "../../../ui/button.tsx";
import { SelectField, Switch, TextField } from "../../../ui/field.tsx";
import { FormProblem } from "../../../ui/parts.tsx";
import { useAction } from "../../../ui/use-action.ts";
import { useSession } from "../../use-store.ts";
import { PRIORITY_OPTIONS } from "../../words.ts";
import { ProblemNote, useChannelCheck } from "./channel-problem.tsx";

type Settings = Pick<Channel, "label" | "sends" | "min_priority" | "quiet_hours">;

/** Initial times when the person turns quiet hours on. */
const NIGHT = { from: "22:00", to: "07:00" };

interface NewProps {
  readonly onCreated: (channel: Channel, secret: string | null) => void;
}

export function NewWebhookForm({ onCreated }: NewProps) {
  const { api } = useSession();
  const { busy, fault, run } = useAction();
  const [url, setUrl] = useState("");
  const [settings, setSettings] = useState<Settings>({
    label: "",
    sends: ["questions", "tasks"],
    min_priority: "low",
    quiet_hours: null,
  });
  const check = useChannelCheck({ type: "webhook", url: url.trim() });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void run(async () => {
      if (!(await check.passes())) return;
      const given = { ...settings, type: "webhook", url: url.trim() } as const;
      const { channel, secret } = await api.channels.create.mutate(given);
      onCreated(channel, secret ?? null);
    });
  };
  return (
    <form onSubmit={submit} className="space-y-5">
      <LabelField value={settings} onChange={setSettings} fault={fault} />
      <TextField
        label="URL"
        name="url"
        type="url"
        inputMode="url"
        required
        value={url}
        onChange={({ target }) => setUrl(target.value)}
        placeholder="https://example.com/hook"
        hint="Relay sends a test first, and nothing else until the URL responds with 2xx."
        error={fault?.fields.url}
      />
      <SettingFields type="webhook" value={settings} onChange={setSettings} fault={fault} />
      <FormProblem fault={fault} />
      <ProblemNote problem={check.problem} />
      <Button type="submit" variant="primary" busy={busy} className="w-full">
        {check.problem?.refused === false ? "Add it anyway" : "Add webhook"}
      </Button>
    </form>
  );
}

interface EditProps {
  readonly channel: Channel;
  readonly onSaved: () => void;
}

export function EditChannelForm({ channel, onSaved }: EditProps) {
  const { api } = useSession();
  const { busy, fault, run } = useAction();
  const { id, type, label, sends, min_priority, quiet_hours } = channel;
  const [settings, setSettings] = useState<Settings>({ label, sends, min_priority, quiet_hours });
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const saved = await run(() => api.channels.update.mutate({ channel_id: id, ...settings }));
    if (saved) onSaved();
  };
  return (
    <form onSubmit={(event) => void submit(event)} className="space-y-5">
      <LabelField value={settings} onChange={setSettings} fault={fault} />
      <SettingFields type={type} value={settings} onChange={setSettings} fault={fault} />
      <FormProblem fault={fault} />
      <Button type="submit" variant="primary" busy={busy} className="w-full">
        Save
      </Button>
    </form>
  );
}

interface SettingsProps {
  readonly value: Settings;
  readonly onChange: (next: Settings) => void;
  readonly fault: Fault | null;
}

function LabelField({ value, onChange, fault }: SettingsProps) {
  return (
    <TextField
      label="Name"
      name="label"
      required
      value={value.label}
      onChange={({ target }) => onChange({ ...value, label: target.value })}
      error={fault?.fields.label}
    />
  );
}

const SUBJECTS = ["questions", "tasks"] as const;
type Subject = (typeof SUBJECTS)[number];

type SettingFieldsProps = SettingsProps & { readonly type: Channel["type"] };

function SettingFields({ type, value, onChange, fault }: SettingFieldsProps) {
  const { sends, min_priority } = value;
  const toggle = (subject: Subject, on: boolean) =>
    onChange({
      ...value,
      sends: SUBJECTS.filter((one) => (one === subject ? on : sends.includes(one))),
    });
  return (
    <>
      <fieldset className="space-y-4">
        <legend className="sr-only">What it sends</legend>
        {SUBJECTS.map((subject) => (
          <Switch
            key={subject}
            label={subject === "questions" ? "Questions" : "Tasks"}
            checked={sends.includes(subject)}
            // At least one of the two stays on.
            disabled={sends.length === 1 && sends.includes(subject)}
            onChange={({ target }) => toggle(subject, target.checked)}
          />
        ))}
        {sends.includes("tasks") && (
          <SelectField
            label="Lowest task priority"
            value={min_priority}
            onChange={({ target }) =>
              onChange({ ...value, min_priority: target.value as Priority })
            }
            options={PRIORITY_OPTIONS}
          />
        )}
      </fieldset>
      {type !== "webhook" && <QuietHoursFields value={value} onChange={onChange} fault={fault} />}
    </>
  );
}

function QuietHoursFields({ value, onChange, fault }: SettingsProps) {
  const { quiet_hours } = value;
  const set = (next: Partial<NonNullable<Settings["quiet_hours"]>>) =>
    quiet_hours && onChange({ ...value, quiet_hours: { ...quiet_hours, ...next } });
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
  // The server's error names the whole object. The time zone is the only part of it that a person
  // can mistype here.
  const same = quiet_hours !== null && quiet_hours.from === quiet_hours.to;
  const [, zone] = /^time_zone (.+)/.exec(fault?.fields.quiet_hours ?? "") ?? [];
  return (
    <fieldset className="space-y-4">
      <legend className="sr-only">Quiet hours</legend>
      <Switch
        label="Quiet hours"
        hint="Notifications are silent at these times every day."
        checked={quiet_hours !== null}
        onChange={({ target }) =>
          onChange({
            ...value,
            quiet_hours: target.checked ? { ...NIGHT, time_zone: timeZone } : null,
          })
        }
      />
      {quiet_hours && (
        <>
          <div className="grid grid-cols-2 gap-4">
            <TextField
              label="From"
              type="time"
              required
              value={quiet_hours.from}
              onChange={({ target }) => set({ from: target.value })}
            />
            <TextField
              label="To"
              type="time"
              required
              value={quiet_hours.to}
              onChange={({ target }) => set({ to: target.value })}
              error={same ? "must differ from the start" : undefined}
            />
          </div>
          <TextField
            label="Time zone"
            required
            value={quiet_hours.time_zone}
            onChange={({ target }) => set({ time_zone: target.value })}
            hint="For example: Europe/Berlin."
            error={zone}
          />
        </>
      )}
    </fieldset>
  );
}
