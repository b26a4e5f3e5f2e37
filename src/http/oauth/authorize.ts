/** `GET /oauth/authorize`: checks a client's request and hands it, signed, to the page (§18.4). */

import { ServiceError } from "../../errors.ts";
import { LIMITS } from "../../limits.ts";
import type { KnownClient } from "../../oauth/clients.ts";
import { failOAuth, OAuthFault } from "../../oauth/fault.ts";
import { isRedirectUri, leadsTo, matchesRedirect } from "../../oauth/redirects.ts";
import {
  type AuthorizationRequest,
  CHALLENGE,
  isResourceOf,
  redirectTo,
} from "../../oauth/requests.ts";
import type { RequestScope } from "../request-scope.ts";
import { errorHeaders } from "../respond.ts";
import type { Handler } from "../rest.ts";
import { API_SECURITY } from "../security.ts";
import { errorPage, UNKNOWN_CLIENT } from "./error-page.ts";
import { oauthJson, type Parameters, readParameters } from "./form.ts";
import { issuerOf, pathOf } from "./metadata.ts";
import type { OAuthOptions } from "./routes.ts";

/** The client that asks, and where the answer goes. Nothing is sent there before both are valid. */
interface RequestingClient {
  readonly client: KnownClient;
  readonly redirect_uri: string;
  readonly state: string | null;
  readonly issuer: string;
}

const NOT_OFFERED = {
  title: "Sign-in with OAuth is not available at this address",
  text: "Programs accept it only on the computer that Relay runs on, or over https with a host name. Open Relay's page, add an agent, and give the program the key that it shows.",
};

export function createAuthorize(options: OAuthOptions): Handler {
  const { addresses, clients, requests, client_documents, clock } = options;

  /** The page about a fault, or `429` for an address above its limit. */
  const refuse = async (
    scope: RequestScope,
    fault: OAuthFault,
    asking: RequestingClient | null,
  ): Promise<Response> => {
    const error = await scope.charges.settleError(new ServiceError("invalid_fields"));
    if (error.code === "rate_limited") {
      return errorPage({
        title: "Too many requests",
        text: "Too many invalid requests came from your address. Wait a minute and start the sign-in again.",
        status: 429,
        headers: errorHeaders(error),
      });
    }
    const description = { error: fault.code, error_description: fault.message };
    const is_unknown = fault.code === "invalid_client";
    if (wantsJson(scope.request)) return oauthJson(description, is_unknown ? 401 : 400);
    if (is_unknown) return errorPage(UNKNOWN_CLIENT);
    // The redirect URI of a client with a document is not checked yet.
    const may_go_back = asking !== null && "registered" in asking.client;
    return errorPage({
      title: "This sign-in can't continue",
      text: `The program sent an invalid request. ${fault.message}`,
      back: may_go_back
        ? { url: redirectTo(asking, description), host: hostOf(asking.redirect_uri) }
        : null,
    });
  };

  const readAsking = (sent: URLSearchParams, issuer: string): RequestingClient => {
    const once = (name: string) => {
      const [value = "", ...more] = sent.getAll(name);
      if (more.length > 0) failOAuth("invalid_request", `${name} is repeated.`);
      return value;
    };
    const client_id = once("client_id");
    const client = clients.find(client_id);
    if ((client === null ? /^https?:/.test(client_id) : "document" in client) && !client_documents)
      failOAuth(
        "invalid_request",
        "Its client_id is an address, which this Relay accepts only with an https PUBLIC_URL. Let the program register itself, or give it a key: add an agent on Relay's page.",
      );
    if (!client) {
      return failOAuth("invalid_client", "The client_id is unknown.");
    }
    const redirect_uri = once("redirect_uri");
    const fits =
      "registered" in client
        ? client.registered.redirect_uris.some((uri) => matchesRedirect(uri, redirect_uri))
        : isRedirectUri(redirect_uri);
    if (!fits) failOAuth("invalid_request", "The redirect_uri is not the client's.");
    const state = sent.getAll("state")[0] ?? null;
    if (state !== null && state.length > LIMITS.oauth_state) {
      failOAuth("invalid_request", "The state is too long.");
    }
    return { client, redirect_uri, state, issuer };
  };

  const checkRest = (parameters: Parameters, issuer: string): { challenge: string } => {
    if (parameters.required("response_type") !== "code") {
      failOAuth("unsupported_response_type", "response_type must be code.");
    }
    if ((parameters.optional("response_mode") ?? "query") !== "query") {
      failOAuth("invalid_request", "response_mode must be query.");
    }
    const challenge = parameters.required("code_challenge");
    // A missing method means `plain` (RFC 7636 4.3).
    if (parameters.optional("code_challenge_method") !== "S256") {
      failOAuth("invalid_request", "code_challenge_method must be S256.");
    }
    if (!CHALLENGE.test(challenge)) {
      failOAuth("invalid_request", "code_challenge is not a valid S256 challenge.");
    }
    const resource = parameters.optional("resource");
    if (resource !== null && !isResourceOf(issuer, resource)) {
      failOAuth("invalid_target", "resource is not this server.");
    }
    return { challenge };
  };

  return async (request, scope) => {
    const refused = addresses.hostRefusal(request);
    if (refused) throw refused;
    const issuer = issuerOf(request, addresses);
    if (issuer === null) return errorPage(NOT_OFFERED);
    const start = request.url.indexOf("?");
    const sent = new URLSearchParams(start < 0 ? "" : request.url.slice(start));
    let asking: RequestingClient | null = null;
    try {
      asking = readAsking(sent, issuer);
      const { challenge } = checkRest(readParameters(sent), issuer);
      const { client, redirect_uri, state } = asking;
      const sealed = requests.write({
        client: "registered" in client ? client.registered.digest : null,
        document: "document" in client ? client.document : null,
        name: "registered" in client ? client.registered.name : null,
        redirect_uri,
        state,
        challenge,
        issuer,
        requested_at: clock.now(),
      } satisfies AuthorizationRequest);
      return new Response(null, {
        status: 303,
        headers: {
          location: `${pathOf(issuer)}/#/authorize/${sealed}`,
          "cache-control": "no-store",
          ...API_SECURITY,
        },
      });
    } catch (thrown) {
      if (thrown instanceof OAuthFault) return refuse(scope, thrown, asking);
      throw thrown;
    }
  };
}

/** True if a program tries the request before it opens a browser. Browsers accept HTML. */
function wantsJson({ headers }: Request): boolean {
  const accept = headers.get("accept") ?? "";
  return /\bapplication\/json\b/i.test(accept) && !/\btext\/html\b/i.test(accept);
}

const hostOf = (redirect_uri: string): string =>
  leadsTo(redirect_uri).host ?? "the program on this computer";
