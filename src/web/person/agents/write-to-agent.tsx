/** A sheet with a message to one agent, over the view that the person is in. */

import { useState } from "react";
import { Sheet } from "../../ui/dialog.tsx";
import { labelOf, useKey } from "../use-store.ts";
import { MessageForm } from "./inbox.tsx";

export function WriteToAgent({ id, onClosed }: { id: string; onClosed: () => void }) {
  const key = useKey(id);
  const [open, setOpen] = useState(true);
  const close = () => setOpen(false);
  return (
    <Sheet
      open={open}
      onClose={close}
      onClosed={onClosed}
      title={
        <>
          Write to <bdi>{labelOf(key)}</bdi>
        </>
      }
    >
      <MessageForm id={id} onSent={close} />
    </Sheet>
  );
}
