/** Agents' Markdown: how it is formatted, as blocks and in one line (no browser needed). */

import { expect, test } from "bun:test";
import { blocksOf, isPlain, taskMarkOf, toLine } from "../../src/web/ui/markdown-blocks.ts";

type Block = NonNullable<ReturnType<typeof blocksOf>>[number];

/** The blocks of a text: formatted blocks as the types of their tokens, others as written. */
const shownOf = (text: string): (string | string[])[] =>
  blocksOf(text)?.map(({ source, tokens }) => (tokens ? typesOf({ tokens }) : source)) ?? [];

const typesOf = ({ tokens }: Pick<Block, "tokens">): string[] =>
  tokens!
    .flatMap((token) => [token, ...(token.children ?? [])])
    .filter(({ nesting, type }) => nesting >= 0 && type !== "inline" && type !== "text")
    .map(({ type }) => type.replace("_open", ""));

/** Texts that agents write without meaning Markdown: nothing in them is a mark. */
const LITERAL = [
  "2*3*4 files, 5*(a+b)*3",
  "rm $HOME/*/bin/*",
  "src/**/*.tsx and a/*/b",
  "f(*args, **kwargs)",
  "__init__.py, __main__ and snake_case_name",
  "\\\\server\\share\\*.doc or C:\\_temp",
  "<<<<<<< HEAD\na = 1\n=======\na = 2",
  "&lt;T&gt; and \\*not emphasis\\*",
  "_private and self._id_, then __all__ = [] or ___x___",
  "_snake_case_, _my_id_ and _GNU_SOURCE_",
  "f(_a, b_) calls _v2_ or _camelCase_",
  "/tmp/_cache_/x, a_b_c and _x_=1",
  "_first\npublic_",
  "_ a _ and 2_000_000",
  "obj._x_.y, $_GET_ and -_x_",
];

test("operators, globs and paths stay as written", () => {
  for (const text of LITERAL) {
    const breaks = text
      .split("\n")
      .slice(1)
      .map(() => "softbreak");
    expect([text, shownOf(text)]).toEqual([text, [["paragraph", ...breaks]]]);
    expect(toLine(text)).toBe(text.replaceAll("\n", " "));
  }
});

test("a list whose numbers the page cannot show is shown as written", () => {
  for (const text of ["20260101. deploy\n\n1. one", "007. Bond"]) {
    expect([text, shownOf(text)]).toEqual([text, [text]]);
  }
});

const ALTERED = [
  "> 5 errors",
  "- > 500 errors: page me\n- < 500 errors: ignore",
  ">>>>>>> branch",
  "* * * * * /usr/bin/backup.sh",
  "Run\n\n* * * * *",
  "git log -- *.ts 'src/x*'",
  "1. one",
  "# One",
  "One\n  indented",
  "    code",
  "`code`",
  "| a |\n|-|\n| b |",
  "See [the plan](https://docs.example.com/plan)",
];

test("a text that looks different from how it was written is recognized as such", () => {
  const isWritten = (text: string) => blocksOf(text)!.every(isPlain);
  for (const text of ALTERED) expect([text, isWritten(text)]).toEqual([text, false]);
  const same = ["One.\nTwo\n\nThree", "See https://a.example/b", "|a|\n|-|\n|b|lost|", ...LITERAL];
  for (const text of same) expect([text, isWritten(text)]).toEqual([text, true]);
});

test("emphasis around words is formatted", () => {
  for (const text of [
    "**one** two",
    "(*one*)",
    "Say: **one**, two",
    "a ~~b~~ c.",
    "***one***",
    "**.env** file",
    "a **b** (*c*)",
    "_one_",
    "It is _really_ done.",
    "(_one two_)",
    "Say: _don't_, two",
    "“_one_”",
    "_two words_!",
    "_**one**_ two",
    "_NOT_ this",
    "_42_ of them",
    "_well-known_",
    "_été_",
    "_see `my_id`_",
  ]) {
    const [[, mark] = []] = shownOf(text);
    expect([text, mark]).toEqual([text, expect.stringMatching(/^(strong|em|s)$/)]);
  }
  expect(toLine("这是**重要**的")).toBe("这是重要的");
});

