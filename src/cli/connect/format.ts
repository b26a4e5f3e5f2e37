/** The interface that both formats of configuration files, JSON and TOML, implement. */

/** Says why a file is left alone. The message follows the file's path, such as "cannot be parsed". */
export class Refusal extends Error {}

/** Why an entry or a hook that somebody else wrote is left alone in TOML. */
export const NOT_ADDED = "has an entry for relay that was not added by relay connect";

/** Names of members and indexes of elements, from the root. */
export type Path = readonly (string | number)[];

export type Value =
  | string
  | number
  | boolean
  | { readonly [name: string]: Value }
  | readonly Value[];

/** Changes a text in one place and keeps every other byte. Throws {@link Refusal} if it cannot. */
export interface Format {
  /** The value of the whole text; an empty object if it is blank. */
  readonly read: (text: string) => unknown;
  /** Adds a member at a path, or appends an element to the array at it. Makes the objects that lead there. */
  readonly add: (text: string, path: Path, value: Value, as: "member" | "element") => string;
  /** Replaces the string at a path. */
  readonly replace: (text: string, path: Path, value: string) => string;
  /** Removes Relay's members and elements, which are at these paths; those of one array in its order. */
  readonly remove: (text: string, paths: readonly Path[]) => string;
  /** Removes the object or array at a path if it is empty, without even a comment in it. */
  readonly prune: (text: string, path: Path) => string;
}

/** The first line break of a text. */
export const eolOf = (text: string): "\n" | "\r\n" =>
  /\r?\n/.exec(text)?.[0] === "\r\n" ? "\r\n" : "\n";

const MARK = "\ufeff";

/** Makes a format accept texts with a byte order mark, which is kept. */
export function behindMark({ read, add, replace, remove, prune }: Format): Format {
  const mark = (text: string) => (text.startsWith(MARK) ? MARK : "");
  const rest = (text: string) => text.slice(mark(text).length);
  return {
    read: (text) => read(rest(text)),
    add: (text, ...given) => mark(text) + add(rest(text), ...given),
    replace: (text, ...given) => mark(text) + replace(rest(text), ...given),
    remove: (text, ...given) => mark(text) + remove(rest(text), ...given),
    prune: (text, ...given) => mark(text) + prune(rest(text), ...given),
  };
}

/** The value at a path; undefined if there is none. */
export function valueAt(root: unknown, path: Path): unknown {
  let value = root;
  for (const name of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name))
      return undefined;
    value = (value as Record<string | number, unknown>)[name];
  }
  return value;
}

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
