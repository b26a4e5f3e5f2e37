/** What a client reads to find the authorization server, and the challenge that leads there (docs/interface.md §18.2). */

import {
  buildOAuthProtectedResourceMetadata,
  type OAuthMetadata,
} from "@modelcontextprotocol/server";
import { ServiceError } from "../../errors.ts";
import { toServiceError } from "../../rpc/errors.ts";
import type { BaseAddresses } from "../base-address.ts";
import { json, problem } from "../respond.ts";
import type { Handler } from "../rest.ts";

type Addresses = Pick<BaseAddresses, "ofRequest" | "offersOAuth" | "hostRefusal">;

interface MetadataOptions {
  readonly addresses: Addresses;
  /** Whether clients may be described by a document at their own address. */
  readonly client_documents: boolean;
  /** Path of `PUBLIC_URL` without a slash at its end; empty if it has none. */
  readonly public_path: string;
}

/** Path of a base address, without a slash at its end. */
export const pathOf = (base: string): string => new URL(base).pathname.replace(/\/$/, "");

/** The base address that a request came by, if OAuth is offered there; null otherwise. */
export function issuerOf(request: Request, addresses: Addresses): string | null {
  const base = addresses.ofRequest(request);
  return base !== null && addresses.offersOAuth(base) ? base : null;
}

/** The documents of RFC 9728 (3.1) and RFC 8414 (3), at the address that the request came by. */
export function createMetadata({ addresses, client_documents, public_path }: MetadataOptions) {
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

  const resourceMetadata = (issuer: string, path: string) =>
    buildOAuthProtectedResourceMetadata({
      oauthMetadata: serverMetadata(issuer),
      resourceServerUrl: new URL(issuer + path),
      scopesSupported: ["agent"],
      resourceName: "Relay",
      // Whether OAuth is offered at an address is decided before.
      dangerouslyAllowInsecureIssuerUrl: true,
    });

  /**
   * What clients look for as the last resort if a proxy passes on nothing but what is below the path of
   * the issuer: RFC 8414 (5) permits that place. They require what OpenID Connect does; there are no
   * ID tokens, so no keys either.
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
      // Clients ask for it before they ask for anything else, so it is not charged.
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
    // The places that the RFCs name for an address with a path, if a proxy passes them on.
    ...(public_path !== "" && {
      [`/.well-known/${resource}${public_path}/mcp`]: serve(ofMcp, true),
      [`/.well-known/${resource}${public_path}`]: serve(ofRoot, true),
      [`/.well-known/${server}${public_path}`]: serve(serverMetadata, true),
      "/.well-known/openid-configuration": serve(openIdMetadata, true),
      "/oauth/jwks": serve(() => ({ keys: [] }), true),
    }),
  };
}

/**
 * A handler whose `401` says where a client gets a token (RFC 9728 5.1, RFC 6750 3), where OAuth is
 * offered; elsewhere the answer is unchanged.
 */
export function withChallenge(handle: Handler, addresses: Addresses): Handler {
  const challengeOf = (request: Request): string | null => {
    const issuer = issuerOf(request, addresses);
    if (issuer === null) return null;
    // Below the path, where a proxy that removes it passes it on.
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
