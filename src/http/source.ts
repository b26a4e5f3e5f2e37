/** Checks `Origin` and `Host`: which web pages may call, and whether the request names this server. */

import { isTicket } from "../auth/tickets.ts";
import { ServiceError } from "../errors.ts";
import { isLoopback } from "../loopback.ts";
import { type BaseAddresses, parseHost } from "./base-address.ts";

interface SourceOptions {
  /** The address shown to clients; known once the server listens. */
  readonly public_url: () => string;
  /** Further origins that may call (`CORS_ORIGINS`). */
  readonly origins: readonly string[];
  readonly hostRefusal: BaseAddresses["hostRefusal"];
}

export type SourceCheck = ReturnType<typeof createSourceCheck>;

export function createSourceCheck({ public_url, origins, hostRefusal }: SourceOptions) {
  const allowed = new Set(origins);
  let ours: URL | undefined;
  const publicUrl = () => (ours ??= new URL(public_url()));

  /**
   * Whether a web page of another origin sent it. Ours are the host and port of `PUBLIC_URL` and
   * those that the request's own `Host` names, whatever the scheme, as a proxy may end TLS
   * (docs/interface.md §1.2.7). False without an `Origin`, and with a ticket.
   */
  const isForeign = ({ headers }: Request): boolean => {
    const origin = headers.get("origin");
    if (origin === null || allowed.has(origin)) return false;
    // No browser adds one by itself, and none lets a page send one where it may not (19.7.6).
    if (isTicket(headers.get("authorization"))) return false;
    const host = headers.get("host") ?? "";
    if (origin === `http://${host}` || origin === `https://${host}`) return false;
    const sent = URL.parse(origin);
    // A browser sends the origin alone, in serialized form.
    if (sent?.origin !== origin || !/^https?:$/.test(sent.protocol)) return true;
    return sent.host !== publicUrl().host && sent.host !== parseHost(host, sent.protocol)?.host;
  };

  return {
    isForeign,

    /**
     * The stricter rule of `/mcp`: `Host` must name this server, and `Origin` must not be foreign,
     * but may be that of any page of this machine (docs/interface.md §12.1.3). Gives `403 forbidden`
     * or null.
     */
    refusal(request: Request): ServiceError | null {
      const refused = hostRefusal(request);
      if (refused || !isForeign(request)) return refused;
      const origin = request.headers.get("origin")!;
      const { origin: own = null, hostname = "" } = URL.parse(origin) ?? {};
      if (own === origin && isLoopback(hostname)) return null;
      return new ServiceError("forbidden", { detail: "The Origin header is not an allowed one." });
    },
  };
}
