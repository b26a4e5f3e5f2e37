/** Keeps the store true: the event stream, the lists after each connect, and connecting again. */

import { RelayError } from "../../client/error.ts";
import { backoff, systemTimers } from "../../client/timers.ts";
import type { StreamEvent } from "../../model/event.ts";
import { after } from "../clock.ts";
import { type Api, faultOf, type Question, type Task } from "./api.ts";
import type { Archive } from "./archive.ts";
import { eventsOf } from "./events.ts";
import type { Pace } from "./pace.ts";
import type { Store } from "./store.ts";
import { createStreamLeader } from "./stream-leader.ts";

interface SyncOptions {
  readonly token: string;
  readonly api: Api;
  readonly pace: Pace;
  readonly store: Store;
  readonly archive: Archive;
  /** The token has ended: the account was deleted, or its token replaced. */
  readonly onEnded: (why: "deleted" | "refused") => void;
}

/** Tasks that the page holds at most; those over longest are left out first. */
const TASKS_HELD = 20_000;
const PAGE = 500;
/** Questions that are no longer pending, of which the page shows so many. */
const SETTLED = 100;

export type Sync = ReturnType<typeof startSync>;

export function startSync({ token, api, pace, store, archive, onEnded }: SyncOptions) {
  let stopped = false;
  let failures = 0;
  let attempt: AbortController | undefined;
  let wake = () => {};

  const load = async (signal: AbortSignal) => {
    store.beginLoad();
    const options = { signal };
    const [account, { keys }] = await Promise.all([
      pace.call(signal, () => api.accounts.get.query({}, options)),
      pace.call(signal, () => api.keys.list.query({}, options)),
      loadQuestions(signal),
    ]);
    store.setAccount(account);
    store.listed("keys", keys);
    // The open ones first: they are what the person looks for.
    const held = await loadTasks(["in_progress", "todo"], TASKS_HELD, signal);
    await loadTasks(["done", "cancelled"], TASKS_HELD - held, signal);
    if (signal.aborted) return;
    store.endLoad();
    failures = 0;
    store.setLink("live");
    void archive.keep();
  };

  const loadTasks = async (status: Task["status"][], most: number, signal: AbortSignal) => {
    let cursor: string | null = null;
    let count = 0;
    while (count < most) {
      const input = { status, limit: PAGE, ...(cursor !== null && { cursor }) };
      const page: { tasks: Task[]; next_cursor: string | null } = await pace.call(signal, () =>
        api.tasks.list.query(input, { signal }),
      );
      store.listed("tasks", page.tasks);
      count += page.tasks.length;
      cursor = page.next_cursor;
      if (cursor === null) break;
    }
    return count;
  };

  /** The newest of these, `most` or a few more. */
  const questionsOf = async (status: Question["status"][], most: number, signal: AbortSignal) => {
    const questions: Question[] = [];
    let cursor: string | null = null;
    do {
      const input = { status, ...(cursor !== null && { cursor }) };
      const page: { questions: Question[]; next_cursor: string | null } = await pace.call(
        signal,
        () => api.questions.list.query(input, { signal }),
      );
      questions.push(...page.questions);
      cursor = page.next_cursor;
    } while (cursor !== null && questions.length < most);
    return questions;
  };

  const loadQuestions = async (signal: AbortSignal) => {
    const [pending, settled] = await Promise.all([
      // A key has 20 at the most.
      questionsOf(["pending"], Infinity, signal),
      questionsOf(["answered", "expired", "cancelled"], SETTLED, signal),
    ]);
    store.listed("questions", settled);
    store.listed("questions", pending);
  };

  const apply = ({ name, data }: StreamEvent, started: AbortController) => {
    switch (name) {
      case "ready":
        load(started.signal).catch((error: unknown) => {
          if (faultOf(error).code === "unauthorized") end("refused");
          started.abort(error);
        });
        break;
      case "task.created":
      case "task.updated":
        store.put("tasks", data.task);
        break;
      case "task.deleted":
        store.drop("tasks", data.task_id);
        break;
      case "key.created":
      case "key.updated":
        store.put("keys", data.key);
        break;
      case "key.deleted":
        store.drop("keys", data.key_id);
        break;
      case "question.created":
      case "question.updated":
        store.put("questions", data.question);
        break;
      case "inbox.updated":
        store.setUnread(data.key_id, data.unread);
        break;
      case "account.deleted":
        end("deleted");
        break;
      default:
        // An event of the interface that has no case above does not compile.
        name satisfies never;
    }
  };

  const end = (why: "deleted" | "refused") => {
    if (stopped) return;
    stop();
    onEnded(why);
  };

  /** Until something wakes it, or so many seconds have passed. */
  const pause = (seconds: number | null) =>
    new Promise<void>((resolve) => {
      const cancel = seconds === null ? () => {} : after(seconds, resolve);
      wake = () => {
        cancel();
        resolve();
      };
    });

  const duty = createStreamLeader(() => {
    if (duty.has()) wake();
    else attempt?.abort();
  });

  const run = async () => {
    while (!stopped) {
      if (!duty.has()) {
        store.setLink("resting");
        failures = 0;
        await pause(null);
        continue;
      }
      if (store.link() === "resting") store.setLink("connecting");
      const started = new AbortController();
      attempt = started;
      let delay: number | null = null;
      try {
        for await (const event of eventsOf(token, started.signal)) apply(event, started);
      } catch (error) {
        if (error instanceof RelayError) {
          if (error.code === "unauthorized") end("refused");
          delay = error.retry_after;
        }
      }
      if (stopped) return;
      // The rest of lists that still come is not waited for.
      started.abort();
      if (!duty.has()) continue;
      // An end that follows a good connection is most often a new start: then the first attempt is
      // quick, and the page says nothing yet.
      store.setLink(failures === 0 && navigator.onLine ? "connecting" : "offline");
      delay ??= backoff(systemTimers, failures);
      failures++;
      await pause(delay);
    }
  };

  /** There is reason to believe that it works now. */
  const hurry = () => {
    if (!document.hidden && store.link() !== "live") wake();
  };
  const lost = () => {
    store.setLink("offline");
    attempt?.abort();
  };
  window.addEventListener("online", hurry);
  window.addEventListener("offline", lost);
  document.addEventListener("visibilitychange", hurry);

  const stop = () => {
    stopped = true;
    window.removeEventListener("online", hurry);
    window.removeEventListener("offline", lost);
    document.removeEventListener("visibilitychange", hurry);
    duty.end();
    attempt?.abort();
    wake();
  };

  void run();
  return { stop, hurry };
}
