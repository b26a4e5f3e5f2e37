/** Shows the first lines of long content, with a button to show all of it. */

import { type ReactNode, useRef } from "react";
import { classes } from "./classes.ts";
import { useMeasured } from "./use-measured.ts";

interface CutProps {
  /**
   * Lines shown until it is opened; infinite: all. Content that is only slightly longer is not cut.
   */
  readonly lines: number;
  readonly open: boolean;
  readonly onOpen: (open: boolean) => void;
  /** Shown beside the button while the content is cut. */
  readonly notice?: string;
  readonly children: ReactNode;
}

/** Content is cut only if it is longer by more than this many lines. */
const SLACK = 0.5;

export function Cut({ lines, open, onOpen, notice, children }: CutProps) {
  const content = useRef<HTMLDivElement>(null);
  const is_long = useMeasured(content, lines, (measured) => {
    const line = Number.parseFloat(getComputedStyle(measured).lineHeight);
    return measured.offsetHeight > (lines + SLACK) * line;
  });
  const cut = is_long && !open;
  return (
    <>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: it only reacts to the focus. */}
      <div
        className={classes(cut && "overflow-clip mask-b-from-[calc(100%-1.5lh)]")}
        style={cut ? { maxHeight: `${lines}lh` } : undefined}
        // The element that gets the focus must be visible.
        onFocus={() => cut && onOpen(true)}
      >
        <div ref={content}>{children}</div>
      </div>
      {is_long && (
        <p className="flex flex-wrap items-center gap-x-2 text-sm">
          {cut && notice && <span className="text-warn">{notice}</span>}
          <button
            type="button"
            data-cut
            aria-expanded={open}
            onClick={() => onOpen(!open)}
            className="min-h-6 font-medium text-accent hover:underline"
          >
            {open ? "Show less" : "Show all"}
          </button>
        </p>
      )}
    </>
  );
}
