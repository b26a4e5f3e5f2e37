/** The virtualized list of tasks: only visible rows are in the page. */

import { defaultRangeExtractor, type Range, useWindowVirtualizer } from "@tanstack/react-virtual";
import { ChevronRight } from "lucide-react";
import { memo, useCallback, useLayoutEffect, useRef, useState } from "react";
import type { Status } from "../state/api.ts";
import { classes } from "../ui/classes.ts";
import { useMisclickGuard } from "../ui/misclick-guard.ts";
import { TaskRow } from "./task-row.tsx";
import { STATUS_NAMES } from "./words.ts";

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
  readonly onToggle: (status: Status) => void;
}

/** Height of a row in pixels until it is measured. */
const ROW = 78;
const GROUP = 52;

export function TaskList({ rows, search, onToggle }: TaskListProps) {
  const list = useRef<HTMLUListElement>(null);
  const guardClick = useMisclickGuard(list, "to finish the task");
  const [top, setTop] = useState(0);
  useLayoutEffect(() => {
    if (list.current) setTop(list.current.getBoundingClientRect().top + window.scrollY);
  }, []);
  /** The row that has or last had the focus: it stays rendered when it scrolls out, and keeps the focus. */
  const [kept, setKept] = useState<string>();
  const at = kept === undefined ? -1 : rows.findIndex(({ id }) => id === kept);
  const rangeExtractor = useCallback(
    (range: Range) => {
      const seen = defaultRangeExtractor(range);
      if (at < 0 || seen.includes(at)) return seen;
      return [...seen, at].sort((a, b) => a - b);
    },
    [at],
  );
  const virtual = useWindowVirtualizer({
    count: rows.length,
    estimateSize: (at) => (rows[at]?.kind === "group" ? GROUP : ROW),
    getItemKey: (at) => rows[at]?.id ?? at,
    overscan: 8,
    rangeExtractor,
    scrollMargin: top,
  });
  return (
    <ul
      ref={list}
      aria-label="Tasks"
      onClickCapture={guardClick}
      className="relative"
      style={{ height: virtual.getTotalSize() }}
    >
      {virtual.getVirtualItems().map(({ index, key, start }) => {
        const row = rows[index];
        if (!row) return null;
        return (
          <li
            key={key}
            ref={virtual.measureElement}
            data-index={index}
            aria-setsize={rows.length}
            aria-posinset={index + 1}
            className="absolute inset-x-0 top-0"
            style={{ transform: `translateY(${start - top}px)` }}
            onFocus={() => setKept(row.id)}
          >
            {row.kind === "group" ? (
              <Group {...row} onToggle={onToggle} />
            ) : (
              <TaskRow id={row.id} search={search} />
            )}
          </li>
        );
      })}
    </ul>
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
