/** Crockford's base32, for codes that people type. */

/** Without I, L, O and U. */
const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/** Bytes, a multiple of 5, as base32: 8 characters for every 5 bytes. */
export function toBase32(bytes: Uint8Array): string {
  let text = "";
  let value = 0;
  let bits = 0;
  for (const byte of bytes) {
    value = (value << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += ALPHABET[(value >> bits) & 31];
    }
    value &= (1 << bits) - 1;
  }
  return text;
}

/** The text with a dash after every 4 characters. */
export const inGroups = (text: string): string => text.replace(/.{4}(?=.)/g, "$&-");

/**
 * Reads what a person typed: in capitals, without dashes and white space, with 1 for I and L, and 0 for O. Null
 * unless `length` characters of base32 are left.
 */
export function readBase32(given: string, length: number): string | null {
  const typed = given
    .replace(/[\s\p{Pd}]/gu, "")
    .toUpperCase()
    .replace(/[IL]/g, "1")
    .replaceAll("O", "0");
  return typed.length === length && /^[0-9A-HJKMNP-TV-Z]*$/.test(typed) ? typed : null;
}
