/** The documents by which clients find the authorization server, and the challenge that leads to them (§18.2). */

import type { OAuthMetadata } from "@modelcontextprotocol/server";
import { ServiceError } from "../../errors.ts";
import { toServiceError } from "../../rpc/errors.ts";
import { json, problem } from "../respond.ts";
import type { Handler } from "../rest.ts";
import type { OAuthOptions } from "./routes.ts";

type BaseAddresses = OAuthOptions["addresses"];

/** Path of a base address, without a slash at its end. */
export const pathOf = (base: string): string => new URL(base).pathname.replace(/\/$/, "");

/** The base address of a request; null if OAuth is not offered there. */
export function issuerOf(request: Request, addresses: BaseAddresses): string | null {
  const base = addresses.ofRequest(request);
  return base !== null && addresses.offersOAuth(base) ? base : null;
}

/** The routes of the documents of RFC 9728 (3.1) and RFC 8414 (3), for the base address of the request. */
export function createMetadata({ addresses, client_documents, public_path }: OAuthOptions) {
  const serverMetadata = (issuer: string): OAuthMetadata => ({
    issuer,
    authorization_endpoint: `${issuer}/oauth/authorize`,
    token_endpoint: `${issuer}/oauth/token`,
    registration_endpoint: `${issuer}/oauth/register`,
    revocation_endpoint: `${issuer}/oauth/revoke`,
    scopes_supported: ["agent"],
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: ["authorization_code", "refresh_token"],
    token_endpoint_auth_methods_supported: ["none"],
    revocation_endpoint_auth_methods_supported: ["none"],
    code_challenge_methods_supported: ["S256"],
    authorization_response_iss_parameter_supported: true,
    ...(client_documents && { client_id_metadata_document_supported: true }),
  });

  const resourceMetadata = (issuer: string, path: string) => ({
    resource: new URL(issuer + path).href,
    authorization_servers: [issuer],
    scopes_supported: ["agent"],
    resource_name: "Relay",
  });

  /**
   * The last document that clients try, at a place that RFC 8414 (5) permits: a proxy may pass on only what is below
   * the issuer's path. Clients require the members of OpenID Connect. There are no ID tokens, so no keys.
   */
  const openIdMetadata = (issuer: string) => ({
    ...serverMetadata(issuer),
    jwks_uri: `${issuer}/oauth/jwks`,
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: ["none"],
  });

  const serve = (
    make: (issuer: string) => object,
    below_path: boolean = false,
  ): { GET: Handler } => ({
    async GET(request, scope) {
      const refused = addresses.hostRefusal(request);
      if (refused) throw refused;
      const issuer = issuerOf(request, addresses);
      // Clients ask for it before anything else, so it is not charged.
      return issuer === null || (below_path && pathOf(issuer) !== public_path)
        ? problem(new ServiceError("unknown_path"))
        : json(make(issuer), 200, scope);
    },
  });

  const [resource, server] = ["oauth-protected-resource", "oauth-authorization-server"];
  const ofMcp = (base: string) => resourceMetadata(base, "/mcp");
  const ofRoot = (base: string) => resourceMetadata(base, "/");
  return {
    [`/.well-known/${resource}/mcp`]: serve(ofMcp),
    [`/.well-known/${resource}`]: serve(ofRoot),
    [`/.well-known/${server}`]: serve(serverMetadata),
    // The places that the RFCs give an address with a path.
    ...(public_path !== "" && {
      [`/.well-known/${resource}${public_path}/mcp`]: serve(ofMcp, true),
      [`/.well-known/${resource}${public_path}`]: serve(ofRoot, true),
      [`/.well-known/${server}${public_path}`]: serve(serverMetadata, true),
      "/.well-known/openid-configuration": serve(openIdMetadata, true),
      "/oauth/jwks": serve(() => ({ keys: [] }), true),
    }),
  };
}

/** Adds to a `401` where a client gets a token (RFC 9728 5.1, RFC 6750 3), if OAuth is offered at the address. */
export function withChallenge(handle: Handler, addresses: BaseAddresses): Handler {
  const challengeOf = (request: Request): string | null => {
    const issuer = issuerOf(request, addresses);
    if (issuer === null) return null;
    // Below the issuer's path, as a proxy may pass on nothing else.
    const metadata = `${issuer}/.well-known/oauth-protected-resource/mcp`;
    const error = request.headers.has("authorization") ? 'error="invalid_token", ' : "";
    return `Bearer ${error}resource_metadata="${metadata}", scope="agent"`;
  };
  return async (request, scope) => {
    try {
      const response = await handle(request, scope);
      const challenge = response.status === 401 ? challengeOf(request) : null;
      if (challenge !== null) response.headers.set("www-authenticate", challenge);
      return response;
    } catch (thrown) {
      const error = toServiceError(thrown);
      const challenge = error.code === "unauthorized" ? challengeOf(request) : null;
      throw challenge === null ? thrown : new ServiceError("unauthorized", { challenge });
    }
  };
}
