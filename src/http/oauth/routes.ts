/** The routes of OAuth (§18). */

import type { Context } from "../../../routers/context.ts";
import type { Clock } from "../../clock.ts";
import { fail } from "../../errors.ts";
import type { Clients } from "../../oauth/clients.ts";
import { failOAuth } from "../../oauth/fault.ts";
import type { SealedRequests } from "../../oauth/requests.ts";
import type { BaseAddresses } from "../base-address.ts";
import type { Bodies } from "../body.ts";
import type { Handler } from "../rest.ts";
import { createAuthorize } from "./authorize.ts";
import {
  clientIdOf,
  oauthJson,
  type Parameters,
  readForm,
  readJson,
  withOAuthErrors,
} from "./form.ts";
import { createMetadata, issuerOf } from "./metadata.ts";

export interface OAuthOptions {
  readonly addresses: Pick<BaseAddresses, "ofRequest" | "offersOAuth" | "hostRefusal">;
  readonly clients: Clients;
  readonly requests: SealedRequests;
  readonly grants: Pick<Context["services"]["grants"], "redeem" | "refresh" | "revokeToken">;
  readonly bodies: Bodies;
  /** True if a client's id may be the address of its document. */
  readonly client_documents: boolean;
  /** Path of `PUBLIC_URL` without a slash at its end; may be empty. */
  readonly public_path: string;
  readonly clock: Clock;
}

export function createOAuthRoutes(options: OAuthOptions) {
  const { addresses, clients, grants, bodies, clock } = options;

  /** RFC 7591 3. */
  const register: Handler = async (_, scope) => {
    // Its own limit, so that a client that loops with a dead credential keeps no others out.
    await scope.charges.limit("registrations", null);
    const body = await readJson(bodies, scope);
    return oauthJson(clients.register(body, clock.now()), 201, scope.charges.quota()?.headers);
  };

  /**
   * The `client_id` of a request; null without one. Throws `invalid_client` if this store did not sign it, for example
   * after its data was lost: the client then registers again by itself.
   */
  const readClient = (form: Parameters, request: Request): string | null => {
    const client_id = clientIdOf(form, request);
    if (client_id !== null && clients.find(client_id) === null) {
      failOAuth("invalid_client", "The client_id is unknown. Register again.");
    }
    return client_id;
  };

  /** RFC 6749 4.1.3 and 6. */
  const token: Handler = async (request, scope) => {
    const form = await readForm(bodies, scope);
    const client_id = readClient(form, request);
    const resource = form.optional("resource");
    switch (form.required("grant_type")) {
      case "authorization_code": {
        const sent = {
          code: form.required("code"),
          client_id: client_id ?? form.required("client_id"),
          redirect_uri: form.required("redirect_uri"),
          code_verifier: form.required("code_verifier"),
          resource,
        };
        return oauthJson(await scope.turns.within(grants.redeem(sent)));
      }
      case "refresh_token": {
        const sent = {
          refresh_token: form.required("refresh_token"),
          client_id,
          resource,
        };
        return oauthJson(await scope.turns.within(grants.refresh(sent)));
      }
      default:
        return failOAuth(
          "unsupported_grant_type",
          "grant_type must be authorization_code or refresh_token.",
        );
    }
  };

  /** RFC 7009 2. */
  const revoke: Handler = async (request, scope) => {
    const form = await readForm(bodies, scope);
    const client_id = readClient(form, request);
    const work = grants.revokeToken(form.required("token"), client_id);
    await scope.turns.within(work);
    return oauthJson({});
  };

  /** A route that is `404 unknown_path` at an address that does not offer OAuth. */
  const post = (path: string, handle: Handler): { POST: Handler } => {
    const answer = withOAuthErrors(`POST ${path}`, handle);
    return {
      async POST(request, scope) {
        const refused = addresses.hostRefusal(request);
        if (refused) throw refused;
        if (issuerOf(request, addresses) === null) fail("unknown_path");
        return answer(request, scope);
      },
    };
  };

  return {
    ...createMetadata(options),
    "/oauth/authorize": { GET: createAuthorize(options) },
    "/oauth/register": post("/oauth/register", register),
    "/oauth/token": post("/oauth/token", token),
    "/oauth/revoke": post("/oauth/revoke", revoke),
  };
}
