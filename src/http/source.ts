/** Whether a request to `/mcp` names us: against pages that reach us under a name of their own. */

import { fail } from "../errors.ts";

interface SourceOptions {
  /** The address shown to clients; known once the server listens. */
  readonly public_url: () => string;
  /** Further origins that may call (`CORS_ORIGINS`). */
  readonly origins: readonly string[];
}

/**
 * A check of `Host`, which must be the public one or loopback, and of `Origin`, which must be one of
 * those, one that is allowed, or none (decisions.md, Other routes). Throws `403 forbidden`.
 */
export function createSourceCheck({ public_url, origins }: SourceOptions) {
  let ours: { readonly hostname: string; readonly origin: string } | undefined;

  return ({ headers }: Request): void => {
    if (!ours) {
      const { hostname, origin } = new URL(public_url());
      ours = { hostname, origin };
    }
    const host = hostnameOf(headers.get("host") ?? "");
    if (host !== ours.hostname && !LOOPBACK.has(host)) {
      fail("forbidden", { detail: "The Host header does not name this server." });
    }
    const origin = headers.get("origin");
    if (origin === null || origin === ours.origin || origins.includes(origin)) return;
    if (!URL.canParse(origin) || !LOOPBACK.has(new URL(origin).hostname)) {
      fail("forbidden", { detail: "The Origin header is not an allowed one." });
    }
  };
}

const LOOPBACK: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** A host without its port, as URLs write it. */
function hostnameOf(host: string): string {
  return host.replace(/:\d*$/, "").toLowerCase();
}
