/** Which tasks of the list are chosen, to be finished or deleted together; and the keys and gestures that choose. */

import { type RefObject, useEffect, useRef, useState } from "react";
import { after } from "../../clock.ts";
import { toast } from "../../ui/toast.tsx";
import { keyOf } from "../questions/answer-keys.ts";
import type { Row } from "./task-list.tsx";

/** Most tasks that can be chosen. */
const MOST = 200;

export interface Choice {
  /** Ids of the chosen tasks; null while tasks are not being chosen. */
  readonly chosen: ReadonlySet<string> | null;
  readonly start: () => void;
  readonly stop: () => void;
  /** Chooses a task, or not any more; with `range`, chooses all from the last one to this. */
  readonly toggle: (id: string, range: boolean) => void;
  /** Chooses all tasks that are listed. */
  readonly chooseAll: () => void;
}

/** `filter`: the filter of the list; another one ends the choice. */
export function useChoice(rows: readonly Row[], filter: string): Choice {
  const [choice, setChoice] = useState<{ ids: ReadonlySet<string>; filter: string } | null>(null);
  const last = useRef<string | null>(null);
  const chosen = choice?.filter === filter ? choice.ids : null;
  const now = useRef({ rows, chosen, filter });
  now.current = { rows, chosen, filter };
  const [actions] = useState(() => {
    const listed = () =>
      now.current.rows.filter(({ kind }) => kind === "task").map(({ id }): string => id);
    const set = (ids: ReadonlySet<string>) => {
      if (ids.size > MOST) toast(`At most ${MOST} tasks can be chosen`);
      const most = new Set([...ids].slice(0, MOST));
      setChoice({ ids: most, filter: now.current.filter });
    };
    return {
      start: () => set(new Set()),
      stop: () => setChoice(null),
      toggle(id: string, range: boolean) {
        const ids = new Set(now.current.chosen);
        const all = listed();
        const [from, to] = [all.indexOf(last.current ?? ""), all.indexOf(id)];
        if (range && from >= 0 && to >= 0) {
          for (const one of all.slice(Math.min(from, to), Math.max(from, to) + 1)) ids.add(one);
        } else if (!ids.delete(id)) ids.add(id);
        last.current = id;
        set(ids);
      },
      chooseAll: () => set(new Set(listed())),
    };
  });
  return { chosen, ...actions };
}

/** Seconds for which a finger stays on a task to choose it. */
const LONG = 0.5;
/** Pixels by which it may move. */
const SLACK = 10;

/** Lets X, Shift + X and a long press choose tasks of the list, and Escape end the choice. */
export function useChoiceInput(list: RefObject<HTMLElement | null>, choice: Choice): void {
  const latest = useRef(choice);
  latest.current = choice;
  useEffect(() => {
    const ended = new AbortController();
    const { signal } = ended;
    let cancel: (() => void) | undefined;
    let start = { x: 0, y: 0 };
    let is_touch = false;
    /** True from a long press until the finger is gone: its click is not one. */
    let is_long = false;
    const taskOf = ({ target }: Event): string | undefined =>
      (target as Element).closest<HTMLElement>("[data-task]")?.dataset.task;
    const stop = () => {
      cancel?.();
      cancel = undefined;
    };
    const onPointerDown = (event: PointerEvent) => {
      stop();
      is_long = false;
      is_touch = event.pointerType === "touch";
      const id = taskOf(event);
      if (!is_touch || id === undefined || latest.current.chosen) return;
      start = event;
      cancel = after(LONG, () => {
        is_long = true;
        latest.current.toggle(id, false);
      });
    };
    const onPointerMove = ({ x, y }: PointerEvent) => {
      if (Math.hypot(x - start.x, y - start.y) > SLACK) stop();
    };
    const onClick = (event: MouseEvent) => {
      if (!is_long || event.detail === 0) return;
      is_long = false;
      event.preventDefault();
      event.stopPropagation();
    };
    // The browser's own menu for a link.
    const onContextMenu = (event: MouseEvent) => {
      if (is_touch && taskOf(event) !== undefined) event.preventDefault();
    };
    const onKeyDown = (event: KeyboardEvent) => {
      const { chosen, toggle, stop: end } = latest.current;
      if (event.defaultPrevented || event.repeat) return;
      const target = event.target as HTMLElement;
      if (target.closest("input, textarea, select, [role$=dialog]")) return;
      const id = taskOf(event);
      if (event.key === "Escape" && chosen && !document.querySelector("[role$=dialog]")) end();
      else if (keyOf(event) === "X" && id !== undefined) toggle(id, event.shiftKey);
      else return;
      event.preventDefault();
    };
    const of = list.current;
    of?.addEventListener("pointerdown", onPointerDown, { signal });
    of?.addEventListener("pointermove", onPointerMove, { signal });
    of?.addEventListener("click", onClick, { signal, capture: true });
    of?.addEventListener("contextmenu", onContextMenu, { signal });
    for (const name of ["pointerup", "pointercancel", "scroll"]) {
      window.addEventListener(name, stop, { signal, passive: true });
    }
    // Before the keys of the whole page.
    document.addEventListener("keydown", onKeyDown, { signal, capture: true });
    return () => {
      stop();
      ended.abort();
    };
  }, [list]);
}
