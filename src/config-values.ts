/** How the values of variables are read: the parts that the schemas in `config.ts` are made of. */

import { isIP } from "node:net";
import { z } from "zod";

/** True if a text is an origin as a browser sends it: without a path or default port, in lower case. */
export const isOrigin = (text: string): boolean =>
  /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text;

/** Letters and digits of any language, and the other characters of host names. */
export const HOST_SIGNS = /^[\p{L}\p{M}\p{N}._-]+$/u;

/** A host name or IPv4 address as a browser writes it; null for anything else. */
export function hostName(text: string): string | null {
  const url = HOST_SIGNS.test(text) ? URL.parse(`http://${text}`) : null;
  return url?.hostname.replace(/\.$/, "") || null;
}

/** True if the user name and password of a URL can be decoded. */
export function isReadable(text: string): boolean {
  try {
    const { username, password } = new URL(text);
    return /^\P{Cc}*$/u.test(decodeURIComponent(username + password));
  } catch {
    return false;
  }
}

/**
 * A list, separated by commas with or without white space. `what` says what each entry must be; an error names the
 * number of the wrong one.
 */
export const list = <Entry>(read: (entry: string) => Entry | null, what: string) =>
  z.string().transform((text, context): Entry[] => {
    const entries = text.split(",").map((entry) => read(entry.trim()));
    const wrong = entries.indexOf(null);
    if (wrong >= 0) {
      const which = entries.length === 1 ? "" : `; number ${wrong + 1} is not`;
      context.addIssue({ code: "custom", message: `must be ${what}${which}` });
    }
    return entries.filter((entry) => entry !== null);
  });

export const text = (pattern: RegExp, fault: string) => z.string().regex(pattern, fault);
export const number = (pattern: RegExp, fault: string) => text(pattern, fault).transform(Number);

const UNITS: Readonly<Record<string, number>> = { m: 60, h: 3_600, d: 86_400 };

/** Seconds of a duration such as `90m`, `24h` or `7d`. */
export const secondsOf = (duration: string): number =>
  Number(duration.slice(0, -1)) * UNITS[duration.slice(-1)]!;

/** A duration as {@link secondsOf} reads it, from `min` to `max` seconds. It stays a text. */
export const duration = (min: number, max: number, fault: string) =>
  text(/^\d{1,5}[mhd]$/, fault).refine(
    (value) => secondsOf(value) >= min && secondsOf(value) <= max,
    fault,
  );

/**
 * Names and values such as `team=core,zone=a%20b`, percent-encoded, as OpenTelemetry writes lists. The fault never has
 * what was sent.
 */
export const pairs = (isPair: (name: string, value: string) => boolean, fault: string) =>
  z.string().transform((text, context): Readonly<Record<string, string>> => {
    const found: [string, string][] = [];
    for (const part of text.split(",").map((one) => one.trim())) {
      if (part === "") continue;
      const at = part.indexOf("=");
      try {
        const name = decodeURIComponent(part.slice(0, Math.max(0, at)).trim());
        const value = decodeURIComponent(part.slice(at + 1).trim());
        if (at > 0 && name !== "" && isPair(name, value)) found.push([name, value]);
        else context.addIssue({ code: "custom", message: fault });
      } catch {
        context.addIssue({ code: "custom", message: fault });
      }
    }
    return Object.fromEntries(found);
  });

/** True if `fetch` takes them as a header. */
export const isHeader = (name: string, value: string): boolean =>
  /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) && /^[\t -~]*$/.test(value);

/** An http(s) URL without a credential, a query or a fragment. */
export const isPlainUrl = (text: string): boolean =>
  /^https?:\/\/[^\s@?#]+$/.test(text) && URL.canParse(text);

export const anyText = z.string().min(1).optional();

/** Says what is wrong with a `PUBLIC_URL`; null if it is valid. */
export function publicUrlFault(text: string): string | null {
  const [, authority = "", path = ""] = /^https?:\/\/([^/\\?#]*)([^?#]*)$/.exec(text) ?? [];
  const url = URL.parse(text);
  if (url === null || authority === "" || /[@\s"'<>`]/.test(authority)) {
    return "must be an http(s) URL without a query or a credential";
  }
  if (/\\/.test(path)) return "must not have a backslash: separate its path by /";
  if (/\/\//.test(path)) return "must not have // in its path";
  // The parser changes dot segments and characters that a URL cannot have.
  const plain = path.replace(/\P{ASCII}+/gu, encodeURIComponent);
  if (url.pathname !== (plain || "/")) {
    return "must not have . or .. as a part of its path, nor a character that a URL cannot have";
  }
  return null;
}

/** A decimal number of an IPv4 address. Some programs read a leading zero as octal. */
const DECIMAL = /^(0|[1-9]\d{0,2})$/;

/**
 * True if a text is a network in CIDR notation, with a whole address: some parsers read `10/8` as 0.0.0.0/8, and others
 * `012.0.0.0/8` as 10.0.0.0/8.
 */
export function isNetwork(text: string): boolean {
  const [address = "", bits = "", ...rest] = text.split("/");
  if (rest.length > 0 || !DECIMAL.test(bits)) return false;
  const version = address.includes("%") ? 0 : isIP(address);
  if (version === 4 && !address.split(".").every((part) => DECIMAL.test(part))) return false;
  return version !== 0 && Number(bits) <= (version === 4 ? 32 : 128);
}

/** Of 32 random bytes about 30 differ; of a word or a repeated text, far fewer. */
const DIFFERENT = 16;

/** The bytes of a text in base64, base64url or hex; null if it is something else. */
function bytesOf(text: string): Buffer | null {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, "hex");
  return /^[A-Za-z0-9+/_-]{43}=?$/.test(text) ? Buffer.from(text, "base64") : null;
}

/** 32 bytes. Refuses what does not look random, such as text of one letter. */
export const encryptionKey = z.string().transform((text, context): Uint8Array => {
  const bytes = bytesOf(text);
  if (bytes === null || new Set(bytes).size < DIFFERENT) {
    const message = `must be 32 random bytes in base64 or hex, such as openssl rand -base64 32 prints`;
    context.addIssue({ code: "custom", message });
    return z.NEVER;
  }
  return bytes;
});
