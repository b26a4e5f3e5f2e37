/**
 * Parses the Markdown of agents for the page: without HTML and images, in bounded time, and without
 * losing a word or number of the text.
 */

import MarkdownIt, { type Token } from "markdown-it";
import { urlOf } from "./url.ts";

/**
 * Limits in characters, nesting levels and tokens: a text beyond any of them is not parsed. `cost`: the
 * sum of {@link costOf} over its lines.
 */
const MOST = { characters: 20_000, nesting: 20, elements: 8_000, cost: 1_000_000 };
/** Tokens that a block of code counts as: it takes that much longer to show. */
const FENCE = 20;
/** Addresses in a word become links up to this length of the word times one more than their number. */
const ADDRESSES = 8_000;
/** Digits of a list number that fit before the text. */
const DIGITS = 3;

const parser = new MarkdownIt({
  html: false,
  linkify: true,
  breaks: true,
  maxNesting: MOST.nesting,
})
  // Images are not loaded. Entities, escapes and link definitions are shown as they were written,
  // and so is an underlined heading: its `===` may be the middle of a merge conflict.
  .disable(["image", "entity", "escape", "reference", "lheading"]);
parser.linkify.set({ fuzzyLink: false, fuzzyEmail: false });
// Its search takes very long where many addresses follow each other without a space.
const hasAddress = parser.linkify.test.bind(parser.linkify);
parser.linkify.test = (text) =>
  text.split(/\s+/).every((word) => word.length * word.split("://").length <= ADDRESSES) &&
  hasAddress(text);
// Addresses stay as written: the host is read from them, and a bare address is its own text.
parser.normalizeLink = (address) => address;
parser.normalizeLinkText = (address) => address;
parser.validateLink = (address) => hostOf(address) !== null;

/**
 * Emphasis only around whole words and paths, and never by `_`: otherwise `2*3*4` would be shown as
 * 234, and `__init__` as init.
 */
parser.inline.State = class extends parser.inline.State {
  override scanDelims(start: number, canSplitWord: boolean) {
    const scanned = super.scanDelims(start, canSplitWord);
    const isInWord = (at: number) => /[\w/\\]/.test(this.src[at] ?? " ");
    const is_mark = this.src[start] !== "_";
    return {
      ...scanned,
      can_open: is_mark && scanned.can_open && !isInWord(start - 1),
      can_close: is_mark && scanned.can_close && !isInWord(start + scanned.length),
    };
  }
};

