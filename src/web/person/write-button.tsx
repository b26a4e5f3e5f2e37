/** A button that opens a message to an agent, one tap away from what it asks and does. */

import { Send } from "lucide-react";
import { Suspense, useState } from "react";
import { Button } from "../ui/button.tsx";
import { classes } from "../ui/classes.ts";
import { labelOf, useKey } from "./use-store.ts";
import { WriteToAgent } from "./views.ts";

interface WriteButtonProps {
  /** Id of the agent. */
  readonly id: string;
  readonly variant?: "quiet" | "plain";
  readonly className?: string;
  /** Visible text; by default `Write to the agent`. */
  readonly children?: string;
}

export function WriteButton({ id, variant, className, children }: WriteButtonProps) {
  const [open, setOpen] = useState(false);
  const key = useKey(id);
  const text = children ?? "Write to the agent";
  return (
    <>
      <Button
        variant={variant ?? "quiet"}
        aria-haspopup="dialog"
        aria-label={children === undefined ? undefined : `${text} to ${labelOf(key)}`}
        className={classes(className)}
        onClick={() => setOpen(true)}
      >
        <Send aria-hidden className="size-4" />
        {text}
      </Button>
      <Suspense>{open && <WriteToAgent id={id} onClosed={() => setOpen(false)} />}</Suspense>
    </>
  );
}
