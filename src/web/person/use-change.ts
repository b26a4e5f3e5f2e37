/** Makes changes that the person can undo. */

import { useSyncExternalStore } from "react";
import type { Key, Task } from "../state/api.ts";
import { type ChangeAction, isOpen, type WaitingChange } from "../state/changes.ts";
import { toast } from "../ui/toast.tsx";
import { useSession } from "./use-store.ts";

/** All waiting and refused changes, the oldest first. */
export function useWaitingChanges(): readonly WaitingChange[] {
  const { waitingChanges } = useSession();
  return useSyncExternalStore(waitingChanges.subscribe, waitingChanges.all);
}

/** A function that changes tasks, or deletes an agent; false if nothing was done, which it says. */
export function useChange() {
  const { store, waitingChanges } = useSession();
  return (action: ChangeAction, things: readonly (Task | Key)[]): boolean => {
    const subjects = things.map((one) => {
      if (!("title" in one)) return { id: one.id, name: one.label };
      // The view may show it as an earlier change will leave it.
      const { status } = store.held("tasks", one.id) ?? one;
      return { id: one.id, name: one.title, was_open: isOpen(status) };
    });
    const is_added = waitingChanges.add(action, subjects);
    if (!is_added) toast("Nothing was changed: too many changes wait to be sent", { bad: true });
    return is_added;
  };
}
