/** `relay ask`: asks the person, waits, prints the answer, and returns the exit code that says it. */

import { createHash } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { Client } from "../client/client.ts";
import { RelayError } from "../client/error.ts";
import { createIdempotencyKey } from "../client/idempotency.ts";
import { retry } from "../client/retry.ts";
import type { Question, QuestionInput } from "../model/question.ts";
import { type Draft, readContext, readDraft } from "./ask-texts.ts";
import { jsonLine, manyLines, oneLine } from "./escape.ts";
import { EXIT, Fault, type Io, type OutputFault } from "./io.ts";
import { openSession } from "./session.ts";
import { configFolder, readJson, writePrivate } from "./settings.ts";

interface AskOptions {
  readonly choice?: readonly string[];
  readonly text?: boolean;
  readonly context?: string;
  readonly draft?: string;
  readonly link?: string;
  readonly other?: boolean;
  readonly fallback?: string;
  readonly task?: string;
  /** Seconds until the question expires. */
  readonly wait: number;
  readonly json?: boolean;
}

/** Seconds after its expiry by which the end of a question must be seen. */
const LATE = 60;

/** Seconds without a response after which the person is told so; the server takes at most 5 (§11.4.1). */
const SLOW = 5;

/** Returns the exit code: 0 yes or any other answer, 1 no, 2 expired or cancelled. */
export async function ask(io: Io, prompt: string, options: AskOptions): Promise<number> {
  if (options.text && options.choice) throw new Fault("give --choice or --text, not both");
  if (options.draft !== undefined && (options.choice || options.other)) {
    throw new Fault("a draft is answered with a text: leave out --choice and --other");
  }
  if (options.draft === "-" && options.context === "-") {
    throw new Fault("only one of --draft and --context can be standard input");
  }
  const drafted = options.draft === undefined ? null : await readDraft(io, options.draft);
  const input = await inputOf(io, prompt, options, drafted);
  const { url, client } = await openSession(io);
  const { request_id, forget } = await claimAsk(io, url, input, options.wait);
  const asked = await askUntilAnswered(io, options.wait, (signal) =>
    client.questions.ask({ ...input, request_id }, { signal }),
  ).catch(async (error: unknown) => {
    // The server has refused the question.
    if (error instanceof RelayError) await forget();
    throw error;
  });
  if (asked.status === "pending" && io.err_is_terminal) {
    io.err("Waiting for the answer. Ctrl-C cancels the question.\n");
  }
  const question = await settled(io, client, asked, options.wait + LATE);
  if (question.status === "pending") throw new Fault("the question is still open: try again");
  await forget();
  report(io, question, options, drafted?.end);
  await io.flush().catch((fault: OutputFault) => {
    const text = oneLine(question.answer ?? options.fallback ?? question.status);
    throw new Fault(`the answer could not be written (${fault.reason}): ${text}`);
  });
  if (question.status !== "answered") return EXIT.unanswered;
  return question.kind === "confirm" && question.answer === "No" ? EXIT.no : EXIT.done;
}

/**
 * Sends the request until the server has the question, for up to `wait` seconds, and says so if that takes longer
 * than usual. Throws a `RelayError` if the server refuses it, a {@link Fault} at Ctrl-C and when the time is over.
 */
async function askUntilAnswered(
  io: Io,
  wait: number,
  request: (signal: AbortSignal) => Promise<Question>,
): Promise<Question> {
  const over = new AbortController();
  const end = new Date((io.now() + wait) * 1000).toTimeString().slice(0, 8);
  let reason: string | undefined;
  const say = (text: string) => {
    if (reason === undefined) io.err(`relay: ${text}; trying until ${end}\n`);
    reason = text;
  };
  const cancels = [
    io.timers.after(SLOW, () => reason ?? say("The server has not answered yet")),
    io.timers.after(wait, () => over.abort(new Error("the time is up"))),
  ];
  try {
    const signal = AbortSignal.any([io.signal, over.signal]);
    // Ctrl-C does not cut off a request: nobody would know whether it asked.
    return await retry(io.timers, { within: Number.MAX_SAFE_INTEGER, signal }, () =>
      request(over.signal).catch((error: unknown) => {
        if (error instanceof RelayError && error.is_transient) say(oneLine(error.message));
        throw error;
      }),
    );
  } catch (error) {
    if (error instanceof RelayError) throw error;
    if (over.signal.aborted) {
      throw new Fault(
        `gave up (${reason}): if a request did arrive, the question stays pending until it expires`,
      );
    }
    if (!io.signal.aborted) throw error;
    throw new Fault(
      "interrupted before the server answered: the question may stay pending until it expires; run the command again to wait for it",
    );
  } finally {
    for (const cancel of cancels) cancel();
  }
}

