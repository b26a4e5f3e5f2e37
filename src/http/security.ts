/** Security headers, which restrict what a browser does with a response (§1.2.10). */

import { isIP } from "node:net";
import type { Tls } from "./tls.ts";

/** For every response except pages: opened by itself, it shows and runs nothing. */
export const API_SECURITY = {
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  // Forbids embedding without CORS only, so it is compatible with CORS_ORIGINS.
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
} as const;

/** Browser features that no page uses. */
const FEATURES_OFF = ["camera", "display-capture", "geolocation", "microphone", "payment", "usb"];

/** Headers of a page with this Content-Security-Policy. */
const pageSecurity = (policy: string) => ({
  ...API_SECURITY,
  "content-security-policy": policy,
  "cross-origin-opener-policy": "same-origin",
  "permissions-policy": FEATURES_OFF.map((feature) => `${feature}=()`).join(", "),
});

const NOTHING_ELSE = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** For the web pages, which load from their own server only and have no inline script. */
export const PAGE_SECURITY = pageSecurity(
  `default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; font-src 'self'; manifest-src 'self'; worker-src 'self'; ${NOTHING_ELSE}`,
);

/** For the service worker, to which the page's policy does not apply. It fetches files and shows pictures. */
export const WORKER_SECURITY = {
  ...API_SECURITY,
  "content-security-policy":
    "default-src 'none'; connect-src 'self'; img-src 'self'; frame-ancestors 'none'",
} as const;

/** For `/docs`, which has no fonts, manifest or worker. */
export const DOCS_SECURITY = pageSecurity(
  `default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; ${NOTHING_ELSE}`,
);

/** For `/problems/<code>`, which has no script. */
export const PROBLEM_SECURITY = pageSecurity(
  `default-src 'none'; style-src 'self'; img-src 'self' data:; ${NOTHING_ELSE}`,
);

/** Seconds for which a browser then uses https only. */
const HSTS_AGE = 31_536_000;

export const HSTS = ["strict-transport-security", `max-age=${HSTS_AGE}`] as const;

/**
 * Returns a function that tells by its headers if a request gets HSTS in its response (§1.2.10); null if none does. A
 * browser applies HSTS to every port of a name for a year. So only the name of an https `PUBLIC_URL` gets it, never a
 * name that other servers of a machine share, and never with a certificate that browsers do not trust.
 */
export function createHstsRule(
  public_url: string | undefined,
  tls: Pick<Tls, "self_signed"> | null,
): ((headers: Headers) => boolean) | null {
  const { protocol, hostname, host } = new URL(public_url ?? "http://localhost");
  const name = hostname.replace(/\.$/, "");
  // An IPv6 address has no dot.
  const shared = !name.includes(".") || isIP(name) !== 0 || /\.local(host)?$/.test(name);
  if (protocol !== "https:" || shared || tls?.self_signed) return null;
  // Without TLS here, a proxy serves the name, and it may have replaced the Host.
  return tls ? (headers) => headers.get("host") === host : () => true;
}
