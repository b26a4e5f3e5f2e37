/** What a generated client read, and whether it matches the server. */

import type { Outcome } from "./client.ts";

/** The last line of a program's output, as JSON. Numbers are as the client's own types hold them. */
interface Report {
  readonly token: string;
  readonly account: { readonly id: string; readonly created_at: number };
  readonly key: { readonly id: string; readonly created_at: number };
  /** A task that was created and then changed to `progress` 50. */
  readonly task: {
    readonly id: string;
    readonly created_at: number;
    readonly updated_at: number;
    readonly seen_at: number | null;
    readonly completed_at: number | null;
    readonly progress: number | null;
    readonly status: string;
  };
  /** A `choice` of `a` and `b`, answered with `b` while its agent waited. */
  readonly question: {
    readonly id: string;
    readonly status: string;
    readonly answer: string | null;
    readonly created_at: number;
    readonly answered_at: number | null;
    readonly expires_at: number;
  };
  /** The key's inbox: a task of the account, then the answer. */
  readonly items: readonly {
    readonly id: string;
    readonly type: string;
    readonly from: string;
    readonly created_at: number;
    /** Null unless the item has a task. */
    readonly task_updated_at: number | null;
  }[];
  /** Ids of the tasks that are `todo` or `in_progress`; another one is `done`. */
  readonly open: readonly string[];
  /** The result of reading a task that does not exist. */
  readonly error: { readonly status: number; readonly code: string; readonly field: string };
  /** Names of the first events, and `updated_at` of the first task among them; null: not tried. */
  readonly events: { readonly names: readonly string[]; readonly updated_at: number } | null;
}

/** Milliseconds, since a timestamp is no finer. */
const ms = (seconds: number | null): number | null =>
  seconds === null ? null : Math.round(seconds * 1000);

/** Compares a report with what the server says over plain HTTP. */
export async function checkReport(url: string, output: string): Promise<Record<string, Outcome>> {
  // The tool that ran the program prints other lines around it.
  const line = output.split("\n").findLast((text) => text.includes('"token"')) ?? "";
  const report: Report = JSON.parse(line.slice(line.indexOf("{"), line.lastIndexOf("}") + 1));
  const read = async (path: string) => {
    const headers = { authorization: `Bearer ${report.token}` };
    return (await (await fetch(url + path, { headers })).json()) as any;
  };
  const { account, key, task, question, items, open, error, events } = report;
  const true_account = await read("/v1/account");
  const { keys }: { keys: Report["key"][] } = await read("/v1/keys");
  const true_task = await read(`/v1/tasks/${task.id}`);
  const true_question = await read(`/v1/questions/${question.id}`);
  const inbox = await read(`/v1/keys/${key.id}/inbox`);
  const true_items: any[] = inbox.items.toReversed();
  const listed: { tasks: { id: string }[] } = await read("/v1/tasks?status=todo,in_progress");

  const times = new Map<string, readonly [number | null, number | null]>();
  const compare = (what: string, mine: object, theirs: object) => {
    const [one, other] = [mine, theirs] as Record<string, number | null>[];
    for (const name of Object.keys(one!).filter((field) => field.endsWith("_at"))) {
      times.set(`${what}.${name}`, [one![name]!, other![name]!]);
    }
  };
  compare("account", account, true_account);
  compare("key", key, keys[0]!);
  compare("task", task, true_task);
  compare("question", question, true_question);
  items.forEach((item, i) => {
    const { created_at, task: of_item } = true_items[i] ?? {};
    compare(`items.${i}`, item, { created_at, task_updated_at: of_item?.updated_at ?? null });
  });
  const wrong = [...times].filter(([, [mine, theirs]]) => ms(mine) !== ms(theirs));

  const verdict = (right: boolean, fault: unknown): Outcome =>
    right ? "ok" : { fault: JSON.stringify(fault) };
  return {
    account: verdict(account.id === true_account.id && keys[0]?.id === key.id, [account, key]),
    task: verdict(task.progress === 50 && task.status === "in_progress", task),
    ask: verdict(question.status === "answered" && question.answer === "b", question),
    inbox: verdict(
      items.map(({ type, from }) => `${type} ${from}`).join() ===
        "task.created account,question.answered account",
      items,
    ),
    lists: verdict(
      [...open].sort().join() ===
        listed.tasks
          .map(({ id }) => id)
          .sort()
          .join() && open.length > 1,
      open,
    ),
    error: verdict(
      error.status === 404 && error.code === "not_found" && error.field === "task_id",
      error,
    ),
    events:
      events === null
        ? "none"
        : verdict(
            events.names.join() === "ready,key.created,task.created" &&
              ms(events.updated_at) === ms(true_task.created_at),
            events,
          ),
    timestamps: verdict(wrong.length === 0 && times.size > 10, wrong),
  };
}
