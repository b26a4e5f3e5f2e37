/** A form with one field in place of a value that the person changes; Escape leaves it unchanged. */

import { type ComponentProps, type FormEvent, type ReactNode, useState } from "react";
import { Button } from "./button.tsx";
import { classes } from "./classes.ts";
import { TextField } from "./field.tsx";
import { FormProblem } from "./parts.tsx";
import { useAction } from "./use-action.ts";
import { useIsMounted } from "./use-is-mounted.ts";

interface FieldFormProps extends ComponentProps<typeof TextField> {
  /** The member of the request whose fault belongs to the field. */
  readonly name: string;
  /** The current value. */
  readonly initial: string;
  /** Resolves to false if the form is to stay open. */
  readonly save: (value: string) => Promise<unknown>;
  /** Called with each value that the person types. */
  readonly onType?: (value: string) => void;
  /** Stands above the buttons. */
  readonly note?: ReactNode;
  /** The button that saves. */
  readonly action?: string;
  /** Called when the value is saved, or the person cancels. */
  readonly onDone: () => void;
}

export function FieldForm({
  name,
  initial,
  save,
  onType,
  note,
  action = "Save",
  onDone,
  className,
  ...field
}: FieldFormProps) {
  const { busy, fault, run } = useAction();
  const [value, setValue] = useState(initial);
  const isMounted = useIsMounted();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void run(async () => {
      if ((await save(value)) !== false && isMounted.current) onDone();
    });
  };
  return (
    <form
      onSubmit={submit}
      onKeyDown={({ key }) => key === "Escape" && onDone()}
      className={classes("space-y-3", className)}
    >
      <TextField
        {...field}
        name={name}
        required
        autoFocus
        value={value}
        onChange={({ target }) => {
          setValue(target.value);
          onType?.(target.value);
        }}
        error={fault?.fields[name]}
      />
      <FormProblem fault={fault} />
      {note}
      <div className="flex gap-3">
        <Button type="submit" variant="primary" busy={busy}>
          {action}
        </Button>
        <Button variant="quiet" onClick={onDone}>
          Cancel
        </Button>
      </div>
    </form>
  );
}
