/** The form of a request, checked once for every surface and before anything else. */

import { ServiceError } from "../errors.ts";
import type { SourceCheck } from "./source.ts";

/** Methods that change nothing (RFC 9110, 9.2.1); a GET of a foreign page has no effects either. */
const SAFE: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

/**
 * Gives why a request is refused for its form, else null: `400` for two `Host` headers or a
 * `Content-Length` that is not one plain decimal number, `403 forbidden` for a change by a web page
 * of another origin (docs/interface.md 1.2.7, 1.2.8). `/mcp` checks the origin itself, by a stricter
 * rule.
 */
export function createFormCheck({ isForeign }: Pick<SourceCheck, "isForeign">) {
  return (request: Request, path: string): ServiceError | null => {
    const { headers } = request;
    // Bun joins repeated headers by a comma, which no host holds.
    if (headers.get("host")?.includes(",")) return badForm("The Host header is not one host.");
    const length = headers.get("content-length");
    if (length !== null && parseLength(length) === null) {
      return badForm("The Content-Length header is not one decimal number.");
    }
    if (SAFE.has(request.method) || path === "/mcp" || !isForeign(request)) return null;
    return new ServiceError("forbidden", {
      detail: "A web page of this origin may not change anything.",
    });
  };
}

export type FormCheck = ReturnType<typeof createFormCheck>;

/** Bytes that a `Content-Length` declares; null when it is not one plain decimal number. */
export function parseLength(header: string): number | null {
  return /^\d{1,15}$/.test(header) ? Number(header) : null;
}

const badForm = (detail: string) => new ServiceError("invalid_json", { detail });
