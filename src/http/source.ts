/** Checks `Origin` and `Host`: which web pages may call, and whether the request names this server. */

import { isIP } from "node:net";
import { ServiceError } from "../errors.ts";

interface SourceOptions {
  /** The address shown to clients; known once the server listens. */
  readonly public_url: () => string;
  /** Further origins that may call (`CORS_ORIGINS`). */
  readonly origins: readonly string[];
}

export type SourceCheck = ReturnType<typeof createSourceCheck>;

export function createSourceCheck({ public_url, origins }: SourceOptions) {
  const allowed = new Set(origins);
  let ours: URL | undefined;
  const publicUrl = () => (ours ??= new URL(public_url()));

  return {
    /**
     * Whether a web page of another origin sent it. Ours are the host and port of `PUBLIC_URL` and
     * those that the request's own `Host` names, whatever the scheme, as a proxy may end TLS
     * (docs/interface.md 1.2.7). False without an `Origin`.
     */
    isForeign({ headers }: Request): boolean {
      const origin = headers.get("origin");
      if (origin === null || allowed.has(origin)) return false;
      const host = headers.get("host") ?? "";
      if (origin === `http://${host}` || origin === `https://${host}`) return false;
      const sent = URL.parse(origin);
      // A browser sends the origin alone, in serialized form.
      if (sent?.origin !== origin || !/^https?:$/.test(sent.protocol)) return true;
      return sent.host !== publicUrl().host && sent.host !== hostOf(host, sent.protocol);
    },

    /**
     * The stricter rule of `/mcp`: `Host` must be the public one or loopback, and `Origin` one of
     * those, one that is allowed, or none (docs/interface.md 12.1.3). Gives `403 forbidden` or null.
     */
    refusal({ headers }: Request): ServiceError | null {
      const { hostname: public_name, origin: public_origin } = publicUrl();
      const host = hostnameOf(headers.get("host") ?? "");
      if (host !== public_name && !isLoopback(host)) {
        return new ServiceError("forbidden", {
          detail: "The Host header does not name this server.",
        });
      }
      const origin = headers.get("origin");
      if (origin === null || origin === public_origin || allowed.has(origin)) return null;
      const { origin: own = null, hostname = "" } = URL.parse(origin) ?? {};
      if (own === origin && isLoopback(hostname)) return null;
      return new ServiceError("forbidden", { detail: "The Origin header is not an allowed one." });
    },
  };
}

const isLoopback = (host: string): boolean =>
  host === "localhost" || host === "[::1]" || (isIP(host) === 4 && host.startsWith("127."));

const NO_HOST = /[/?#@\\\s]/;

/** A host without its port, in serialized form; empty if it is invalid. */
function hostnameOf(host: string): string {
  if (NO_HOST.test(host)) return "";
  return URL.parse(`http://${host}`)?.hostname.replace(/\.$/, "") ?? "";
}

/** A host with any non-default port, in serialized form; null if it is invalid. */
function hostOf(host: string, protocol: string): string | null {
  return NO_HOST.test(host) ? null : (URL.parse(`${protocol}//${host}`)?.host ?? null);
}
