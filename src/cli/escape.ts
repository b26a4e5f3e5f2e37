/** Escapes text from others, so that a terminal shows control characters instead of obeying them. */

/** C0, DEL and C1 controls, line separators, and the controls of writing direction. */
const CONTROLS =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
  /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

const escaped = (sign: string): string => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** The text in one line: every control, line breaks included, becomes an escape such as `\u001b`. */
export const oneLine = (text: string): string => text.replace(CONTROLS, escaped);

/** The text with controls escaped, but not line feeds and tabs. CR LF becomes LF. */
export const manyLines = (text: string): string =>
  text
    .replaceAll("\r\n", "\n")
    .replace(CONTROLS, (sign) => (sign === "\n" || sign === "\t" ? sign : escaped(sign)));

/** JSON in one line with controls escaped; it parses to the same value. */
export const jsonLine = (value: unknown): string =>
  `${JSON.stringify(value).replace(CONTROLS, escaped)}\n`;
