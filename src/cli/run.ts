/** `relay run`: a task for a long command, from its start to its end. */

import type { Client } from "../client/client.ts";
import { createIdempotencyKey } from "../client/idempotency.ts";
import { retry } from "../client/retry.ts";
import { pause } from "../client/timers.ts";
import type { TaskPatch } from "../model/task.ts";
import type { Observe } from "./child.ts";
import { oneLine } from "./escape.ts";
import type { Io } from "./io.ts";
import { createLastLine, cutTo } from "./last-line.ts";
import { openSession } from "./session.ts";

/** Seconds between two reports. */
const REPORT_EVERY = 2;
/** Seconds within which the end is reported; until then the command line does not exit. */
const END_WITHIN = 15;
/** Seconds after the end in which attempts to create the task begin: the rest is for their answer and its end. */
const CREATE_WITHIN = 8;
/** Characters of a title and of a note (§10.1). */
const [TITLE, NOTE] = [200, 200];

interface RunOptions {
  readonly title?: string;
}

/** Runs `command`, which passes its output to `observe`, and gives its exit code. */
export type RunChild = (
  io: Pick<Io, "env" | "timers">,
  command: readonly string[],
  observe: Observe,
) => Promise<number>;

/** Gives the exit code of the command. A server that is away does not hold the command up. */
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

/** Creates the task and keeps it up to date, one request at a time. */
function createReporter(io: Io, client: Client, title: string, state: () => TaskPatch) {
  const ended = new AbortController();
  const given_up = new AbortController();
  let sent = "";
  let id: string | undefined;

  const idempotency_key = createIdempotencyKey();
  // A request is not cut off at the end of the command: a task that it made would never end.
  const attempt = () =>
    client.tasks.create(
      { title, status: "in_progress" },
      { idempotency_key, signal: given_up.signal },
    );
  const create = async () => {
    const always = { within: Number.MAX_SAFE_INTEGER, signal: ended.signal };
    const task = await retry(io.timers, always, attempt).catch((error: unknown) => {
      if (error !== ended.signal.reason) throw error;
      // The pause between two attempts, which may be a long one, ended with the command.
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
      if (ended.signal.aborted || text === sent || id === undefined) continue;
      // The next report makes up for a lost one.
      await client.tasks.update(id, patch, { signal: ended.signal }).then(
        () => {
          sent = text;
        },
        () => {},
      );
    }
  };
  const following = follow();
  following.catch(() => {});

  return {
    async end(patch: TaskPatch): Promise<void> {
      ended.abort(new Error("the command has ended"));
      const late = Promise.withResolvers<never>();
      const cancel = io.timers.after(END_WITHIN, () => {
        given_up.abort(new Error("no answer"));
        late.reject(given_up.signal.reason);
      });
      const { signal } = given_up;
      const report = async () => {
        await following;
        await retry(io.timers, { within: END_WITHIN, signal }, () =>
          client.tasks.update(id!, patch, { signal }),
        );
      };
      try {
        await Promise.race([report(), late.promise]);
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
