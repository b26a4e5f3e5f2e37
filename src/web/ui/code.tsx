/** Code and diffs in a fixed-width face; long lines scroll by themselves. */

import { classes } from "./classes.ts";

interface CodeProps {
  readonly text: string;
  /** As after a Markdown code fence, or empty. `diff` and `patch` are coloured. */
  readonly language: string;
}

export function Code({ text, language }: CodeProps) {
  const plain = text.replace(/\n$/, "");
  const is_diff = /^(diff|patch)\b/i.test(language);
  return (
    <figure className="overflow-hidden rounded-xl border border-line bg-sunken">
      {language !== "" && (
        <figcaption className="border-line border-b px-3 py-1 text-faint text-xs">
          <bdi>{language}</bdi>
        </figcaption>
      )}
      <pre
        dir="ltr"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys scroll it.
        tabIndex={0}
        className="max-h-[70dvh] overflow-auto py-2 font-mono text-[0.8125rem] leading-5 -outline-offset-2"
      >
        <code translate="no" className="block w-max min-w-full">
          {is_diff ? <Diff lines={plain.split("\n")} /> : <span className="px-3">{plain}</span>}
        </code>
      </pre>
    </figure>
  );
}

function Diff({ lines }: { lines: readonly string[] }) {
  return lines.map((line, at) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: lines of a text have no ids.
    <span key={at} className={classes("block min-h-5 px-3", diffColor(line))}>
      {line}
      {at < lines.length - 1 && "\n"}
    </span>
  ));
}

/** Colour by the first character of a line, so that colour is never the only sign. */
export function diffColor(line: string): string {
  if (line.startsWith("+")) return "bg-ok-soft text-ok";
  if (line.startsWith("-")) return "bg-danger-soft text-danger";
  return line.startsWith("@@") ? "text-accent" : "";
}
