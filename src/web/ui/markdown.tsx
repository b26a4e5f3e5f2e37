/** Renders Markdown as React elements, without HTML, and with images as links. */

import { Square, SquareCheck } from "lucide-react";
import type { Token } from "markdown-it";
import { Fragment, type ReactNode } from "react";
import { classes } from "./classes.ts";
import { Code } from "./code.tsx";
import { Command } from "./command.tsx";
import { blocksOf, hostOf, isPlain, taskMarkOf } from "./markdown-blocks.ts";

export { toLine } from "./markdown-blocks.ts";

/**
 * The formatted text, and whether it looks as it was written; null if it must be shown as plain text.
 */
export function format(
  text: string,
): { readonly nodes: ReactNode; readonly is_plain: boolean } | null {
  const blocks = blocksOf(text);
  if (!blocks) return null;
  const nodes = blocks.map(({ line, source, tokens }) =>
    tokens ? (
      <Fragment key={line}>{render(tokens)}</Fragment>
    ) : (
      <p key={line} dir="auto" className="said overflow-clip whitespace-pre-wrap">
        {source}
      </p>
    ),
  );
  return { nodes, is_plain: blocks.every(isPlain) };
}

const BULLETS: Readonly<Record<string, string>> = {
  "-": "list-minus",
  "+": "list-plus",
};

/** Words of a cell stay whole: a table that is too wide scrolls. */
const CELL = "border border-line px-2 py-1 align-top wrap-break-word [unicode-bidi:isolate]";

/** By the style that the parser gives the cells of a column. */
const ALIGNED: Readonly<Record<string, string>> = {
  "text-align:left": "text-left",
  "text-align:center": "text-center",
  "text-align:right": "text-right",
};

const PLAIN_TAGS: Readonly<Record<string, "em" | "s" | "thead" | "tbody" | "tr">> = {
  em_open: "em",
  s_open: "s",
  thead_open: "thead",
  tbody_open: "tbody",
  tr_open: "tr",
};

/**
 * Builds the elements from the flat list of tokens. Each opening token has a closing one.
 */
function render(tokens: readonly Token[]): ReactNode {
  const root: ReactNode[] = [];
  const open: { token: Token; within: ReactNode[] }[] = [];
  for (const token of tokens) {
    const within = open.at(-1)?.within ?? root;
    if (token.nesting === 1) open.push({ token, within: [] });
    else if (token.nesting === 0) within.push(leaf(token, within.length));
    else {
      const closed = open.pop()!;
      const around = open.at(-1)?.within ?? root;
      around.push(element(closed.token, closed.within, around.length));
    }
  }
  return root;
}

function leaf(token: Token, key: number): ReactNode {
  switch (token.type) {
    case "inline":
      return <Fragment key={key}>{render(token.children ?? [])}</Fragment>;
    case "softbreak":
    case "hardbreak":
      return "\n";
    case "code_inline":
      return (
        <code
          key={key}
          dir="ltr"
          translate="no"
          className="rounded bg-sunken px-1 font-mono text-[0.875em]"
        >
          <Command text={token.content} />
        </code>
      );
    case "fence":
    case "code_block":
      return <Code key={key} text={token.content} language={token.info.trim()} />;
    case "hr":
      return <hr key={key} className="border-line" />;
    default:
      return token.content;
  }
}

function element(token: Token, within: ReactNode[], key: number): ReactNode {
  switch (token.type) {
    case "paragraph_open":
      if (token.hidden) return <Fragment key={key}>{within}</Fragment>;
      return (
        <p key={key} dir="auto" className="said whitespace-pre-wrap">
          {within}
        </p>
      );
    // Not a heading element: it is not part of this page's outline.
    case "heading_open":
      return (
        <p key={key} dir="auto" className="said whitespace-pre-wrap font-semibold">
          {within}
        </p>
      );
    case "blockquote_open":
      return (
        <blockquote key={key} className="space-y-2 border-edge border-s-2 ps-3 text-soft">
          {within}
        </blockquote>
      );
    // A plus or a minus may be the sign of a number.
    case "bullet_list_open":
      return (
        <ul key={key} className={`${BULLETS[token.markup] ?? "list-disc"} space-y-1 ps-6`}>
          {within}
        </ul>
      );
    case "ordered_list_open":
      return (
        <ol key={key} className="list-decimal space-y-1 ps-8">
          {within}
        </ol>
      );
    // Keeps the number that was written.
    case "list_item_open": {
      const mark = taskMarkOf(token);
      const numbered = token.info !== "";
      return (
        <li
          key={key}
          dir="auto"
          value={numbered ? Number(token.info) : undefined}
          className={classes(
            "said space-y-1 whitespace-pre-wrap",
            mark && (numbered ? "relative ps-6" : "relative list-none"),
          )}
        >
          {mark && <Box done={mark.done} className={numbered ? "start-0" : "-start-6"} />}
          {within}
        </li>
      );
    }
    case "strong_open":
      return (
        <strong key={key} className="font-semibold">
          {within}
        </strong>
      );
    case "link_open":
      return (
        <Link
          key={key}
          address={String(token.attrGet("href"))}
          title={token.attrGet("title")}
          text={within}
        />
      );
    case "table_open":
      return (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys scroll it.
        <div key={key} tabIndex={0} className="overflow-x-auto">
          <table className="border-collapse text-[0.9375rem]">{within}</table>
        </div>
      );
    case "th_open":
    case "td_open": {
      const Cell = token.tag as "th" | "td";
      return (
        <Cell
          key={key}
          dir="auto"
          className={classes(CELL, ALIGNED[String(token.attrGet("style"))] ?? "text-start")}
        >
          {within}
        </Cell>
      );
    }
    default: {
      const Tag = PLAIN_TAGS[token.type] ?? Fragment;
      return <Tag key={key}>{within}</Tag>;
    }
  }
}

/** The box of an item of a task list, which only shows its state. */
function Box({ done, className }: { readonly done: boolean; readonly className: string }) {
  const Icon = done ? SquareCheck : Square;
  return (
    <Icon
      role="img"
      aria-label={done ? "Done" : "Not done"}
      aria-hidden={false}
      className={classes("absolute top-[0.15lh] size-[0.7lh]", done && "text-ok", className)}
    />
  );
}

interface LinkProps {
  readonly address: string;
  readonly title: string | number | null;
  readonly text: ReactNode[];
}

/** A link, followed by its host unless its text is the address, and by its title. */
function Link({ address, title, text }: LinkProps) {
  const host = hostOf(address);
  const shown = text.length === 0 ? [address] : text;
  const written = shown.length === 1 ? shown[0] : null;
  return (
    <>
      <a
        href={address}
        target="_blank"
        rel="noopener noreferrer"
        className="font-medium text-accent underline underline-offset-2"
      >
        <bdi>{shown}</bdi>
      </a>
      {written !== address && <bdi className="text-faint text-sm">{` (${host})`}</bdi>}
      {title !== null && <bdi className="text-faint text-sm">{` “${title}”`}</bdi>}
    </>
  );
}
