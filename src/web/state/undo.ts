/** Changes that the person can undo for some seconds: in the memory of this tab alone. */

import { after, machineNow } from "../clock.ts";
import { createObservable } from "../observable.ts";

/** Seconds in which a change can be undone. */
const UNDO = 6;
/** Most seconds that the focus or the pointer at its button adds. */
const HELD = 60;
/** Seconds by which the date may differ when a timer fires; the machine slept, or its clock was set, if it is more. */
const OFF = 3;
/** Most changes that can be undone at once; one more ends the time of the oldest. */
const MOST = 3;

/** A change that was made (`undo`), or that is made when its time is over (`make`). */
export interface Change {
  /** Such as `Task finished`. */
  readonly title: string;
  /** The name of its only subject; null if there are several. */
  readonly name: string | null;
  /** Ids of its subjects. */
  readonly ids: readonly string[];
  /** Takes back what was made. Resolves to why not, for the person; null if it was taken back. */
  readonly undo?: () => Promise<string | null>;
  /** Makes what waits, and tells the person if it fails. Lists leave its subjects out meanwhile. */
  readonly make?: () => Promise<void>;
}

export interface Undoable extends Change {
  readonly id: number;
  /** True while it is being made: too late to undo it. */
  readonly is_over: boolean;
}

export type Undo = ReturnType<typeof createUndo>;

/** The changes of a session that can be undone. After `ended` aborts, none is made. */
export function createUndo(ended: AbortSignal) {
  const changes = createObservable<readonly Undoable[]>([]);
  const timers = new Map<number, () => void>();
  /** Of changes whose time is over, until they are made. */
  const ends = new Map<number, Promise<void>>();
  let last_id = 0;

  const find = (id: number) => changes.get().find((one) => one.id === id && !one.is_over);
  const stop = (id: number) => {
    timers.get(id)?.();
    timers.delete(id);
  };
  const remove = (id: number) => {
    stop(id);
    changes.set(changes.get().filter((one) => one.id !== id));
  };
  const end = async (id: number) => {
    const make = find(id)?.make;
    stop(id);
    changes.set(changes.get().map((one) => (one.id === id ? { ...one, is_over: true } : one)));
    await make?.();
    remove(id);
  };
  /** Ends the time of a change, once. */
  const endOnce = (id: number): Promise<void> => {
    const ending = ends.get(id) ?? end(id).finally(() => ends.delete(id));
    ends.set(id, ending);
    return ending;
  };
  const wait = (id: number, seconds: number) => {
    stop(id);
    const due = machineNow() + seconds;
    timers.set(
      id,
      after(seconds, () => {
        // Nobody saw the bar while the machine slept.
        if (Math.abs(machineNow() - due) > OFF) wait(id, UNDO);
        else void endOnce(id);
      }),
    );
  };
  ended.addEventListener("abort", () => {
    for (const { id } of changes.get()) remove(id);
  });

  return {
    /** The changes, the oldest first; another array after each change. */
    all: changes.get,

    subscribe: changes.subscribe,

    add(change: Change): void {
      const id = ++last_id;
      changes.set([...changes.get(), { ...change, id, is_over: false }]);
      wait(id, UNDO);
      const open = changes.get().filter(({ is_over }) => !is_over);
      for (const one of open.slice(0, -MOST)) void endOnce(one.id);
    },

    /** Takes a change back. Resolves to why not, for the person; null if it was taken back. */
    async undo(id: number): Promise<string | null> {
      const found = find(id);
      if (!found) return "Too late to undo";
      remove(id);
      return (await found.undo?.()) ?? null;
    },

    /** Keeps the time from running out while the person is at the button; afterwards it begins again. */
    hold(id: number, is_held: boolean): void {
      if (find(id)) wait(id, is_held ? HELD : UNDO);
    },

    /** Ends the time of all changes. Resolves once those that waited are made. */
    async flush(): Promise<void> {
      await Promise.all(changes.get().map(({ id }) => endOnce(id)));
    },
  };
}
