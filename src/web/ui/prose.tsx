/** Text of a person or an agent, formatted as Markdown; plain until the formatter is loaded. */

import { type ReactNode, useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { createObservable } from "../observable.ts";
import { Boundary } from "./boundary.tsx";
import { classes } from "./classes.ts";

type Formatter = typeof import("./markdown.tsx");

const formatter = createObservable<Formatter | null>(null);

/** Loads the formatter. Rejects if it cannot be loaded; the next text with Markdown tries again. */
export async function loadFormatter(): Promise<void> {
  if (!formatter.get()) formatter.set(await import("./markdown.tsx"));
}

/** Matches texts that may contain Markdown. */
const MARKS = /[*_`~#|[<>\\]|:\/\/|^[ \t]*(?:[-+=]|\d+[.)])|^(?: {4}|\t)/m;

/** The formatter, once it is loaded and if the text may need it. */
function useFormatter(text: string): Formatter | null {
  const marked = useMemo(() => MARKS.test(text), [text]);
  const loaded = useSyncExternalStore(formatter.subscribe, formatter.get);
  useEffect(() => {
    if (marked) void loadFormatter().catch(() => null);
  }, [marked]);
  return marked ? loaded : null;
}

interface ProseProps {
  readonly text: string;
  readonly id?: string;
  readonly className?: string;
  /** Offers the text as it was written, if formatting changes how it looks. */
  readonly with_source?: boolean;
  /** Wraps the text, but not the control for the text as it was written, which is no part of it. */
  readonly around?: (text: ReactNode) => ReactNode;
}

/**
 * Characters from which a text is shown without kerning and ligatures: with them, layout takes
 * seconds for long runs of certain signs.
 */
const LONG = 2_000;
const SIMPLE = "[font-kerning:none] [font-variant-ligatures:none]";

/** Shows a text with its line breaks, or as Markdown if it has any. */
export function Prose({ text, id, className, with_source, around = (one) => one }: ProseProps) {
  const loaded = useFormatter(text);
  const formatted = useMemo(() => loaded?.format(text) ?? null, [loaded, text]);
  /** The text that the person chose to see as written: another text begins formatted. */
  const [chosen, setChosen] = useState<string | null>(null);
  const as_written = chosen === text;
  const simple = text.length > LONG && SIMPLE;
  const plain = (
    <p
      id={id}
      dir="auto"
      translate={as_written ? "no" : undefined}
      className={classes(
        "said overflow-clip whitespace-pre-wrap",
        as_written && "font-mono text-[0.875em] [tab-size:4]",
        simple,
        className,
      )}
    >
      {text}
    </p>
  );
  if (formatted === null) return <>{around(plain)}</>;
  return (
    <Boundary key={text} instead={around(plain)}>
      {around(
        as_written ? (
          plain
        ) : (
          <div id={id} className={classes("said space-y-2", simple, className)}>
            {formatted.nodes}
          </div>
        ),
      )}
      {with_source && !formatted.is_plain && (
        <button
          type="button"
          onClick={() => setChosen(as_written ? null : text)}
          className="mt-1 block min-h-6 text-faint text-sm hover:text-ink hover:underline"
        >
          {as_written ? "Show formatted" : "Show as written"}
        </button>
      )}
    </Boundary>
  );
}

/** The text in one line, without the marks of Markdown. */
export function useLine(text: string): string {
  const loaded = useFormatter(text);
  return useMemo(() => (loaded ? loaded.toLine(text) : text), [loaded, text]);
}

/** A text in one line, for lists. */
export const OneLine = ({ text }: { readonly text: string }) => <>{useLine(text)}</>;
