/** Redirect URIs: which are permitted, which match, and where they lead (§18.4). */

import { isIP } from "node:net";
import { isHost } from "../host-names.ts";
import { LIMITS } from "../limits.ts";

/** Where an approval leads: to a program on the person's computer, or to a web site. */
type LeadsTo =
  | { readonly kind: "this_computer"; readonly host: null }
  | { readonly kind: "web_site"; readonly host: string };

const isLoopback = (hostname: string): boolean =>
  hostname === "localhost" ||
  hostname === "[::1]" ||
  (isIP(hostname) === 4 && hostname.startsWith("127."));

/** An absolute `http(s)` URI of the characters that RFC 3986 2 permits, without a fragment. */
const URI = /^https?:\/\/[\w\-.~:[\]%]+(?:[/?][\w\-.~:/?[\]@!$&'()*+,;=%]*)?$/;

/** Parameters that an answer adds to a redirect URI. A client could misread one that is there twice. */
const ANSWER = ["code", "state", "iss", "error", "error_description", "error_uri"];

/** The URL, if it may be a redirect URI: `https`, or `http` to loopback (RFC 8252 7.3). */
function parse(uri: string): URL | null {
  if (uri.length > LIMITS.redirect_uri || !URI.test(uri)) return null;
  const url = URL.parse(uri);
  if (url?.username !== "" || url.password !== "" || !isHost(url)) return null;
  if (ANSWER.some((name) => url.searchParams.has(name))) return null;
  if (url.protocol === "https:") return url;
  return url.protocol === "http:" && isLoopback(url.hostname) ? url : null;
}

/** True if a client may register it: an absolute URI without a fragment (RFC 6749 3.1.2). */
export const isRedirectUri = (uri: string): boolean => parse(uri) !== null;

/**
 * True if `given` equals the registered URI (RFC 9700 4.1.3). The port of a loopback address may differ, as a program
 * gets it from its system at each start (RFC 8252 7.3).
 */
export function matchesRedirect(registered: string, given: string): boolean {
  if (registered === given) return isRedirectUri(given);
  const [one, other] = [parse(registered), parse(given)];
  if (one?.protocol !== "http:" || other?.protocol !== "http:") return false;
  const portless = (uri: string) => uri.replace(/^(http:\/\/(?:\[[^\]]*\]|[^/:?[]*)):\d*/i, "$1");
  return portless(registered) === portless(given);
}

export function leadsTo(redirect_uri: string): LeadsTo {
  const { hostname, host } = new URL(redirect_uri);
  return isLoopback(hostname) ? { kind: "this_computer", host: null } : { kind: "web_site", host };
}

/** Adds the parameters of an answer that are not null to the query of the redirect URI (RFC 6749 4.1.2). */
export function answerUri(
  redirect_uri: string,
  parameters: Readonly<Record<string, string | null>>,
): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== null);
  const query = new URLSearchParams(given as [string, string][]).toString();
  return `${redirect_uri}${redirect_uri.includes("?") ? "&" : "?"}${query}`;
}
