/** Tasks by status, filtered by agent, status and priority; the filter is part of the address. */

import { ListChecks, ListTodo, Plus, SearchX } from "lucide-react";
import { useMemo, useState } from "react";
import type { Priority, Status } from "../../state/api.ts";
import type { Store } from "../../state/store.ts";
import { PRIORITIES, STATUSES } from "../../state/task-order.ts";
import { Button, ButtonLink } from "../../ui/button.tsx";
import { Select } from "../../ui/field.tsx";
import { Empty, Heading, NotConnected, Skeleton } from "../../ui/parts.tsx";
import { FirstAgent } from "../agents/first-agent.tsx";
import { useDeleting } from "../changes.ts";
import { close, go, useRoute } from "../route.ts";
import { useKeyOptions, useSession, useStore } from "../use-store.ts";
import { PRIORITY_OPTIONS, STATUS_OPTIONS } from "../words.ts";
import { ChosenTasks } from "./chosen-tasks.tsx";
import { NewTask } from "./new-task.tsx";
import { type Row, TaskList } from "./task-list.tsx";
import { TaskSheet } from "./task-sheet.tsx";
import { useChoice } from "./use-choice.ts";

interface Filter {
  readonly agent: string | null;
  readonly status: Status | null;
  readonly priority: Priority | null;
}

function filterOf(query: URLSearchParams): Filter {
  return {
    agent: query.get("agent"),
    status: STATUSES.find((status) => status === query.get("status")) ?? null,
    priority: PRIORITIES.find((priority) => priority === query.get("priority")) ?? null,
  };
}

/**
 * The rows to show: each group and, if it is open, its tasks. Groups of finished tasks start
 * closed.
 */
function rowsOf(
  { order }: Store,
  filter: Filter,
  open: ReadonlySet<Status>,
  deleting: ReadonlySet<string>,
): Row[] {
  const rows: Row[] = [];
  for (const status of STATUSES) {
    if (filter.status !== null && filter.status !== status) continue;
    const list = order.list(status);
    const fits =
      filter.agent === null && filter.priority === null && deleting.size === 0
        ? list
        : list.filter(
            ({ id, key_id, priority }) =>
              (filter.agent === null || filter.agent === key_id) &&
              (filter.priority === null || filter.priority === priority) &&
              !deleting.has(id),
          );
    if (fits.length === 0) continue;
    const is_open = filter.status === status || open.has(status);
    rows.push({ kind: "group", id: status, status, count: fits.length, open: is_open });
    if (is_open) for (const { id } of fits) rows.push({ kind: "task", id });
  }
  return rows;
}

export function TasksView() {
  const { store } = useSession();
  const { id, query } = useRoute();
  const version = useStore(({ order }) => order.version());
  const known = useStore((one) => one.knownAt() !== null || one.versions.tasks > 0);
  const offline = useStore((one) => one.connection() === "offline");
  const [open, setOpen] = useState<ReadonlySet<Status>>(new Set(["in_progress", "todo"]));
  const text = query.toString();
  const filter = useMemo(() => filterOf(new URLSearchParams(text)), [text]);
  const deleting = useDeleting();
  // biome-ignore lint/correctness/useExhaustiveDependencies: `store` is mutated in place.
  const rows = useMemo(
    () => rowsOf(store, filter, open, deleting),
    [store, filter, open, deleting, version],
  );
  const choice = useChoice(rows, text);
  const toggle = (status: Status) => {
    const next = new Set(open);
    if (!next.delete(status)) next.add(status);
    setOpen(next);
  };
  const back = () => close(text === "" ? "tasks" : `tasks?${text}`);
  return (
    <>
      <Heading
        actions={
          <>
            {rows.length > 0 && choice.chosen === null && (
              <Button variant="quiet" onClick={choice.start}>
                <ListChecks aria-hidden className="size-4.5" />
                Choose
              </Button>
            )}
            <ButtonLink variant="primary" href={`#/tasks/new${text && `?${text}`}`}>
              <Plus aria-hidden className="size-4.5" />
              New task
            </ButtonLink>
          </>
        }
      >
        Tasks
      </Heading>
      <Filters filter={filter} query={query} />
      {rows.length > 0 ? (
        <TaskList rows={rows} search={text} choice={choice} onToggle={toggle} />
      ) : !known ? (
        offline ? (
          <NotConnected what="Tasks" />
        ) : (
          <Skeleton rows={5} label="Loading tasks" />
        )
      ) : text === "" ? (
        <Empty icon={ListTodo} title="No tasks yet">
          <p>Tasks from you and your agents will appear here.</p>
          <FirstAgent />
        </Empty>
      ) : (
        <Empty icon={SearchX} title="No matching tasks">
          <Button variant="quiet" onClick={() => go("tasks")}>
            Show all tasks
          </Button>
        </Empty>
      )}
      <ChosenTasks choice={choice} />
      <NewTask open={id === "new"} agent={filter.agent} onClose={back} />
      <TaskSheet id={id === "new" ? null : id} onClose={back} />
    </>
  );
}

type Options = readonly (readonly [string, string])[];

function Filters({ filter, query }: { filter: Filter; query: URLSearchParams }) {
  const keys = useKeyOptions();
  const known = useStore((store) => store.loads() > 0);
  const gone = filter.agent !== null && !keys.some(([id]) => id === filter.agent);
  const set = (name: keyof Filter, value: string) => {
    const next = new URLSearchParams(query);
    if (value === "") next.delete(name);
    else next.set(name, value);
    const text = next.toString();
    go(text === "" ? "tasks" : `tasks?${text}`, { replace: true });
  };
  const choice = (name: keyof Filter, label: string, options: Options) => (
    <Select
      quiet
      aria-label={label}
      value={filter[name] ?? ""}
      onChange={({ target }) => set(name, target.value)}
      options={options}
    />
  );
  const deleted: Options = gone ? [[filter.agent!, known ? "Deleted agent" : ""]] : [];
  return (
    <div className="mb-3 grid gap-2 min-[17rem]:grid-cols-2 sm:grid-cols-3">
      <div className="min-[17rem]:col-span-2 sm:col-span-1">
        {choice("agent", "Agent", [["", "All agents"], ...deleted, ...keys])}
      </div>
      {choice("status", "Status", [["", "Any status"], ...STATUS_OPTIONS])}
      {choice("priority", "Priority", [["", "Any priority"], ...PRIORITY_OPTIONS])}
    </div>
  );
}
