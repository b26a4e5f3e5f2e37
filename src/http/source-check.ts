/** Checks the form and the source of a request, before anything else and for every surface. */

import { isTicket } from "../auth/tickets.ts";
import { ServiceError } from "../errors.ts";
import { isLoopback } from "../loopback.ts";
import { type BaseAddresses, parseHost } from "./base-address.ts";
import { isForAnyPage } from "./cors.ts";

/** Methods that change nothing (RFC 9110 9.2.1). A GET of a foreign page has no effects either. */
const SAFE: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

const badForm = (detail: string) => new ServiceError("invalid_json", { detail });

interface SourceOptions {
  /** The address shown to clients, known once the server listens. */
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
   * True if a web page of another origin sent it (§1.2.7). Our own origins are the host and port of
   * `PUBLIC_URL` and those in the request's `Host`, with either scheme, since a proxy may end TLS. False
   * without an `Origin`, and with a ticket.
   */
  const isForeign = ({ headers }: Request): boolean => {
    const origin = headers.get("origin");
    if (origin === null || allowed.has(origin)) return false;
    // No browser adds one by itself, and none lets a page send one where it may not (§19.7.6).
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
     * Returns the error for a request that is refused for its form (§1.2.7, §1.2.8), else null: `400` for two `Host`
     * headers or a `Content-Length` that is not one decimal number, `403 forbidden` for a change by a web page of
     * another origin. `/mcp` checks the origin itself.
     */
    formFault(request: Request, path: string): ServiceError | null {
      const { headers } = request;
      // Bun joins repeated headers by a comma, which no host holds.
      if (headers.get("host")?.includes(",")) return badForm("The Host header is not one host.");
      const length = headers.get("content-length");
      if (length !== null && !/^\d{1,15}$/.test(length)) {
        return badForm("The Content-Length header is not one decimal number.");
      }
      if (SAFE.has(request.method) || path === "/mcp" || isForAnyPage(path)) return null;
      if (!isForeign(request)) return null;
      return new ServiceError("forbidden", {
        detail: "A web page of this origin may not change anything.",
      });
    },

    /**
     * Returns `403 forbidden` for a request that `/mcp` refuses for its source, else null (§12.1.3): `Host` must name
     * this server, and `Origin` must not be foreign, except for pages of this machine.
     */
    refusal(request: Request): ServiceError | null {
      const refused = hostRefusal(request);
      if (refused || !isForeign(request)) return refused;
      const origin = request.headers.get("origin")!;
      const { origin: own = null, hostname = "" } = URL.parse(origin) ?? {};
      if (own === origin && isLoopback(hostname)) return null;
      return new ServiceError("forbidden", {
        detail: "The origin in the Origin header is not allowed.",
      });
    },
  };
}
