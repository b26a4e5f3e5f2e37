/** What waiting changes cover: resources that views see as they will be, while the server still has them as they are. */

import type { Task } from "./api.ts";
import type { Kind, Resources } from "./store.ts";

/** How a resource is covered: views don't see it, or see it changed. */
export type Cover = "hidden" | ((task: Task) => Task);

/** Covers by the id of a task or key. What belongs to a hidden one is hidden too. */
export type Covers = ReadonlyMap<string, Cover>;

/** The covered resources of a store, as the server has them. */
export function createCovered() {
  let covers: Covers = new Map();
  const held: { readonly [K in Kind]: Map<string, Resources[K]> } = {
    keys: new Map(),
    tasks: new Map(),
    questions: new Map(),
  };
  const mapOf = <K extends Kind>(kind: K) => held[kind] as Map<string, Resources[K]>;

  /** The resource as the views see it; null if they don't. */
  const seen = <K extends Kind>(value: Resources[K]): Resources[K] | null => {
    const cover = covers.get(value.id);
    if (cover === "hidden" || ("key_id" in value && covers.get(value.key_id) === "hidden")) {
      return null;
    }
    // A deletion of the task cancels them. Those that have ended stay.
    if ("task_id" in value && value.status === "pending" && value.task_id !== null) {
      return covers.get(value.task_id) === "hidden" ? null : value;
    }
    return cover ? (cover(value as Task) as Resources[K]) : value;
  };

  return {
    get: <K extends Kind>(kind: K, id: string): Resources[K] | undefined => mapOf(kind).get(id),

    values: <K extends Kind>(kind: K): Iterable<Resources[K]> => mapOf(kind).values(),

    /** Sets the covers. Returns the ids of tasks and keys whose cover is another one now. */
    set(next: Covers): ReadonlySet<string> {
      const ids = [...covers.keys(), ...next.keys()];
      const changed = new Set(ids.filter((id) => covers.get(id) !== next.get(id)));
      covers = next;
      return changed;
    },

    /** Notes a resource as the server has it; returns it as the views see it. */
    put<K extends Kind>(kind: K, value: Resources[K]): Resources[K] | null {
      const shown = covers.size === 0 ? value : seen(value);
      if (shown === value) mapOf(kind).delete(value.id);
      else mapOf(kind).set(value.id, value);
      return shown;
    },

    /** True if it was covered. */
    remove: (kind: Kind, id: string): boolean => held[kind].delete(id),
  };
}
