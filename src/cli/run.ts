/** `relay run`: a task for a long command, from its start to its end. */

import { stripVTControlCharacters } from "node:util";
import type { Client } from "../client/client.ts";
import { createIdempotencyKey } from "../client/idempotency.ts";
import { retry } from "../client/retry.ts";
import { pause } from "../client/timers.ts";
import type { TaskPatch } from "../model/task.ts";
import type { Observe } from "./child.ts";
import { oneLine } from "./escape.ts";
import type { Io } from "./io.ts";
import { openSession } from "./session.ts";

/** Seconds between two reports. */
const REPORT_EVERY = 2;
/** Seconds within which the end is reported; until then the command line does not exit. */
const END_WITHIN = 15;
/**
 * Seconds after the end within which attempts to create the task begin. The rest of {@link END_WITHIN} is for the
 * response and for the report of the end.
 */
const CREATE_WITHIN = 8;
/** Characters of a title and of a note (§10.1). */
const [TITLE, NOTE] = [200, 200];

interface RunOptions {
  readonly title?: string;
}

/** Runs `command`, passes its output to `observe`, and returns its exit code. */
export type RunChild = (
  io: Pick<Io, "env" | "timers">,
  command: readonly string[],
  observe: Observe,
) => Promise<number>;

/** Returns the exit code of the command. An unreachable server does not delay the command. */
export async function run(
  io: Io,
  command: readonly string[],
  { title = command.join(" ") }: RunOptions,
  runChild: RunChild,
): Promise<number> {
  const { client } = await openSession(io);
  const begun = io.timers.elapsed();
  const last = createLastLine();
  const reporter = createReporter(io, client, cutTo(oneLine(title), TITLE), () => {
    const { text, percent } = last.read();
    return {
      ...(text !== null && { status_note: text }),
      ...(percent !== null && { progress: percent }),
    };
  });
  const finish = async (outcome: string, status: "done" | "cancelled") => {
    const { text } = last.read();
    const time = timeText(io.timers.elapsed() - begun);
    const status_note = cutTo(`${outcome} after ${time}${text ? `: ${text}` : ""}`, NOTE);
    await reporter.end({ status, status_note });
  };
  try {
    const code = await runChild(io, command, last.add);
    await finish(`Exit code ${code}`, code === 0 ? "done" : "cancelled");
    return code;
  } catch (error) {
    await finish("Not started", "cancelled");
    throw error;
  }
}

/** Creates the task and keeps it up to date with `state`, one request at a time. */
function createReporter(io: Io, client: Client, title: string, state: () => TaskPatch) {
  const ended = new AbortController();
  const given_up = new AbortController();
  let reported = "";
  let id: string | undefined;

  const idempotency_key = createIdempotencyKey();
  // The end of the command does not cut off a request: the task that it may have made would never end.
  const attempt = () =>
    client.tasks.create(
      { title, status: "in_progress" },
      { idempotency_key, signal: given_up.signal },
    );
  const create = async () => {
    const always = { within: Number.MAX_SAFE_INTEGER, signal: ended.signal };
    const task = await retry(io.timers, always, attempt).catch((error: unknown) => {
      if (error !== ended.signal.reason) throw error;
      // The command ended during the pause between two attempts.
      return retry(io.timers, { within: CREATE_WITHIN, signal: given_up.signal }, attempt);
    });
    id = task.id;
  };
  const nap = () => pause(io.timers, REPORT_EVERY, ended.signal).catch(() => {});
  const follow = async () => {
    await create();
    while (!ended.signal.aborted) {
      await nap();
      const patch = state();
      const text = JSON.stringify(patch);
      if (ended.signal.aborted || text === reported || id === undefined) continue;
      try {
        await client.tasks.update(id, patch, { signal: ended.signal });
        reported = text;
      } catch {
        // The next report makes up for a lost one.
      }
    }
  };
  const following = follow();
  following.catch(() => {});

  return {
    async end(patch: TaskPatch): Promise<void> {
      ended.abort(new Error("the command has ended"));
      const cancel = io.timers.after(END_WITHIN, () => given_up.abort(new Error("no answer")));
      const { signal } = given_up;
      try {
        await following;
        await retry(io.timers, { within: END_WITHIN, signal }, () =>
          client.tasks.update(id!, patch, { signal }),
        );
      } catch (error) {
        const why = error instanceof Error ? oneLine(error.message) : "no answer";
        io.err(`relay: the end of the command could not be reported: ${why}\n`);
      } finally {
        cancel();
      }
    },
  };
}

/** `3 s`, `2 min 5 s`, `1 h 3 min`. */
export function timeText(seconds: number): string {
  const whole = Math.round(seconds);
  const [h, min, s] = [Math.floor(whole / 3_600), Math.floor(whole / 60) % 60, whole % 60];
  if (h > 0) return `${h} h ${min} min`;
  return min > 0 ? `${min} min ${s} s` : `${s} s`;
}

/** Bytes of the output that are kept: a progress bar with its colours is shorter. */
const KEPT = 4_096;

/** What a terminal shows for Ctrl-C, Ctrl-Z and Ctrl-\\. */
const TYPED = /^(?:\^[CZ\\])+|(?:\^[CZ\\])+$/g;

interface LastLine {
  /** At most 200 characters, without colours; null before the first. */
  readonly text: string | null;
  /** The last percentage in it, 0 to 100; null if there is none. */
  readonly percent: number | null;
}

/** Reads the last line of output that comes in pieces; the cost of a piece does not grow with its length. */
export function createLastLine() {
  let kept: Uint8Array = new Uint8Array(0);
  return {
    add(bytes: Uint8Array): void {
      kept = Buffer.concat([kept, bytes.subarray(-KEPT)]).subarray(-KEPT);
    },

    read(): LastLine {
      const text = stripVTControlCharacters(new TextDecoder().decode(kept));
      // A carriage return begins the line anew, as in progress bars.
      const lines = text
        .split(/[\r\n]+/)
        .map((line) => line.replace(/\p{C}/gu, " ").trim().replace(TYPED, "").trim());
      const line = lines.findLast((its) => /\S/.test(its));
      if (line === undefined) return { text: null, percent: null };
      const numbers = [...line.matchAll(/(?<![\d.])(\d{1,3})(?:\.\d+)? ?%/g)];
      const percent = numbers.map(([, digits]) => Number(digits)).findLast((n) => n <= 100);
      return { text: cutTo(line, NOTE), percent: percent ?? null };
    },
  };
}

/** Cuts a text to `length` code points. */
function cutTo(text: string, length: number): string {
  const points = [...text];
  return points.length <= length ? text : `${points.slice(0, length - 1).join("")}…`;
}