async function inputOf(
  io: Io,
  prompt: string,
  options: AskOptions,
  drafted: Draft | null,
): Promise<QuestionInput> {
  const { choice, text, context, link, other, fallback, task, wait } = options;
  return {
    prompt,
    expires_in: wait,
    ...((text || drafted) && { kind: "text" as const }),
    ...(choice && { kind: "choice" as const, options: [...choice] }),
    ...(context !== undefined && { context: await readContext(io, context) }),
    ...(drafted && { draft: drafted.draft }),
    ...(link !== undefined && { url: link }),
    ...(other && { allow_other: true }),
    ...(fallback !== undefined && { fallback }),
    ...(task !== undefined && { task_id: task }),
  };
}

/** Waits until the question has ended; Ctrl-C cancels it. */
async function settled(io: Io, client: Client, asked: Question, within: number): Promise<Question> {
  if (asked.status !== "pending") return asked;
  try {
    return await client.questions.waitForAnswer(asked.id, { within, signal: io.signal });
  } catch (error) {
    if (!io.signal.aborted) throw error;
    try {
      await client.questions.cancel(asked.id);
      return { ...asked, status: "cancelled" };
    } catch (fault) {
      if (!(fault instanceof RelayError)) throw fault;
      if (fault.code !== "question_not_pending") {
        throw new Fault(
          `the question could not be cancelled and may stay pending until it expires: ${fault.message}`,
        );
      }
      // The person answered first.
      return await client.questions.get(asked.id);
    }
  }
}

/** `end`: the line break that follows the answer where no terminal shows it. */
function report(io: Io, question: Question, { json, fallback }: AskOptions, end = "\n"): void {
  /** A terminal must not obey what is written; a file or a program gets the answer as it is. */
  const print = (answer: string) =>
    io.out(io.out_is_terminal ? `${manyLines(answer)}\n` : `${answer}${end}`);

  if (json) {
    io.out(jsonLine(question));
    return;
  }
  if (question.note !== undefined) io.err(`Note: ${manyLines(question.note)}\n`);
  if (question.edited) io.err("The draft was edited.\n");
  if (question.status === "answered") {
    print(question.answer ?? "");
  } else if (question.status === "cancelled") {
    io.err("The question was cancelled.\n");
  } else if (fallback === undefined) {
    io.err("Nobody answered in time.\n");
  } else {
    io.err(`Nobody answered in time. Fallback: ${oneLine(fallback)}\n`);
    print(fallback);
  }
}

/**
 * What is stored before a question is asked, so that a command that was killed and is started again gets that question
 * instead of a second one (§5.7.2(6)).
 */
const Pending = z.object({ request_id: z.string(), pid: z.int(), expires_at: z.number() });

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/**
 * Returns the `request_id` for this content at this server: a new one, or the one of a command that ended without an
 * answer. Call `forget` once the question is settled. While another command waits for the same content, each has its own
 * question.
 */
async function claimAsk(io: Io, url: string, content: object, life: number) {
  const name = createHash("sha256")
    .update(JSON.stringify([url, content]))
    .digest("hex");
  const path = join(configFolder(io), "asks", `${name}.json`);
  // The question is also asked if the folder cannot be written, as in a container.
  const { data: stored } = Pending.safeParse(await readJson(path).catch(() => null));
  const earlier = stored && stored.expires_at > io.now() ? stored : null;
  const { pid } = process;
  if (earlier && earlier.pid !== pid && isRunning(earlier.pid)) {
    return { request_id: createIdempotencyKey(), forget: async () => {} };
  }
  const { request_id, expires_at } = earlier ?? {
    request_id: createIdempotencyKey(),
    expires_at: io.now() + life,
  };
  await writePrivate(path, JSON.stringify({ request_id, pid, expires_at })).catch(() => {});
  return { request_id, forget: () => rm(path, { force: true }).catch(() => {}) };
}
