/** Keeps the store in sync: event stream, lists after each connect, and reconnection. */

import { readEvents } from "../../client/events.ts";
import { connectionOf } from "../../client/send.ts";
import { backoff, systemTimers } from "../../client/timers.ts";
import type { StreamEvent } from "../../model/event.ts";
import { after, noteServerTime } from "../clock.ts";
import { type Api, type Fault, faultOf, LATER, type Question, type Task } from "./api.ts";
import type { Archive } from "./archive.ts";
import { reach } from "./outside.ts";
import type { Pace } from "./pace.ts";
import { serverUrl } from "./server-url.ts";
import type { SignIns } from "./sign-ins.ts";
import type { Store } from "./store.ts";
import { createStreamLeader } from "./stream-leader.ts";
import { createUnreceivedLooks } from "./unreceived.ts";

interface SyncOptions {
  readonly token: string;
  readonly api: Api;
  readonly pace: Pace;
  readonly store: Store;
  readonly signIns: SignIns;
  readonly archive: Archive;
  /** Called when the server says that this sign-in or the account has ended. */
  readonly onEnded: (why: "deleted" | "ended") => void;
  /**
   * Called when the token is refused; `ended`: the server says that it ended it. Otherwise it may still
   * be valid, and is tried again. Resolves once another token was looked for.
   */
  readonly onRefused: (ended: boolean) => Promise<void>;
}

/** Most tasks that the page loads; the oldest finished ones are left out first. */
const MAX_TASKS = 20_000;
/** Tasks in a list page. */
const PAGE = 500;
/** Closed questions that are loaded at least, if there are so many. */
const HISTORY = 100;

/** Most seconds between two attempts while the connection is refused. */
const SLOWEST = 60;

/** Seconds before the next attempt after a refusal, which is unlikely to change soon. */
const slowBackoff = (failures: number): number =>
  Math.min(SLOWEST, 2 ** (failures + 1)) * (0.75 + systemTimers.jitter() / 2);

type Cursor = { readonly cursor?: string };

/** The pages of a list, from the first to the last. */
async function* pagesOf<Page extends { readonly next_cursor: string | null }>(
  read: (cursor: Cursor) => Promise<Page>,
): AsyncGenerator<Page, void> {
  for (let cursor: Cursor | null = {}; cursor; ) {
    const page: Page = await read(cursor);
    yield page;
    cursor = page.next_cursor === null ? null : { cursor: page.next_cursor };
  }
}

export type Sync = ReturnType<typeof startSync>;

