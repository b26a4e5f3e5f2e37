/** `relay task`, `relay inbox` and `relay say`. */

import type { Client } from "../client/client.ts";
import type { Item } from "../model/item.ts";
import type { Task, TaskInput, TaskPatch } from "../model/task.ts";
import { jsonLine, manyLines, oneLine } from "./escape.ts";
import { Fault, type Io, type OutputFault } from "./io.ts";
import { openSession } from "./session.ts";

/** Records that a list asks for at once. */
const PAGE = 100;

interface JsonOption {
  readonly json?: boolean;
}

/** A task in one line: id, status with progress, title, note. */
function taskLine({ id, status, progress, title, status_note }: Task): string {
  const state = status === "in_progress" && progress !== null ? `${status} ${progress}%` : status;
  const note = status_note === null ? "" : ` (${oneLine(status_note)})`;
  return `${id}  ${state.padEnd(16)}  ${oneLine(title)}${note}\n`;
}

interface AddOptions extends JsonOption, Omit<TaskInput, "title" | "notify"> {
  readonly quiet?: boolean;
}

export async function addTask(
  io: Io,
  title: string,
  { json, quiet, ...rest }: AddOptions,
): Promise<void> {
  const { client } = await openSession(io);
  const input = { title, ...rest, ...(quiet && { notify: false }) };
  const task = await client.once((given) => client.tasks.create(input, given), {
    signal: io.signal,
  });
  // Alone, so that a script can keep it.
  io.out(json ? jsonLine(task) : `${task.id}\n`);
  await io.flush().catch(({ reason }: OutputFault) => {
    throw new Fault(`the task ${task.id} was added, but its id could not be written: ${reason}`);
  });
}

interface SetOptions extends JsonOption, Omit<TaskPatch, "status_note"> {
  readonly note?: string;
}

export async function setTask(
  io: Io,
  id: string,
  { json, note, ...rest }: SetOptions,
): Promise<void> {
  const patch = { ...rest, ...(note !== undefined && { status_note: note }) };
  if (Object.keys(patch).length === 0)
    throw new Fault("nothing to change: see relay task set --help");
  const { client } = await openSession(io);
  const task = await client.once(({ signal }) => client.tasks.update(id, patch, { signal }), {
    signal: io.signal,
  });
  io.out(json ? jsonLine(task) : taskLine(task));
}

interface ListOptions extends JsonOption {
  readonly status?: readonly Task["status"][];
}

/** Prints all tasks, page by page. */
export async function listTasks(io: Io, { status, json }: ListOptions): Promise<void> {
  const { client } = await openSession(io);
  let cursor: string | null | undefined;
  do {
    const query = { limit: PAGE, ...(status && { status }), ...(cursor && { cursor }) };
    const page = await client.tasks.list(query, { signal: io.signal });
    for (const task of page.tasks) io.out(json ? jsonLine(task) : taskLine(task));
    await io.flush();
    cursor = page.next_cursor;
  } while (cursor !== null);
}

interface InboxOptions extends JsonOption {
  readonly follow?: boolean;
  readonly peek?: boolean;
}

/** Prints the unread items, and marks them as read once they are written, so that none is lost (§5.9.2(5)). */
export async function readInbox(io: Io, { follow, peek, json }: InboxOptions): Promise<void> {
  if (follow && peek) throw new Fault("give --follow or --peek, not both");
  const { client } = await openSession(io);
  const given = { signal: io.signal };
  let ack: string | undefined;
  const print = async (items: readonly Item[]) => {
    for (const item of items) io.out(json ? jsonLine(item) : itemLine(item));
    await io.flush().catch(({ reason }: OutputFault) => {
      throw new Fault(`the items could not be written and stay unread: ${reason}`);
    });
    ack = items.at(-1)?.id ?? ack;
  };
  const query = () => ({ peek: true, limit: PAGE, ...(ack !== undefined && { ack }) });
  try {
    if (peek) await print((await client.inbox.read(query(), given)).items);
    while (!peek) {
      const { items } = follow
        ? await client.inbox.waitForItems(query(), given)
        : await client.inbox.read(query(), given);
      await print(items);
      if (!follow && items.length === 0) return;
    }
  } catch (error) {
    if (!follow || !io.signal.aborted || error instanceof Fault) throw error;
    // Ctrl-C is how `--follow` ends: what was printed counts as read.
    if (ack !== undefined) await client.inbox.read({ ...query(), limit: 1 });
  }
}

/** An item in one line: time, type, sender, what happened. A message keeps its line breaks, indented. */
function itemLine({ created_at, type, from, task, question, changes, text }: Item): string {
  const time = new Date(created_at * 1000).toISOString().replace(/\.\d+Z$/, "Z");
  const sender = from.kind === "key" ? oneLine(from.label ?? "an agent") : "you";
  const title = oneLine(task?.title ?? "");
  const what = {
    "task.created": () => title,
    "task.updated": () => `${title} (${changes.join(", ")})`,
    "task.deleted": () => title,
    "question.answered": () =>
      `${oneLine(question?.prompt ?? "")}: ${oneLine(question?.answer ?? "")}`,
    message: () => manyLines(text ?? "").replaceAll("\n", "\n    "),
  }[type]();
  return `${time}  ${type}  from ${sender}: ${what}\n`;
}

/** Sends a message to the agent with this label or id. */
export async function say(io: Io, to: string, text: string, { json }: JsonOption): Promise<void> {
  const { client } = await openSession(io);
  const key_id = await agentOf(io, client, to);
  const item = await client.once((given) => client.messages.send({ key_id, text }, given), {
    signal: io.signal,
  });
  if (json) io.out(jsonLine(item));
}

async function agentOf(io: Io, client: Client, to: string): Promise<string> {
  const { agents } = await client.agents.list({ signal: io.signal });
  const matches = agents.filter(({ key_id, label }) => key_id === to || label === to);
  if (matches.length === 1) return matches[0]!.key_id;
  if (matches.length > 1) {
    const ids = matches.map(({ key_id }) => key_id).join(", ");
    throw new Fault(`several agents are called ${oneLine(to)}: give one of ${ids}`);
  }
  const labels = agents.filter(({ self }) => !self).map(({ label }) => oneLine(label));
  const others = labels.length === 0 ? "there is no other" : `there are ${labels.join(", ")}`;
  throw new Fault(`no agent is called ${oneLine(to)}: ${others}`);
}
