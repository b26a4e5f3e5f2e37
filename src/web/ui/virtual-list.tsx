/** A long list that renders only its visible rows; the window scrolls it. */

import { defaultRangeExtractor, type Range, useWindowVirtualizer } from "@tanstack/react-virtual";
import {
  type MouseEventHandler,
  type ReactNode,
  type RefObject,
  useCallback,
  useLayoutEffect,
  useState,
} from "react";
import { Part } from "./boundary.tsx";

interface VirtualListProps<Row> {
  readonly list: RefObject<HTMLUListElement | null>;
  readonly label: string;
  readonly rows: readonly Row[];
  /** Height of a row in pixels until it is measured. */
  readonly estimate: (row: Row | undefined) => number;
  readonly onClickCapture?: MouseEventHandler;
  readonly children: (row: Row) => ReactNode;
}

export function VirtualList<Row extends { readonly id: string }>({
  list,
  label,
  rows,
  estimate,
  onClickCapture,
  children,
}: VirtualListProps<Row>) {
  const [top, setTop] = useState(0);
  useLayoutEffect(() => {
    if (list.current) setTop(list.current.getBoundingClientRect().top + window.scrollY);
  }, [list]);
  /**
   * Id of the row that has or last had the focus: it stays rendered out of view, so as to keep the
   * focus.
   */
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
    estimateSize: (at) => estimate(rows[at]),
    getItemKey: (at) => rows[at]?.id ?? at,
    overscan: 8,
    rangeExtractor,
    scrollMargin: top,
  });
  return (
    <ul
      ref={list}
      aria-label={label}
      onClickCapture={onClickCapture}
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
            <Part name="row">{children(row)}</Part>
          </li>
        );
      })}
    </ul>
  );
}
