/** Whether a request to `/mcp` names us: against pages that reach us under a name of their own. */

import { isIP } from "node:net";
import { ServiceError } from "../errors.ts";

interface SourceOptions {
  /** The address shown to clients; known once the server listens. */
  readonly public_url: () => string;
  /** Further origins that may call (`CORS_ORIGINS`). */
  readonly origins: readonly string[];
}

/**
 * A check of `Host`, which must be the public one or loopback, and of `Origin`, which must be one of
 * those, one that is allowed, or none (decisions.md, Other routes). Gives `403 forbidden` or null.
 */
export function createSourceCheck({ public_url, origins }: SourceOptions) {
  let ours: { readonly hostname: string; readonly origin: string } | undefined;

  return ({ headers }: Request): ServiceError | null => {
    if (!ours) {
      const { hostname, origin } = new URL(public_url());
      ours = { hostname, origin };
    }
    const host = hostnameOf(headers.get("host") ?? "");
    if (host !== ours.hostname && !isLoopback(host)) {
      return new ServiceError("forbidden", {
        detail: "The Host header does not name this server.",
      });
    }
    const origin = headers.get("origin");
    if (origin === null || origin === ours.origin || origins.includes(origin)) return null;
    const { origin: own = null, hostname = "" } = URL.parse(origin) ?? {};
    if (own === origin && isLoopback(hostname)) return null;
    return new ServiceError("forbidden", { detail: "The Origin header is not an allowed one." });
  };
}

const isLoopback = (host: string): boolean =>
  host === "localhost" || host === "[::1]" || (isIP(host) === 4 && host.startsWith("127."));

/** A host without its port, as URLs write it; empty for what is none. */
function hostnameOf(host: string): string {
  if (/[/?#@\\\s]/.test(host)) return "";
  return URL.parse(`http://${host}`)?.hostname.replace(/\.$/, "") ?? "";
}
