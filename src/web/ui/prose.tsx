/** Text of a person or an agent, formatted as Markdown; plain until the formatter is loaded. */

import { useEffect, useMemo, useSyncExternalStore } from "react";
import { classes } from "./classes.ts";

type Formatter = typeof import("./markdown.tsx").format;

let formatter: Formatter | null = null;
const listeners = new Set<() => void>();

/** Loads the formatter. Rejects if it cannot be loaded; the next text with Markdown tries again. */
export async function loadFormatter(): Promise<void> {
  if (formatter) return;
  const { format } = await import("./markdown.tsx");
  formatter = format;
  for (const listener of [...listeners]) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Matches texts that may contain Markdown. */
const MARKS = /[*_`~#|[<>\\]|:\/\/|^\s*(?:[-+=]|\d+[.)])|^(?: {4}|\t)/m;

interface ProseProps {
  readonly text: string;
  readonly id?: string;
  readonly className?: string;
}

/** Shows a text with its line breaks, or as Markdown if it has any. */
export function Prose({ text, id, className }: ProseProps) {
  const marked = useMemo(() => MARKS.test(text), [text]);
  const format = useSyncExternalStore(subscribe, () => formatter);
  useEffect(() => {
    if (marked) void loadFormatter().catch(() => null);
  }, [marked]);
  const formatted = useMemo(() => (marked && format ? format(text) : null), [marked, format, text]);
  if (formatted !== null) {
    return (
      <div id={id} className={classes("said space-y-2", className)}>
        {formatted}
      </div>
    );
  }
  return (
    <p id={id} dir="auto" className={classes("said overflow-clip whitespace-pre-wrap", className)}>
      {text}
    </p>
  );
}
