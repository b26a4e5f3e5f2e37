/** The virtualized list of tasks: only visible rows are in the page. */

import { ChevronRight } from "lucide-react";
import { memo, useRef } from "react";
import type { Status } from "../../state/api.ts";
import { classes } from "../../ui/classes.ts";
import { useMisclickGuard } from "../../ui/misclick-guard.ts";
import { VirtualList } from "../../ui/virtual-list.tsx";
import { STATUS_NAMES } from "../words.ts";
import { TaskRow } from "./task-row.tsx";
import { type Choice, useChoiceInput } from "./use-choice.ts";

/** A heading with the tasks of a status, or one task. */
export type Row =
  | {
      readonly kind: "group";
      readonly id: Status;
      readonly status: Status;
      readonly count: number;
      readonly open: boolean;
    }
  | { readonly kind: "task"; readonly id: string };

interface TaskListProps {
  readonly rows: readonly Row[];
  /** Query of the address; kept while a task is open. */
  readonly search: string;
  readonly choice: Choice;
  readonly onToggle: (status: Status) => void;
}

/** Height of a row in pixels until it is measured. */
const ROW = 78;
const GROUP = 52;

export function TaskList({ rows, search, choice, onToggle }: TaskListProps) {
  const list = useRef<HTMLUListElement>(null);
  useChoiceInput(list, choice);
  const guardClick = useMisclickGuard(list, "to finish the task");
  return (
    <VirtualList
      list={list}
      label="Tasks"
      rows={rows}
      estimate={(row) => (row?.kind === "group" ? GROUP : ROW)}
      onClickCapture={guardClick}
    >
      {(row) =>
        row.kind === "group" ? (
          <Group {...row} onToggle={onToggle} />
        ) : (
          <TaskRow
            id={row.id}
            search={search}
            chosen={choice.chosen?.has(row.id) ?? null}
            onChoose={choice.toggle}
          />
        )
      }
    </VirtualList>
  );
}

interface GroupProps {
  readonly status: Status;
  readonly count: number;
  readonly open: boolean;
  readonly onToggle: (status: Status) => void;
}

const Group = memo(({ status, count, open, onToggle }: GroupProps) => (
  <h2 className="py-1">
    <button
      type="button"
      aria-expanded={open}
      onClick={() => onToggle(status)}
      className="touch flex items-center gap-1.5 rounded-xl pr-3 font-semibold text-faint text-sm hover:text-ink"
    >
      <ChevronRight
        aria-hidden
        className={classes("size-4 transition-transform", open && "rotate-90")}
      />
      {STATUS_NAMES[status]}
      <span className="font-medium tabular-nums">{count.toLocaleString("en")}</span>
    </button>
  </h2>
));
