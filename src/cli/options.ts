/** What the commands share of options and help. */

import { Option } from "commander";

export const json = () => new Option("--json", "print JSON, one value to a line");

export const examples = (...lines: readonly string[]) =>
  `\nExamples:\n${lines.map((line) => `  ${line}`).join("\n")}`;
