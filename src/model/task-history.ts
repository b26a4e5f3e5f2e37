/** The history of a task (§2.17, §5.5.7): what a change adds to it, and how it is stored; pure. */

import { z } from "zod";
import { LIMITS } from "../limits.ts";
import { type Task, TaskStatus } from "./task.ts";
import { Timestamp } from "./text.ts";

const By = z.enum(["agent", "account", "server"]).meta({ id: "HistoryBy" });
type By = z.infer<typeof By>;

export const HistoryEntry = z
  .object({
    at: Timestamp.meta({ description: "When the task got these values" }),
    by: By.meta({ description: "Who made the change; `server` if that is not known" }),
    status: TaskStatus,
    progress: z.int().nullable(),
    status_note: z.string().nullable(),
  })
  .meta({ id: "HistoryEntry" });
export type HistoryEntry = z.infer<typeof HistoryEntry>;

/**
 * An entry as it is stored: one line, short, since every change of a task writes it. The time in milliseconds to base 36, a
 * space, the codes of `by` and `status`, `progress`, a space, and the note; a value that is null is empty.
 */
type Line = string;

const BY_CODES: Readonly<Record<By, string>> = { agent: "a", account: "p", server: "s" };
const STATUS_CODES: Readonly<Record<Task["status"], string>> = {
  todo: "t",
  in_progress: "i",
  done: "d",
  cancelled: "c",
};

const inverse = <T extends string>(codes: Readonly<Record<T, string>>): ReadonlyMap<string, T> =>
  new Map(Object.entries<string>(codes).map(([value, code]) => [code, value as T]));
const BY_OF_CODE = inverse(BY_CODES);
const STATUS_OF_CODE = inverse(STATUS_CODES);

/** Consecutive entries, oldest first. The entries of a task are numbered from 1. */
interface Entries {
  /** The number of the first one. */
  readonly first: number;
  readonly lines: readonly Line[];
}

/** Entries that are moved at once from the row of the task to a row of their own. */
export const BLOCK = 16;
/** Entries that the row of the task has at most. Two are always left: the last may be replaced. */
const RECENT = BLOCK + 1;

/** What a change does to the history of its task. */
interface HistoryChange {
  /** The newest entries, as stored in the row of the task. */
  readonly recent: string;
  /** Entries that are moved out of that row, and the number of the last one. */
  readonly moved: { readonly seq: number; readonly entries: string } | null;
}

const ms = (seconds: number): number => Math.round(seconds * 1000);

/** The values of a task in a line, after the code of `by`. */
const stateOf = ({ status, progress, status_note }: Task): string =>
  // A note is one line; an old version may have stored another.
  `${STATUS_CODES[status]}${progress ?? ""} ${status_note?.replaceAll("\n", " ") ?? ""}`;

const lineOf = (at: number, by: By, state: string): Line =>
  `${ms(at).toString(36)} ${BY_CODES[by]}${state}`;

const timeOf = (line: Line): number => Number.parseInt(line, 36);
const stateIn = (line: Line): string => line.slice(line.indexOf(" ") + 2);

/** True if two different states differ in progress alone. */
const differInProgress = (a: string, b: string): boolean =>
  a[0] === b[0] && a.slice(a.indexOf(" ")) === b.slice(b.indexOf(" "));

/** The text of the row of the task: the number of the first entry, then the entries. */
const packRecent = (first: number, lines: readonly Line[]): string =>
  `${first}\n${lines.join("\n")}`;

const firstLine = (task: Task): Line =>
  lineOf(task.created_at, task.source === "agent" ? "agent" : "account", stateOf(task));

/** The history that a new task begins with. */
export const newHistory = (task: Task): string => packRecent(1, [firstLine(task)]);

/**
 * The newest entries of the task, at least one. `stored` is null for a task of an older version. What such a version
 * changed, nobody knows who did.
 */
function recentOf(stored: string | null, task: Task): Entries {
  const now = () => lineOf(task.updated_at, "server", stateOf(task));
  if (stored === null) {
    return { first: 1, lines: [task.created_at === task.updated_at ? firstLine(task) : now()] };
  }
  const [first, ...lines] = stored.split("\n");
  const is_complete = stateIn(lines.at(-1)!) === stateOf(task);
  return { first: Number(first), lines: is_complete ? lines : [...lines, now()] };
}

/**
 * The history after the change of a task from `before` to `after`; null if the change is not a part of it. `stored`:
 * that of the row before the change.
 */
export function changeHistory(
  stored: string | null,
  before: Task,
  after: Task,
  by: "account" | "key" | "server",
): HistoryChange | null {
  const state = stateOf(after);
  if (state === stateOf(before)) return null;
  const { first, lines } = recentOf(stored, before);
  const [last_but_one, last] = [lines.at(-2), lines.at(-1)!];
  const replaces =
    last_but_one !== undefined &&
    differInProgress(stateIn(last), state) &&
    differInProgress(stateIn(last_but_one), stateIn(last)) &&
    timeOf(last) > ms(after.updated_at) - ms(LIMITS.history_merge);
  const line = lineOf(after.updated_at, by === "key" ? "agent" : by, state);
  const next = [...(replaces ? lines.slice(0, -1) : lines), line];
  if (next.length <= RECENT) return { recent: packRecent(first, next), moved: null };
  const then = first + BLOCK;
  return {
    recent: packRecent(then, next.slice(BLOCK)),
    moved: { seq: then - 1, entries: next.slice(0, BLOCK).join("\n") },
  };
}

/** A block of entries as {@link changeHistory} moved it. */
interface Block {
  readonly seq: number;
  readonly entries: string;
}

/** A numbered entry, or null for one of a newer version. */
interface Numbered {
  readonly seq: number;
  readonly entry: HistoryEntry | null;
}

function unpack(line: Line): HistoryEntry | null {
  const codes = line.indexOf(" ") + 1;
  const end = line.indexOf(" ", codes);
  const by = BY_OF_CODE.get(line[codes]!);
  const status = STATUS_OF_CODE.get(line[codes + 1]!);
  if (by === undefined || status === undefined) return null;
  const progress = line.slice(codes + 2, end);
  return {
    at: timeOf(line) / 1000,
    by,
    status,
    progress: progress === "" ? null : Number(progress),
    status_note: line.slice(end + 1) || null,
  };
}

const newestFirst = ({ first, lines }: Entries): Numbered[] =>
  lines.map((line, i) => ({ seq: first + i, entry: unpack(line) })).reverse();

/** The entries that the row of a task has, newest first, and the number of the oldest that is kept. */
export function readRecent(stored: string | null, task: Task) {
  const recent = recentOf(stored, task);
  const newest = recent.first + recent.lines.length - 1;
  return {
    first: recent.first,
    oldest: Math.max(1, newest - LIMITS.history_per_task + 1),
    entries: newestFirst(recent),
  };
}

/** The entries of a block, newest first. */
export function readBlock({ seq, entries }: Block): Numbered[] {
  const lines = entries.split("\n");
  return newestFirst({ first: seq - lines.length + 1, lines });
}
