/** Bars that undo what the person has just changed. */

import { type PointerEvent, useEffect, useRef } from "react";
import type { Undo, Undoable } from "../state/undo.ts";
import { InDock } from "../ui/dock.tsx";
import { toast } from "../ui/toast.tsx";
import { say } from "./questions/announcer.tsx";
import { useSession, useUndoable } from "./use-store.ts";

/** Takes a change back; false if that failed, which it says. */
async function takeBack(undo: Undo, id: number): Promise<boolean> {
  const why = await undo.undo(id);
  if (why === null) say("Undone");
  else toast(why, { bad: true });
  return why === null;
}

export function UndoBars() {
  const open = useUndoable().filter(({ is_over }) => !is_over);
  useUndoKey();
  if (open.length === 0) return null;
  return (
    <InDock>
      <section aria-label="Recent changes" className="contents">
        {open.map((one) => (
          <Bar key={one.id} change={one} />
        ))}
      </section>
    </InDock>
  );
}

function Bar({ change }: { change: Undoable }) {
  const { undo } = useSession();
  const { id, title, name, ids, make } = change;
  const held = useRef(false);
  /** The time does not run out while the person is at the button. */
  const hold = (is_held: boolean) => {
    if (held.current === is_held) return;
    held.current = is_held;
    undo.hold(id, is_held);
  };
  useEffect(
    () => () => {
      if (held.current) undo.hold(id, false);
    },
    [id, undo],
  );
  // A pointer that was there before the bar does not count.
  const onPointerMove = ({ pointerType, movementX, movementY }: PointerEvent) =>
    pointerType === "mouse" && (movementX !== 0 || movementY !== 0) && hold(true);
  const onClick = async () => {
    held.current = false;
    if (await takeBack(undo, id)) focusLater(ids[0]!);
  };
  return (
    <fieldset
      aria-labelledby={`${id}-done`}
      onPointerMove={onPointerMove}
      onPointerLeave={() => hold(false)}
      onFocus={() => hold(true)}
      onBlur={() => hold(false)}
      // Where there is little room, the last one alone is shown.
      className="flex min-w-0 items-center gap-2 rounded-xl bg-ink py-1 pr-1 pl-4 text-bg shadow-lift [@media(max-height:40rem)]:not-last:hidden"
    >
      <p id={`${id}-done`} className="min-w-0 flex-1 py-1.5">
        <span className="flex gap-1 whitespace-nowrap">
          <span className="font-medium">{title}</span>
          {name !== null && (
            <>
              {" "}
              <bdi className="truncate">{name}</bdi>
            </>
          )}
        </span>
        {make && (
          <span className="block text-sm">
            {`If you close this page, ${ids.length === 1 ? "it stays" : "they stay"}.`}
          </span>
        )}
      </p>
      <button
        type="button"
        aria-describedby={`${id}-done`}
        aria-keyshortcuts="Control+Z Meta+Z"
        title="Undo (Ctrl + Z)"
        onClick={() => void onClick()}
        className="touch shrink-0 rounded-lg px-4 font-semibold underline-offset-4 outline-bg hover:underline"
      >
        Undo
      </button>
    </fieldset>
  );
}

/** Frames in which what is undone should be back in the view. */
const FRAMES = 10;

/** Focuses what is back in the view once it is rendered. */
function focusLater(id: string, frames = FRAMES): void {
  const links = ["#/tasks/", "#/agents/"].map((to) => `a[href^="${to}${id}"]`).join();
  requestAnimationFrame(() => {
    const found = document.querySelector<HTMLElement>(
      `main :is(${links}, button[data-task="${id}"])`,
    );
    if (found) found.focus({ preventScroll: true });
    else if (frames > 0) focusLater(id, frames - 1);
  });
}

/** Undoes the last change by Ctrl + Z or ⌘ Z, except where that undoes typing. */
function useUndoKey(): void {
  const { undo } = useSession();
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const { key, code, ctrlKey, metaKey, shiftKey, altKey, target } = event;
      // Where the layout has no Latin letters, the position of the key counts.
      const is_z = key.toLowerCase() === "z" || (code === "KeyZ" && !/^[a-z]$/i.test(key));
      if (!is_z || !(ctrlKey || metaKey) || shiftKey || altKey || event.defaultPrevented) return;
      if ((target as Element).closest("input:not([type=checkbox]), textarea, select")) return;
      if (document.querySelector("[role=alertdialog]")) return;
      const last = undo.all().findLast(({ is_over }) => !is_over);
      if (!last) return;
      event.preventDefault();
      void takeBack(undo, last.id);
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, [undo]);
}
