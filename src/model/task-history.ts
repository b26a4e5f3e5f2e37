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

/**
 * Characters of history in the row of a task, above which all but the last two entries leave it. Those stay, since the
 * last may be replaced.
 */
const ROW_SIZE = 512;

/** Entries that leave the row of a task, and the number of the first one. */
export interface HistoryBlock {
  readonly seq: number;
  readonly entries: string;
}

/** What a change does to the history of its task. */
interface HistoryChange {
  /** The newest entries, as stored in the row of the task. */
  readonly recent: string;
  readonly moved: HistoryBlock | null;
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

/** The text in the row of a task: the number of the first entry, then the entries. */
const packRecent = (first: number, lines: readonly Line[]): string =>
  `${first}\n${lines.join("\n")}`;

/** True if the two lines differ in progress alone. */
function isOnlyProgress(before: Line, line: Line): boolean {
  const [a, b] = [stateIn(before), stateIn(line)];
  return a[0] === b[0] && a.slice(a.indexOf(" ")) === b.slice(b.indexOf(" "));
}

const firstLine = (task: Task): Line =>
  lineOf(task.created_at, task.source === "agent" ? "agent" : "account", stateOf(task));

/** The history that a new task begins with. */
export const newHistory = (task: Task): string => packRecent(1, [firstLine(task)]);

/**
 * The history of the task as it is now, at least one entry. `stored` is null for a task of an older version. What such a
 * version changed, nobody knows who did.
 */
function completed(stored: string | null, task: Task): string {
  const state = stateOf(task);
  if (stored !== null && stateIn(lastLine(stored)) === state) return stored;
  const now = lineOf(task.updated_at, "server", state);
  if (stored !== null) return `${stored}\n${now}`;
  return packRecent(1, [task.created_at === task.updated_at ? firstLine(task) : now]);
}

const lastLine = (text: string): Line => text.slice(text.lastIndexOf("\n") + 1);

function parse(text: string): Entries {
  const [first, ...lines] = text.split("\n");
  return { first: Number(first), lines };
}

/** True if a change of progress alone at `at_ms` replaces the last entry of `text`. */
function isReplaced(text: string, at_ms: number): boolean {
  const { lines } = parse(text);
  const [before, last] = lines.slice(-2);
  if (before === undefined || last === undefined || !isOnlyProgress(before, last)) return false;
  return timeOf(last) > at_ms - ms(LIMITS.history_merge);
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
  const is_only_progress =
    after.status === before.status && after.status_note === before.status_note;
  if (is_only_progress && after.progress === before.progress) return null;
  const now = completed(stored, before);
  const line = lineOf(after.updated_at, by === "key" ? "agent" : by, stateOf(after));
  const replaces = is_only_progress && isReplaced(now, ms(after.updated_at));
  const recent = `${replaces ? now.slice(0, now.lastIndexOf("\n")) : now}\n${line}`;
  if (recent.length <= ROW_SIZE) return { recent, moved: null };
  const { first, lines } = parse(recent);
  if (lines.length <= 2) return { recent, moved: null };
  return {
    recent: packRecent(first + lines.length - 2, lines.slice(-2)),
    moved: { seq: first, entries: lines.slice(0, -2).join("\n") },
  };
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
  const recent = parse(completed(stored, task));
  const newest = recent.first + recent.lines.length - 1;
  return { first: recent.first, oldest: oldestKept(newest), entries: newestFirst(recent) };
}

/** The number of the oldest entry that is kept beside one with the number `newest`. */
export const oldestKept = (newest: number): number =>
  Math.max(1, newest - LIMITS.history_per_task + 1);

/** The entries of a block, newest first. */
export const readBlock = ({ seq, entries }: HistoryBlock): Numbered[] =>
  newestFirst({ first: seq, lines: entries.split("\n") });
