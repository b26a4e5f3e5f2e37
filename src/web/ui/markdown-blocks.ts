/**
 * Parses the Markdown of agents for the page: without HTML, with images as links, in bounded time,
 * and without losing a word or number of the text.
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
/** The code of `_`. */
const UNDERSCORE = 95;
/** Characters after an underscore that decide whether it can end italic text. */
const AROUND = 10;

const parser = new MarkdownIt({
  html: false,
  linkify: true,
  breaks: true,
  maxNesting: MOST.nesting,
})
  // An image is a link (see below). Entities, escapes and link definitions are shown as they were
  // written, and so is an underlined heading: its `===` may be the middle of a merge conflict.
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

/** What may stand before and after text in underscores: neither is a part of a name. */
const BEFORE_ITALIC = /(?:^|[\s[{"'“‘«—–*~]|(?:^|\W)\()$/;
const AFTER_ITALIC = /^(?:$|[\s)\]}"'”’»—–*~]|[.,;:!?…]+(?!\w))/;

/**
 * Emphasis only around whole words and paths: otherwise `2*3*4` would be shown as 234. By `_` only
 * where no name such as `__init__` or `f(_a, b_)` can be meant; see {@link isName} for what is between.
 */
parser.inline.State = class extends parser.inline.State {
  override scanDelims(start: number, canSplitWord: boolean) {
    const scanned = super.scanDelims(start, canSplitWord);
    const { length, can_open, can_close } = scanned;
    const end = start + length;
    if (this.src[start] === "_") {
      const before = this.src.slice(Math.max(0, start - 2), start);
      const after = this.src.slice(end, end + AROUND);
      return {
        ...scanned,
        can_open: can_open && length === 1 && BEFORE_ITALIC.test(before),
        can_close: can_close && length === 1 && AFTER_ITALIC.test(after),
      };
    }
    const isInWord = (at: number) => /[\w/\\]/.test(this.src[at] ?? " ");
    return {
      ...scanned,
      can_open: can_open && !isInWord(start - 1),
      can_close: can_close && !isInWord(end),
    };
  }
};

/** A word or number of a sentence, unlike `my_id`, `v2`, `aName` and `a.b`. */
const WORD =
  /^(?:\p{L}(?:(?<!\p{Ll})\p{Lu}|[\p{Ll}\p{Lo}\p{Lm}\p{Lt}\p{M}'’-])*|\p{N}[\p{N}.,:%]*)[.,;:!?…]*$/u;

/**
 * True if text between two underscores is rather a part of names with them, such as `_my_id_`, or
 * begins and ends in different lines.
 */
function isName(tokens: readonly Token[]): boolean {
  let text = "";
  for (const { type, content } of tokens) {
    if (type === "softbreak" || type === "hardbreak") return true;
    // Names in code are marked as such.
    text += type === "code_inline" ? "`" : content.replace(/[*~]/g, "");
  }
  return text.includes("_") || !(/\s/.test(text) || WORD.test(text));
}

/** Underscores around a name stay as they were written. */
parser.inline.ruler2.after("balance_pairs", "names", ({ tokens, tokens_meta, delimiters }) => {
  const within = tokens_meta.flatMap((one) => (one?.delimiters ? [one.delimiters] : []));
  for (const all of [delimiters, ...within]) {
    for (const one of all) {
      const end = all[one.end];
      if (one.marker !== UNDERSCORE || !end) continue;
      if (isName(tokens.slice(one.token + 1, end.token))) one.end = -1;
    }
  }
});

/** A measure of the time to parse a text: each of its marks may be compared with all that follows. */
function costOf(text: string): number {
  return text.length * (text.match(/[[\]*~<`!]|:\/\/|(?<!\w)_|_(?!\w)/g)?.length ?? 0);
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

/** The state of an item of a task list, `[ ]` or `[x]`. */
export interface TaskMark {
  readonly done: boolean;
}

/** The mark of a list item; null if it has none. */
export const taskMarkOf = ({ type, meta }: Token): TaskMark | null =>
  type === "list_item_open" ? (meta as TaskMark | null) : null;

parser.core.ruler.after("inline", "marks", ({ tokens }) => {
  for (const [at, { type, children }] of tokens.entries()) {
    if (type !== "inline" || !children) continue;
    const item = tokens[at - 1]?.type === "paragraph_open" ? tokens[at - 2] : undefined;
    const mark = item?.type === "list_item_open" ? takeTaskMark(children) : null;
    if (item && mark) item.meta = { ...mark };
    takeImageSigns(children);
  }
});

/** Takes `[ ] ` or `[x] ` away from the text of a list item. */
function takeTaskMark(children: readonly Token[]): TaskMark | null {
  const [first, ...others] = children;
  const [mark, sign] = (first?.type === "text" && /^\[([ xX])\] /.exec(first.content)) || [];
  if (!first || mark === undefined) return null;
  const rest = first.content.slice(mark.length);
  if (rest.trim() === "" && others.length === 0) return null;
  first.content = rest;
  return { done: sign !== " " };
}

/** An image is a link with its text, since nothing is loaded: without its `!`, it is one. */
function takeImageSigns(children: readonly Token[]): void {
  for (const [at, { type, markup }] of children.entries()) {
    const before = children[at - 1];
    if (type !== "link_open" || markup !== "" || before?.type !== "text") continue;
    before.content = before.content.replace(/!$/, "");
  }
}

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
  for (const token of allOf(block)) {
    const { type, content, info, attrs, markup, level, block: is_block } = token;
    if (type === "inline") continue;
    // The `x` of its mark.
    if (taskMarkOf(token)?.done) shown++;
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

const signOf = (mark: TaskMark | null): string =>
  mark === null ? "" : mark.done ? "[x] " : "[ ] ";

function lineOf(tokens: readonly Token[]): string {
  let line = "";
  for (const token of allOf(tokens)) {
    const { type, content, block, info, markup } = token;
    if (block || type === "softbreak" || type === "hardbreak") line += " ";
    if (type === "list_item_open") line += `${info}${markup} ${signOf(taskMarkOf(token))}`;
    else if (type === "blockquote_open") line += "> ";
    else if (type === "s_open" || type === "s_close") line += "~~";
    // The children of an inline token have its words.
    else if (type !== "inline") line += content;
  }
  return line;
}
