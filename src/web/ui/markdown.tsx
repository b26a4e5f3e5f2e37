/**
 * Renders Markdown as React elements, without HTML and images, and without losing any word of the
 * text.
 */

import MarkdownIt, { type Token } from "markdown-it";
import { Fragment, type ReactNode } from "react";
import { Code } from "./code.tsx";

/**
 * Limits in characters, nesting levels and tokens: a text beyond any of them is shown as plain
 * text.
 */
const MOST = { characters: 20_000, nesting: 20, elements: 4_000 };

const parser = new MarkdownIt({
  html: false,
  linkify: true,
  breaks: true,
  maxNesting: MOST.nesting,
})
  // Images are not loaded. Entities and link definitions are shown as they were written.
  .disable(["image", "entity", "reference"]);
parser.linkify.set({ fuzzyLink: false, fuzzyEmail: false });
// Addresses stay as written: the host is read from them, and a bare address is its own text.
parser.normalizeLink = (address) => address;
parser.normalizeLinkText = (address) => address;
parser.validateLink = (address) => hostOf(address) !== null;

/**
 * Host of a web address; null for any other, such as `javascript:`, and for one with a user name.
 */
function hostOf(address: string): string | null {
  if (!/^https?:\/\//i.test(address)) return null;
  const url = URL.parse(address);
  return url && url.username === "" && url.password === "" ? url.host : null;
}

/** The formatted text; null if it must be shown as plain text. */
export function format(text: string): ReactNode {
  const tokens = parse(text);
  if (tokens === null || !tokens.some(({ content }) => wordsIn(content) > 0)) return null;
  const lines = text.split(/\r\n?|\n/);
  const shown: ReactNode[] = [];
  let line = 0;
  const showPlain = (end: number) => {
    const plain = lines.slice(line, end).join("\n");
    if (plain.trim() !== "") shown.push(<Plain key={`plain ${line}`} text={plain} />);
  };
  for (const block of blocksOf(tokens)) {
    const [from, to] = block[0]!.map!;
    // No line is between two blocks, but an empty one.
    showPlain(from);
    line = from;
    if (hasAllWords(lines.slice(from, to).join("\n"), block)) {
      shown.push(<Fragment key={line}>{render(block)}</Fragment>);
    } else showPlain(to);
    line = to;
  }
  showPlain(lines.length);
  return shown;
}

/** Characters of a text that its one-line form is made of. */
const PREVIEW = 1_000;

/** The words of a text in one line, without its marks and the addresses of its links. */
export function toLine(text: string): string {
  const tokens = parse(text.slice(0, PREVIEW).toWellFormed()) ?? [];
  let words = "";
  for (const { type, content, block } of allOf(tokens)) {
    if (block || type === "softbreak" || type === "hardbreak") words += " ";
    // The children of an inline token have its words.
    if (type !== "inline") words += content;
  }
  return words.replace(/\s+/g, " ").trim() || text;
}

/** Null if the text is beyond a limit. */
function parse(text: string): Token[] | null {
  if (text.length > MOST.characters) return null;
  const tokens = parser.parse(text, {});
  return allOf(tokens).length > MOST.elements ? null : tokens;
}

/** The tokens, each before those within it. */
const allOf = (tokens: readonly Token[]): Token[] =>
  tokens.flatMap((token) => [token, ...(token.children ?? [])]);

/** The tokens of each paragraph, list, table and so on that is within no other. */
function blocksOf(tokens: readonly Token[]): Token[][] {
  const blocks: Token[][] = [];
  for (const token of tokens) {
    if (token.level === 0 && token.nesting >= 0) blocks.push([token]);
    else blocks.at(-1)!.push(token);
  }
  return blocks;
}

function Plain({ text }: { text: string }) {
  return (
    <p dir="auto" className="said overflow-clip whitespace-pre-wrap">
      {text}
    </p>
  );
}

/** The letters and digits of a text. */
function wordsIn(text: string): number {
  let words = 0;
  for (const [word] of text.matchAll(/[\p{L}\p{M}\p{N}]+/gu)) words += word.length;
  return words;
}

/**
 * Whether all words of a block are shown. Markdown drops some, such as cells beyond the width of a
 * table, and what is nested too deep.
 */
function hasAllWords(text: string, block: readonly Token[]): boolean {
  if (block.some(({ level }) => level >= MOST.nesting - 1)) return false;
  let shown = 0;
  for (const { type, content, info, attrs, markup } of allOf(block)) {
    if (type === "inline") continue;
    shown += wordsIn(content);
    if (type === "list_item_open" || type === "fence") shown += wordsIn(info);
    if (type === "link_open" && markup !== "linkify" && markup !== "autolink") {
      for (const [, value] of attrs ?? []) shown += wordsIn(String(value));
    }
  }
  return shown >= wordsIn(text);
}

/** Words of a cell stay whole: a table that is too wide scrolls. */
const CELL = "border border-line px-2 py-1 wrap-break-word [unicode-bidi:isolate]";

/**
 * Builds the elements from the flat list of tokens, in which each opening token has a closing one.
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
        <code key={key} dir="ltr" className="rounded bg-sunken px-1 font-mono text-[0.875em]">
          {token.content}
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
    case "bullet_list_open":
      return (
        <ul key={key} className="list-disc space-y-1 ps-6">
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
    case "list_item_open":
      return (
        <li
          key={key}
          dir="auto"
          value={token.info ? Number(token.info) : undefined}
          className="said space-y-1 whitespace-pre-wrap"
        >
          {within}
        </li>
      );
    case "strong_open":
      return (
        <strong key={key} className="font-semibold">
          {within}
        </strong>
      );
    case "em_open":
      return <em key={key}>{within}</em>;
    case "s_open":
      return <s key={key}>{within}</s>;
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
    case "thead_open":
      return <thead key={key}>{within}</thead>;
    case "tbody_open":
      return <tbody key={key}>{within}</tbody>;
    case "tr_open":
      return <tr key={key}>{within}</tr>;
    case "th_open":
      return (
        <th key={key} dir="auto" className={`${CELL} text-start`}>
          {within}
        </th>
      );
    case "td_open":
      return (
        <td key={key} dir="auto" className={`${CELL} align-top`}>
          {within}
        </td>
      );
    default:
      return <Fragment key={key}>{within}</Fragment>;
  }
}

interface LinkProps {
  readonly address: string;
  readonly title: string | number | null;
  readonly text: ReactNode[];
}

/** A link, followed by its host unless its text is the address, and by its title. */
function Link({ address, title, text }: LinkProps) {
  const host = hostOf(address);
  const written = text.length === 1 ? text[0] : null;
  return (
    <>
      <a
        href={address}
        target="_blank"
        rel="noopener noreferrer"
        className="font-medium text-accent underline underline-offset-2"
      >
        <bdi>{text}</bdi>
      </a>
      {written !== address && <bdi className="text-faint text-sm">{` (${host})`}</bdi>}
      {title !== null && <bdi className="text-faint text-sm">{` “${title}”`}</bdi>}
    </>
  );
}
