/** Keys that work in every view, unless the person types or a dialog is open. */

import { useEffect, useRef } from "react";

/** Runs an action when its key is pressed. `actions`: by `KeyboardEvent.key`. */
export function useGlobalKeys(actions: Readonly<Record<string, () => void>>): void {
  const latest = useRef(actions);
  latest.current = actions;
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const { key, target, repeat, ctrlKey, metaKey, altKey, defaultPrevented } = event;
      const action = latest.current[key];
      if (!action || repeat || ctrlKey || metaKey || altKey || defaultPrevented) return;
      if ((target as Element).closest("input, textarea, select, [role$=dialog]")) return;
      if (document.querySelector("[role$=dialog]")) return;
      event.preventDefault();
      action();
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, []);
}