/** A measure of the time to parse a text: each of its marks may be compared with all that follows. */
function costOf(text: string): number {
  return text.length * (text.match(/[[\]*~<`!]|:\/\//g)?.length ?? 0);
}

/** Lines of text that would take too long stay as they were written. */
parser.core.ruler.at("inline", (state) => {
  let left = MOST.cost;
  for (const token of state.tokens) {
    if (token.type !== "inline") continue;
    const children = token.children ?? [];
    const cost = costOf(token.content);
    left -= cost;
    if (left >= 0) parser.inline.parse(token.content, parser, state.env, children);
    else {
      left += cost;
      const text = new state.Token("text", "", 0);
      text.content = token.content;
      children.push(text);
    }
  }
});

/**
 * Host of a web address; null for any other, such as `javascript:`, and for one with a user name.
 */
export function hostOf(address: string): string | null {
  if (!/^https?:\/\//i.test(address)) return null;
  const url = urlOf(address);
  return url && url.username === "" && url.password === "" ? url.host : null;
}

/** A top-level paragraph, list, table and so on. */
export interface Block {
  /** The number of its first line. */
  readonly line: number;
  /** As it was written. */
  readonly source: string;
  /** Null if something of it would be lost: it must be shown as it was written. */
  readonly tokens: readonly Token[] | null;
}

/** The blocks of a text; null if it is beyond a limit, or has no words. */
export function blocksOf(text: string): Block[] | null {
  if (text.length > MOST.characters || wordsIn(text) === 0) return null;
  const tokens = parser.parse(text, {});
  const fences = tokens.filter(({ type }) => type === "fence" || type === "code_block").length;
  if (allOf(tokens).length + fences * FENCE > MOST.elements) return null;
  const lines = text.split(/\r\n?|\n/);
  const blocks: Block[] = [];
  let line = 0;
  const add = (end: number, shown: readonly Token[] | null) => {
    const source = lines.slice(line, end).join("\n");
    if (source.trim() !== "") {
      const whole = shown !== null && isWhole(source, shown);
      blocks.push({ line, source, tokens: whole ? shown : null });
    }
    line = end;
  };
  for (const group of groupsOf(tokens)) {
    const [from, to] = group[0]!.map!;
    // Only empty lines are between blocks.
    add(from, null);
    add(to, group);
  }
  add(lines.length, null);
  return blocks;
}

/** The tokens of each block. */
function groupsOf(tokens: readonly Token[]): Token[][] {
  const groups: Token[][] = [];
  for (const token of tokens) {
    if (token.level === 0 && token.nesting >= 0) groups.push([token]);
    else groups.at(-1)!.push(token);
  }
  return groups;
}

/** The tokens, each before those within it. */
const allOf = (tokens: readonly Token[]): Token[] =>
  tokens.flatMap((token) => [token, ...(token.children ?? [])]);

/** The letters and digits of a text. */
function wordsIn(text: string): number {
  let words = 0;
  for (const [word] of text.matchAll(/[\p{L}\p{M}\p{N}]+/gu)) words += word.length;
  return words;
}

/**
 * True if no part of a block is lost. Markdown drops some words, such as cells beyond the width of
 * a table, and what is nested too deep.
 */
function isWhole(source: string, block: readonly Token[]): boolean {
  let shown = 0;
  for (const { type, content, info, attrs, markup, level, block: is_block } of allOf(block)) {
    if (type === "inline") continue;
    if (is_block && level >= MOST.nesting - 1) return false;
    if (type === "list_item_open" && (info.length > DIGITS || /^0\d/.test(info))) return false;
    shown += wordsIn(content);
    if (type === "list_item_open" || type === "fence") shown += wordsIn(info);
    if (type === "link_open" && markup !== "linkify" && markup !== "autolink") {
      for (const [, value] of attrs ?? []) shown += wordsIn(String(value));
    }
  }
  return shown >= wordsIn(source);
}

/** True if a block looks the same formatted as it was written; links to addresses in it do not count. */
export function isPlain({ source, tokens }: Block): boolean {
  const shown = allOf(tokens ?? []).map(({ type, content }) => {
    if (type === "softbreak" || type === "hardbreak") return "\n";
    return type === "inline" ? "" : content;
  });
  return tokens === null || shown.join("") === source;
}

/** Characters of a text that its one-line form is made of. */
const LINE = 1_000;

/**
 * A text in one line, for lists: without the marks of emphasis, code, headings and tables, and
 * without the addresses of its links.
 */
export function toLine(text: string): string {
  const blocks = blocksOf(text.slice(0, LINE).toWellFormed());
  if (!blocks) return text;
  const line = blocks.map(({ source, tokens }) => (tokens ? lineOf(tokens) : source)).join(" ");
  return line.replace(/\s+/g, " ").trim() || text;
}

function lineOf(tokens: readonly Token[]): string {
  let line = "";
  for (const token of allOf(tokens)) {
    const { type, content, block, info, markup } = token;
    if (block || type === "softbreak" || type === "hardbreak") line += " ";
    if (type === "list_item_open") line += `${info}${markup} `;
    else if (type === "blockquote_open") line += "> ";
    else if (type === "s_open" || type === "s_close") line += "~~";
    // The children of an inline token have its words.
    else if (type !== "inline") line += content;
  }
  return line;
}
