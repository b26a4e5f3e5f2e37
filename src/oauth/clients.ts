/** Clients that register themselves (RFC 7591). Nothing is stored: the `client_id` is the signed registration (§18.3). */

import { z } from "zod";
import { digest } from "../ids.ts";
import { LIMITS } from "../limits.ts";
import { createSignedTokens, type Signer } from "../signer.ts";
import { failOAuth } from "./fault.ts";
import { isRedirectUri } from "./redirects.ts";

/** A client's description of itself, unverified. */
export interface Client {
  /** Digest of its `client_id`. */
  readonly digest: string;
  readonly name: string | null;
  readonly redirect_uris: readonly string[];
}

/** A registered client, or the address of a client's document, which is not fetched yet. */
export type KnownClient = { readonly registered: Client } | { readonly document: string };

/** Other fields of RFC 7591 2 are ignored. */
const Registration = z.object({
  redirect_uris: z.array(z.string()).min(1).max(LIMITS.redirect_uris),
  client_name: z.string().nullish(),
  grant_types: z.array(z.string()).nullish(),
  response_types: z.array(z.string()).nullish(),
});

export type Clients = ReturnType<typeof createClients>;

export function createClients(signer: Signer) {
  const sealed = createSignedTokens(signer, "oauth-client");

  return {
    /** Returns the response (RFC 7591 3.2.1). Throws `invalid_client_metadata` or `invalid_redirect_uri`. */
    register(body: unknown, now: number): Readonly<Record<string, unknown>> {
      const { redirect_uris, client_name } = readRegistration(body);
      const name = nameOf(client_name);
      const client_id = sealed.write("", [name, ...redirect_uris]);
      if (client_id.length > LIMITS.client_id) {
        failOAuth("invalid_client_metadata", "The name and the redirect URIs are too long.");
      }
      return {
        client_id,
        client_id_issued_at: Math.floor(now),
        ...(name !== null && { client_name: name }),
        redirect_uris,
        token_endpoint_auth_method: "none",
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
        scope: "agent",
      };
    },

    /** The client of an id; null if the id is not valid. */
    find(client_id: string): KnownClient | null {
      if (client_id.length > LIMITS.client_id) return null;
      if (isDocumentUrl(client_id)) return { document: client_id };
      const found = sealed.read("", client_id) as [string | null, ...string[]] | undefined;
      if (!found) return null;
      const [name, ...redirect_uris] = found;
      return { registered: { digest: digest(client_id), name, redirect_uris } };
    },
  };
}

function readRegistration(body: unknown): z.infer<typeof Registration> {
  const { success, data, error } = Registration.safeParse(body);
  if (!success) {
    const field = String(error.issues[0]?.path[0] ?? "");
    const code = field === "redirect_uris" ? "invalid_redirect_uri" : "invalid_client_metadata";
    return failOAuth(
      code,
      field === "" ? "The body is not a JSON object." : `${field} is not valid.`,
    );
  }
  if (!data.redirect_uris.every(isRedirectUri)) {
    failOAuth(
      "invalid_redirect_uri",
      "Redirect URIs must be https, or http to localhost or a loopback address, without a fragment and without response parameters such as code.",
    );
  }
  if (data.grant_types && !data.grant_types.includes("authorization_code")) {
    failOAuth("invalid_client_metadata", "grant_types must include authorization_code.");
  }
  if (data.response_types && !data.response_types.includes("code")) {
    failOAuth("invalid_client_metadata", "response_types must include code.");
  }
  return data;
}

/** A name to show: one line without control and bidirectional characters. Null if nothing is left. */
export function nameOf(sent: string | null | undefined): string | null {
  const clean = (sent ?? "")
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, " ")
    .replace(/\s+/g, " ")
    .trim();
  return [...clean].slice(0, LIMITS.client_name).join("").trim() || null;
}

/** True if an id is the address of a document: an `https` URL with a path, without credentials or a fragment. */
function isDocumentUrl(client_id: string): boolean {
  const url = client_id.startsWith("https://") ? URL.parse(client_id) : null;
  return (
    url !== null &&
    url.pathname !== "/" &&
    // An authority without user information.
    /^https:\/\/[^/?@]+\//.test(client_id) &&
    !client_id.includes("#") &&
    !/\/\.{1,2}(\/|$|\?)/.test(client_id)
  );
}