test("task lists have boxes, which the one-line form writes as they were", () => {
  const text =
    "- [ ] one\n- [x] **two**\n- [X] three\n- [-] four\n- [x]\n- [ ](https://a.example/)";
  const [block] = blocksOf(text)!;
  const items = block!.tokens!.filter(({ type }) => type === "list_item_open");
  expect(items.map(taskMarkOf)).toEqual([
    { done: false },
    { done: true },
    { done: true },
    null,
    null,
    null,
  ]);
  const words = block!
    .tokens!.filter(({ type }) => type === "inline")
    .map(({ children }) => children!.map(({ content }) => content).join(""));
  expect(words).toEqual(["one", "two", "three", "[-] four", "[x]", " "]);
  expect(toLine("- [ ] one\n- [x] two")).toBe("- [ ] one - [x] two");
  // Elsewhere, brackets are text.
  expect(shownOf("[x] done")).toEqual([["paragraph"]]);
  expect(toLine("[x] done")).toBe("[x] done");
});

test("an image is a link with its text, whatever is around it", () => {
  const linksOf = (text: string) =>
    blocksOf(text)!.flatMap(({ tokens, source }) =>
      (tokens ?? [])
        .flatMap(({ children }) =>
          (children ?? []).map(({ type, content, attrs }) =>
            type === "link_open" ? (attrs![0]![1] as string) : content,
          ),
        )
        .concat(tokens ? [] : [source]),
    );
  expect(linksOf("![A chart](https://a.example/c.png)")).toEqual([
    "",
    "https://a.example/c.png",
    "A chart",
    "",
  ]);
  expect(linksOf("See ![it](https://a.example/c.png)!").join("")).toBe(
    "See https://a.example/c.pngit!",
  );
  // Only a sign before a link that is one goes.
  for (const text of ["Look! https://a.example/", "![x](./a.png)", "! [x](y)", "![x]", "a!b"]) {
    expect([text, toLine(text)]).toEqual([text, text]);
  }
  expect(toLine("Now![it](https://a.example/)")).toBe("Nowit");
});

test("columns are aligned as their rule says", () => {
  const [block] = blocksOf("|a|b|c|d|\n|:-|-:|:-:|-|\n|1|2|3|4|")!;
  const cells = block!.tokens!.filter(({ type }) => type === "td_open");
  expect(cells.map((one) => one.attrGet("style"))).toEqual([
    "text-align:left",
    "text-align:right",
    "text-align:center",
    null,
  ]);
});

test("a block that would lose something is shown as written, and the others are formatted", () => {
  const table = "| a |\n|-|\n| shown | lost |";
  expect(shownOf(`**One**\n\n${table}\n\n> quoted\n\n1. a\n2. b`)).toEqual([
    ["paragraph", "strong"],
    table,
    ["blockquote", "paragraph"],
    ["ordered_list", "list_item", "paragraph", "list_item", "paragraph"],
  ]);
  expect(shownOf("One\r\n\r\n- two\r\n- three")).toEqual([
    ["paragraph"],
    ["bullet_list", "list_item", "paragraph", "list_item", "paragraph"],
  ]);
});

test("the one-line form keeps marks of lists and quotes that may have a meaning", () => {
  expect(toLine("## Set\n\n- 5 degrees\n- **now**\n\n1986. A year")).toBe(
    "Set - 5 degrees - now 1986. A year",
  );
  expect(toLine("7) seventh")).toBe("7) seventh");
  expect(toLine("> 5 files")).toBe("> 5 files");
  expect(toLine("Deploy ~~not~~ `now`")).toBe("Deploy ~~not~~ now");
  expect(toLine("See [the plan](https://docs.example.com/plan) and https://a.example/b")).toBe(
    "See the plan and https://a.example/b",
  );
  expect(toLine("[](https://a.example/)")).toBe("[](https://a.example/)");
  expect(toLine("|a|b|\n|-|-|\n|1|2|lost|")).toBe("|a|b| |-|-| |1|2|lost|");
});

test("a line with very many marks stays as written, and the rest is formatted", () => {
  for (const mark of [
    "[a](b ",
    "[a](< ",
    "![a](",
    "**a _b ~~c ",
    "http://|//x&'",
    "_a b_ ",
    "(_",
    "_a ",
  ]) {
    const long = mark.repeat(Math.floor(19_000 / mark.length)).trim();
    const blocks = blocksOf(`**One**\n\n${long}\n\n*two*`)!;
    const [first, hostile, last] = blocks.map(typesOf);
    expect([mark, first, hostile, last]).toEqual([
      mark,
      ["paragraph", "strong"],
      ["paragraph"],
      ["paragraph", "em"],
    ]);
    expect(blocks[1]!.tokens![1]!.children!.map(({ content }) => content)).toEqual([long]);
  }
  expect(blocksOf("```\n```\n".repeat(2_000))).toBeNull();
});
