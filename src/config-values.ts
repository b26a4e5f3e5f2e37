/** What is wrong with a value of the environment, in words that never repeat it (docs/interface.md §16). */

import { isIP } from "node:net";

/** What is wrong with `PUBLIC_URL`; null if nothing is. */
export function publicUrlFault(text: string): string | null {
  const [, authority = "", path = ""] = /^https?:\/\/([^/\\?#]*)([^?#]*)$/.exec(text) ?? [];
  const url = URL.parse(text);
  if (url === null || authority === "" || /[@\s"'<>`]/.test(authority)) {
    return "must be an http(s) URL without a query or a credential";
  }
  if (/\\/.test(path)) return "must not have a backslash: separate its path by /";
  if (/\/\//.test(path)) return "must not have // in its path";
  // Dot segments and signs that a URL cannot have are changed by the parser.
  const plain = path.replace(/\P{ASCII}+/gu, encodeURIComponent);
  if (url.pathname !== (plain || "/")) {
    return "must not have . or .. as a part of its path, nor a character that a URL cannot have";
  }
  return null;
}

/** An IPv4 number in decimal: a leading zero means octal to some programs. */
const DECIMAL = /^(0|[1-9]\d{0,2})$/;

/**
 * Whether a text is a network in CIDR notation. Only whole addresses in their usual form are: `10/8`
 * would be 0.0.0.0/8 to some parsers, and `012.0.0.0/8` is 10.0.0.0/8 to others.
 */
export function isNetwork(text: string): boolean {
  const [address = "", bits = "", ...rest] = text.split("/");
  if (rest.length > 0 || !DECIMAL.test(bits)) return false;
  const version = address.includes("%") ? 0 : isIP(address);
  if (version === 4 && !address.split(".").every((part) => DECIMAL.test(part))) return false;
  return version !== 0 && Number(bits) <= (version === 4 ? 32 : 128);
}

/**
 * Why a value that was refused may look right to whoever wrote it: what an editor, a shell or a file
 * of variables left around it. Empty if nothing of the kind is there.
 */
export function lookAt(value: string): string {
  const found: string[] = [];
  if (/\r/.test(value)) found.push("a carriage return, as files made on Windows have");
  else if (/^\s|\s$/.test(value)) found.push("white space at its beginning or end");
  if (/^\s*(["']).*\1\s*$/s.test(value))
    found.push("quotes around it, which are part of the value");
  return found.length === 0 ? "" : `; it has ${found.join(" and ")}`;
}
