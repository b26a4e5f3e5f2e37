/** Shows what a text would hide: a person decides by what they see (docs/interface.md §2.5.6). */

/**
 * Controls other than line feed and tab, format characters such as those of writing direction,
 * characters without a glyph or a meaning, and every space but the usual one.
 */
const HIDDEN =
  /(?![\n\t])[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/gu;

const escaped = (sign: string): string => `\\u{${sign.codePointAt(0)!.toString(16)}}`;

/** The text with each such character as `\u{202e}`. */
export const makeVisible = (text: string): string => text.replace(HIDDEN, escaped);

/** The same with line feeds and tabs escaped too. */
export const oneVisibleLine = (text: string): string =>
  makeVisible(text).replace(/[\n\t]/g, escaped);
