/** The headers that keep a browser from doing more with an answer than it is meant for. */

/** Of every answer that is no page, also of what pages load: by itself it shows and runs nothing. */
export const API_SECURITY = {
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  // Not in the way of CORS_ORIGINS: it is about embedding without asking, which CORS never is.
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
} as const;

/** What a page has no use for. */
const UNUSED = ["camera", "display-capture", "geolocation", "microphone", "payment", "usb"];

/** Of a page with this policy. */
const pageSecurity = (policy: string) => ({
  ...API_SECURITY,
  "content-security-policy": policy,
  "cross-origin-opener-policy": "same-origin",
  "permissions-policy": UNUSED.map((feature) => `${feature}=()`).join(", "),
});

const NOTHING_ELSE = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Of the web pages: all that they load is of their own server, and no script is in the document. */
export const PAGE_SECURITY = pageSecurity(
  `default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; font-src 'self'; manifest-src 'self'; worker-src 'self'; ${NOTHING_ELSE}`,
);

/** Of the service worker, which fetches what it keeps: its policy is its own, not the page's. */
export const WORKER_SECURITY = {
  ...API_SECURITY,
  "content-security-policy": "default-src 'none'; connect-src 'self'; frame-ancestors 'none'",
} as const;

/** Of `/docs`, which has no fonts, manifest or worker. */
export const DOCS_SECURITY = pageSecurity(
  `default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; ${NOTHING_ELSE}`,
);

/** Of `/problems/<code>`, which has no script. */
export const PROBLEM_SECURITY = pageSecurity(
  `default-src 'none'; style-src 'self'; img-src 'self' data:; ${NOTHING_ELSE}`,
);

/** Seconds that a browser remembers to come by https alone. */
const HSTS_AGE = 31_536_000;

/** Sent by a server whose `PUBLIC_URL` is https. */
export const HSTS = ["strict-transport-security", `max-age=${HSTS_AGE}`] as const;
