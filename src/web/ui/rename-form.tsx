/** A form in place of a name that the person changes; Escape leaves it unchanged. */

import { type FormEvent, useState } from "react";
import { Button } from "./button.tsx";
import { classes } from "./classes.ts";
import { TextField } from "./field.tsx";
import { FormProblem } from "./parts.tsx";
import { useAction } from "./use-action.ts";
import { useIsMounted } from "./use-is-mounted.ts";

interface RenameFormProps {
  /** The current name. */
  readonly name: string;
  readonly save: (label: string) => Promise<unknown>;
  /** Called when the name is saved, or the person cancels. */
  readonly onDone: () => void;
  readonly className: string;
}

export function RenameForm({ name, save, onDone, className }: RenameFormProps) {
  const { busy, fault, run } = useAction();
  const [label, setLabel] = useState(name);
  const isMounted = useIsMounted();
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if ((await run(() => save(label))) && isMounted.current) onDone();
  };
  return (
    <form
      onSubmit={(event) => void submit(event)}
      onKeyDown={({ key }) => key === "Escape" && onDone()}
      className={classes("space-y-3", className)}
    >
      <TextField
        label="Name"
        name="label"
        required
        autoFocus
        value={label}
        onChange={({ target }) => setLabel(target.value)}
        error={fault?.fields.label}
      />
      <FormProblem fault={fault} />
      <div className="flex gap-3">
        <Button type="submit" variant="primary" busy={busy}>
          Save
        </Button>
        <Button variant="quiet" onClick={onDone}>
          Cancel
        </Button>
      </div>
    </form>
  );
}
