/** Keeps the store true: the event stream, the lists after each connect, and connecting again. */

import { about, after } from "../clock.ts";
import { type Api, faultOf, type Key, type Question, type Task } from "./api.ts";
import type { Archive } from "./archive.ts";
import { readEvents, StreamRefused } from "./events.ts";
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
/** Seconds until the first and the later attempts to connect again. */
const DELAYS = [0.5, 1, 2, 4, 8, 15];

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

  const take = (name: string, data: unknown, started: AbortController) => {
    const { task, key, question, ...rest } = data as Told;
    switch (name) {
      case "ready":
        load(started.signal).catch((error: unknown) => {
          if (faultOf(error).code === "unauthorized") end("refused");
          started.abort(error);
        });
        break;
      case "task.created":
      case "task.updated":
        store.put("tasks", task);
        break;
      case "task.deleted":
        store.drop("tasks", rest.task_id);
        break;
      case "key.created":
      case "key.updated":
        store.put("keys", key);
        break;
      case "key.deleted":
        store.drop("keys", rest.key_id);
        break;
      case "question.created":
      case "question.updated":
        store.put("questions", question);
        break;
      case "inbox.updated":
        store.setUnread(rest.key_id, rest.unread);
        break;
      case "account.deleted":
        end("deleted");
    }
  };

  /** Whether it is the server that refuses the token, and not something on the way to it. */
  const isRefused = async () => {
    const fault = await api.accounts.get.query({}).then(() => null, faultOf);
    return fault?.code === "unauthorized";
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
        await readEvents(token, started.signal, (name, data) => take(name, data, started));
      } catch (error) {
        if (error instanceof StreamRefused) {
          if (error.status === 401 && (await isRefused())) end("refused");
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
      delay ??= about(DELAYS[failures] ?? DELAYS.at(-1)!);
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

/** What the events carry, each its own part of it. */
interface Told {
  readonly task: Task;
  readonly key: Key;
  readonly question: Question;
  readonly task_id: string;
  readonly key_id: string;
  readonly unread: number;
}
