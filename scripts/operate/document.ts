/** Reads the recipes that docs/operating.md prints. */

import { readFileSync } from "node:fs";

const DOCUMENT = new URL("../../docs/operating.md", import.meta.url);

/** The code blocks of a section, by its whole heading, such as `### nginx`. At least one, or it throws. */
export function blocksOf(heading: string): string[] {
  const [, after = ""] = readFileSync(DOCUMENT, "utf8").split(`\n${heading}\n`);
  const [section = ""] = after.split(/\n#{2,4} /);
  const blocks = [...section.matchAll(/```\w*\n([\s\S]*?)```/g)].map(([, block = ""]) => block);
  if (blocks.length === 0) throw new Error(`docs/operating.md has no code in "${heading}"`);
  return blocks;
}
