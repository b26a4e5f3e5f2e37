/** Parts of the help of commands. */

/** The paragraph with examples. */
export const examples = (...lines: readonly string[]) =>
  `\nExamples:\n${lines.map((line) => `  ${line}`).join("\n")}`;

export const JSON_OPTION = ["--json", "print JSON, one value per line"] as const;
