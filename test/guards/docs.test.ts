/** The documents agree with each other and with the code: links, paths, commands, tables, terms. */

import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { Glob } from "bun";
import manifest from "../../package.json" with { type: "json" };
import { anchorsOf, prose, readText, sectionOf } from "../support/documents.ts";
import { hasClause, readDocument } from "./document.ts";

const root = new URL("../../", import.meta.url).pathname;
const names = ["README.md", "CHANGELOG.md", ...new Glob("docs/**/*.md").scanSync(root)].sort();
const others = ["CONTRIBUTING.md", "SECURITY.md", "src/overload/README.md"];
const documents = new Map<string, string>();
for (const name of [...names, ...others]) documents.set(name, await readText(name));
const document = await readDocument();

const links = [...documents].flatMap(([from, text]) =>
  [...prose(text).matchAll(/\[([^\]]*)\]\(([^)\s]+)\)/g)]
    .map(([, shown, to]) => ({ from, shown: shown!, to: to! }))
    .filter(({ to }) => !/^https?:/.test(to)),
);

test("every link leads to an existing file and heading", () => {
  expect(links.length).toBeGreaterThan(100);
  const wrong = links.filter(({ from, to }) => {
    const [path = "", anchor] = to.split("#");
    const file = path === "" ? from : normalize(join(dirname(from), path));
    if (!existsSync(root + file)) return true;
    return anchor !== undefined && !anchorsOf(documents.get(file) ?? "").includes(anchor);
  });
  expect(wrong).toEqual([]);
});

test("a link that shows a clause number leads to that clause's section", () => {
  const shown = links.filter(
    ({ shown, to }) => /^\d+(\.\d+)*$/.test(shown) && to.includes("interface.md#"),
  );
  expect(shown.length).toBeGreaterThan(20);
  const titles = [...document.text.matchAll(/^#+ (\d+(?:\.\d+)*) /gm)].map(([, number]) => number!);
  const wrong = shown.filter(({ shown, to }) => {
    // The nearest heading: the clause's own, or that of its section.
    const section = titles.filter((title) => `${shown}.`.startsWith(`${title}.`)).at(-1)!;
    const anchor = to.split("#")[1]!;
    const start = `${section.replaceAll(".", "")}-`;
    return !hasClause(document, shown) || !anchor.startsWith(start);
  });
  expect(wrong).toEqual([]);
});

test("the first pages lead to every document, and README stays short", () => {
  const readme = documents.get("README.md")!;
  const linked = links
    .filter(({ from }) => ["README.md", "docs/README.md", "docs/operating.md"].includes(from))
    .map(({ from, to }) => normalize(join(dirname(from), to.split("#")[0]!)));
  expect(names.filter((name) => name !== "README.md" && !linked.includes(name))).toEqual([]);
  expect(readme.split("\n").length).toBeLessThanOrEqual(220);
});

/** What a document says in backticks, outside code blocks. */
const quoted = [...documents].flatMap(([from, text]) =>
  from === "CHANGELOG.md"
    ? []
    : [...prose(text).matchAll(/`([^`\n]+)`/g)].map(([, words]) => ({ from, words: words! })),
);

test("every path that a document names exists", () => {
  const paths = quoted.filter(({ words }) =>
    /^(src|db|routers|test|bench|scripts|docs)\/[\w./-]+$/.test(words),
  );
  expect(paths.length).toBeGreaterThan(50);
  const missing = paths.filter(({ words }) => !existsSync(root + words));
  expect(missing).toEqual([]);
});

test("a table that says where something is names files that exist and have it", async () => {
  const rows = [
    { from: "docs/architecture.md", title: "Where to find", others: [] },
    { from: "src/overload/README.md", title: "Overload", others: ["src/limits.ts"] },
  ].flatMap(({ from, title, others }) =>
    [
      ...sectionOf(documents.get(from)!, title).matchAll(/^\| (?!-|Question|What goes)(.+) \|$/gm),
    ].map(([, row]) => ({
      folder: dirname(from),
      others,
      cells: row!.split(" | ").slice(1).join(" "),
    })),
  );
  expect(rows.length).toBeGreaterThan(30);
  const wrong: string[] = [];
  for (const { folder, others, cells } of rows) {
    const words = [...cells.matchAll(/`([^`]+)`/g)].map(([, word]) => word!);
    const linked = [...cells.matchAll(/\]\(([^)#]+)/g)].map(([, to]) => join(folder, to!));
    // A name without a folder is a file beside the table; `payload.ts` stands for one of each channel.
    const named = words
      .filter((word) => /\.tsx?$/.test(word) && !/^payloads?\.ts$/.test(word))
      .map((word) => (word.includes("/") ? word : join(folder, word)));
    const files = [...named, ...linked, ...others];
    const missing = files.filter((file) => !existsSync(root + file));
    wrong.push(...missing.map((file) => `no file ${file}`));
    if (missing.length > 0) continue;
    const text = (await Promise.all(files.map(readText))).join("\n");
    const sought = words
      .filter((word) => !/[/§]|\.tsx?$/.test(word))
      .flatMap((word) => word.match(/[a-zA-Z]\w+/g) ?? []);
    // `unsent_*` stands for all names that begin so.
    const isThere = (name: string) =>
      new RegExp(`\\b${name}${name.endsWith("_") ? "" : "\\b"}`).test(text);
    wrong.push(...sought.filter((name) => !isThere(name)).map((name) => `${name}: ${cells}`));
  }
  expect(wrong).toEqual([]);
});

test("every command that a document names is in package.json", () => {
  const commands = quoted.flatMap(({ from, words }) =>
    [...words.matchAll(/\bbun run ([\w:-]+)(?![\w:*-])/g)].map(([, name]) => ({
      from,
      name: name!,
    })),
  );
  expect(commands.length).toBeGreaterThan(15);
  const scripts = Object.keys(manifest.scripts);
  // `bun run bench:*` stands for all of them.
  const isKnown = (name: string) =>
    scripts.some((script) => script === name || (name.endsWith(":") && script.startsWith(name)));
  expect(commands.filter(({ name }) => !isKnown(name))).toEqual([]);
});

test("docs/glossary.md has each term once, in order, with its meaning and place", () => {
  const rows = [...documents.get("docs/glossary.md")!.matchAll(/^\| (?!Term|---)(.*) \|$/gm)];
  const entries = rows.map(([, row]) => row!.split(" | "));
  expect(entries.length).toBeGreaterThan(60);
  expect(entries.filter((cells) => cells.length !== 3 || cells.includes(""))).toEqual([]);
  const terms = entries.map(([term]) => term!.toLowerCase());
  const sorted = [...new Set(terms)].sort((a, b) => (a < b ? -1 : 1));
  expect(terms).toEqual(sorted);
});
