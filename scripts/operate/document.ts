/** Reads the recipes that the pages of docs/operating print. */

import { readFileSync } from "node:fs";
import { sectionOf } from "../../test/support/documents.ts";

type Page = "backups" | "proxies" | "store";

/**
 * The code blocks of a section, without what is around them; only those in `language`, if it is given. At least one, or it
 * throws.
 */
export function blocksOf(page: Page, title: string, language = "\\w*"): string[] {
  const text = readFileSync(new URL(`../../docs/operating/${page}.md`, import.meta.url), "utf8");
  const found = sectionOf(text, title).matchAll(
    new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``, "g"),
  );
  const blocks = [...found].map(([, block = ""]) => block);
  if (blocks.length === 0) throw new Error(`docs/operating/${page}.md has no code in "${title}"`);
  return blocks;
}