/** Starts to synchronize, and reconnects with back-off until `stop`. `hurry` reconnects at once. */
export function startSync(options: SyncOptions) {
  const { token, api, pace, store, signIns, archive, onEnded, onRefused } = options;
  let stopped = false;
  let failures = 0;
  let attempt: AbortController | undefined;
  let wake = () => {};
  const lookAgain = createUnreceivedLooks({ api, pace, store });

  const load = async (signal: AbortSignal) => {
    store.beginLoad();
    const options = { signal };
    const [account, { keys }] = await Promise.all([
      pace.call(signal, () => api.accounts.get.query({}, options)),
      pace.call(signal, () => api.keys.list.query({}, options)),
      loadQuestions(signal),
      // The page works without them.
      signIns.load(api, signal).catch(() => null),
    ]);
    store.setAccount(account);
    store.listed("keys", keys);
    // Open tasks first: they matter most.
    const held = await loadTasks(["in_progress", "todo"], MAX_TASKS, signal);
    if (held < MAX_TASKS) await loadTasks(["done", "cancelled"], MAX_TASKS - held, signal);
    if (signal.aborted) return;
    store.endLoad();
    failures = 0;
    store.setConnection("live");
    void archive.keep();
  };

  const loadTasks = async (status: Task["status"][], most: number, signal: AbortSignal) => {
    let count = 0;
    const read = (cursor: Cursor) =>
      api.tasks.list.query({ status, limit: PAGE, ...cursor }, { signal });
    for await (const { tasks } of pagesOf((cursor) => pace.call(signal, () => read(cursor)))) {
      store.listed("tasks", tasks);
      count += tasks.length;
      if (count >= most) break;
    }
    return count;
  };

  /** The newest questions with this status, at least `most` if there are so many. */
  const questionsOf = async (status: Question["status"][], most: number, signal: AbortSignal) => {
    const found: Question[] = [];
    const read = (cursor: Cursor) => api.questions.list.query({ status, ...cursor }, { signal });
    for await (const { questions } of pagesOf((cursor) => pace.call(signal, () => read(cursor)))) {
      found.push(...questions);
      if (found.length >= most) break;
    }
    return found;
  };

  const loadQuestions = async (signal: AbortSignal) => {
    const [pending, history] = await Promise.all([
      // At most 20 per key (§10.2).
      questionsOf(["pending"], Infinity, signal),
      questionsOf(["answered", "expired", "cancelled"], HISTORY, signal),
    ]);
    store.listed("questions", history);
    store.listed("questions", pending);
  };

  const apply = ({ name, data }: StreamEvent, connection: AbortController) => {
    switch (name) {
      case "ready":
        load(connection.signal).catch((error: unknown) => connection.abort(error));
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
      case "grants.updated":
        store.grantsChanged(data.key_id);
        break;
      case "question.created":
      case "question.updated":
        store.put("questions", data.question);
        break;
      case "inbox.updated":
        // An event from before 0.3.0 has no `unreceived`.
        store.inboxChanged(data.key_id, data.unreceived ?? data.unread);
        if (data.unreceived) void lookAgain(data.key_id, connection.signal);
        break;
      case "session.created":
      case "session.confirmed":
        signIns.put(data.session);
        break;
      case "session.deleted":
        if (signIns.isCurrent(data.session_id)) end("ended");
        else signIns.drop(data.session_id);
        break;
      case "account.deleted":
        end("deleted");
        break;
      default:
        // An event of the interface that has no case above does not compile.
        name satisfies never;
    }
  };

  const end = (why: "deleted" | "ended") => {
    if (stopped) return;
    stop();
    onEnded(why);
  };

  /** Resolves after `seconds`, or when woken; null waits until woken. */
  const pause = (seconds: number | null) =>
    new Promise<void>((resolve) => {
      const cancel = seconds === null ? () => {} : after(seconds, resolve);
      wake = () => {
        cancel();
        resolve();
      };
    });

  const leader = createStreamLeader(() => {
    if (leader.has()) wake();
    else attempt?.abort();
  });

  const source = connectionOf({ url: serverUrl("."), credential: token, fetch: reach });
  const onResponse = ({ headers }: Response) => noteServerTime(headers.get("date"));

  const run = async () => {
    while (!stopped) {
      if (!leader.has()) {
        store.setConnection("resting");
        failures = 0;
        await pause(null);
        continue;
      }
      if (store.connection() === "resting") store.setConnection("connecting");
      const connection = new AbortController();
      attempt = connection;
      let delay: number | null = null;
      let refusal: Fault | null = null;
      try {
        const events = readEvents(source, { signal: connection.signal, onResponse });
        for await (const event of events) apply(event, connection);
      } catch (error) {
        const fault = faultOf(error);
        delay = fault.retry_after ?? null;
        if (fault.code === "unauthorized") await onRefused(fault.ended ?? false);
        if (fault.code === "unauthorized" || !LATER.has(fault.code)) refusal = fault;
      }
      if (stopped) return;
      // Cancels the load if it is still under way.
      connection.abort();
      if (!leader.has()) continue;
      // A stream that ends after a successful load most likely means a restart: reconnect quickly,
      // and show no error yet.
      const is_restart = failures === 0 && navigator.onLine && !refusal;
      store.setConnection(is_restart ? "connecting" : "offline", refusal);
      delay ??= refusal ? slowBackoff(failures) : backoff(systemTimers, failures);
      failures++;
      await pause(delay);
    }
  };

  /** Reconnects now: called when a connection has become likely, or the person asks for it. */
  const hurry = () => {
    if (!document.hidden && store.connection() !== "live") wake();
  };
  const lost = () => {
    store.setConnection("offline");
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
    leader.end();
    attempt?.abort();
    wake();
  };

  void run();
  return { stop, hurry };
}
