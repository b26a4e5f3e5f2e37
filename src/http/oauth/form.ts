/** Requests and errors of `/oauth` (§18.1). */

import { ServiceError } from "../../errors.ts";
import { LIMITS } from "../../limits.ts";
import { failOAuth, OAuthFault } from "../../oauth/fault.ts";
import { parseJson, TOO_DEEP } from "../../overload/json-bounds.ts";
import { toServiceError } from "../../rpc/errors.ts";
import { type Bodies, FORM_BODY, mayExceed } from "../body.ts";
import type { RequestScope } from "../request-scope.ts";
import { errorHeaders, JSON_HEADERS } from "../respond.ts";
import { type Handler, logInternal } from "../rest.ts";

/** Parameters of a request, none of them repeated (RFC 6749 3.1 and 3.2). An empty one counts as missing. */
export interface Parameters {
  /** Throws `invalid_request` if it is missing. */
  required(name: string): string;
  optional(name: string): string | null;
}

/** Throws `invalid_request` for a parameter that is repeated. */
export function readParameters(sent: URLSearchParams): Parameters {
  const names = [...sent.keys()];
  if (new Set(names).size !== names.length) {
    failOAuth("invalid_request", "A parameter is repeated.");
  }
  const optional = (name: string) => sent.get(name) || null;
  return {
    optional,
    required: (name) => optional(name) ?? failOAuth("invalid_request", `${name} is missing.`),
  };
}

/** The form of a POST; throws `invalid_request`. */
export async function readForm(bodies: Bodies, scope: RequestScope): Promise<Parameters> {
  return readParameters(new URLSearchParams(await readText(bodies, scope, { media: FORM_BODY })));
}

/** The JSON body of a POST; undefined if it is not JSON. Throws `invalid_request`. */
export async function readJson(bodies: Bodies, scope: RequestScope): Promise<unknown> {
  const text = await readText(bodies, scope);
  try {
    const value = parseJson(text);
    return value === TOO_DEEP ? undefined : value;
  } catch {
    return undefined;
  }
}

/** A body of at most `LIMITS.oauth_body_bytes`. */
async function readText(
  bodies: Bodies,
  scope: RequestScope,
  options: { readonly media?: typeof FORM_BODY } = {},
): Promise<string> {
  const { request } = scope;
  const failLarge = () => failOAuth("invalid_request", "The body is too large.");
  if (request.headers.has("content-length") && mayExceed(request, LIMITS.oauth_body_bytes)) {
    return failLarge();
  }
  const text = await bodies.read(scope, { open: [], ...options }).catch((error: unknown) => {
    if (!(error instanceof ServiceError) || error.status >= 429) throw error;
    return failOAuth(
      "invalid_request",
      error.code === "unsupported_media_type" ? error.message : "The body cannot be read.",
    );
  });
  if (text === null || Buffer.byteLength(text) > LIMITS.oauth_body_bytes) return failLarge();
  return text;
}

/** A JSON response that no cache keeps (RFC 6749 5.1). */
export function oauthJson(value: object, status = 200, headers: Record<string, string> = {}) {
  const all = { ...JSON_HEADERS, pragma: "no-cache", ...headers };
  return new Response(JSON.stringify(value), { status, headers: all });
}

/** The `client_id`: a field of the form, or the user name of HTTP Basic (RFC 6749 2.3.1). Null without one. */
export function clientIdOf(form: Parameters, { headers }: Request): string | null {
  const [, sent = ""] = /^basic +([\w+/=-]+)$/i.exec(headers.get("authorization") ?? "") ?? [];
  const [user = ""] = Buffer.from(sent, "base64").toString().split(":");
  // A name with an invalid encoding stays as it is, and is an unknown client.
  const decoded = new URLSearchParams(`user=${user}`).get("user");
  return form.optional("client_id") ?? (decoded || null);
}

/** The challenge of `invalid_client` for a client that used the header (RFC 6749 5.2). */
function challengeOf({ headers }: Request): Record<string, string> {
  const [, scheme] = /^(\w+) /.exec(headers.get("authorization") ?? "") ?? [];
  return scheme === undefined ? {} : { "www-authenticate": `${scheme} realm="Relay"` };
}

/** Renders what a handler throws as an error of RFC 6749 5.2, and charges it to the address. */
export function withOAuthErrors(route: string, handle: Handler): Handler {
  return async (request, scope) => {
    try {
      return await handle(request, scope);
    } catch (thrown) {
      const fault = thrown instanceof OAuthFault ? thrown : null;
      const error = await scope.charges.settleError(
        fault ? new ServiceError("invalid_fields") : toServiceError(thrown),
      );
      const headers = { ...errorHeaders(error), ...scope.charges.quota()?.headers };
      if (fault && error.status < 429) {
        const body = { error: fault.code, error_description: fault.message };
        if (fault.code !== "invalid_client") return oauthJson(body, 400, headers);
        return oauthJson(body, 401, { ...headers, ...challengeOf(request) });
      }
      if (error.code === "internal") logInternal(error, scope.log(), route);
      const code = error.status === 500 ? "server_error" : "temporarily_unavailable";
      const body = { error: code, error_description: error.message };
      return oauthJson(body, error.status, headers);
    }
  };
}
