/** OAuth for `relay login`: authorization code with PKCE and a loopback redirect (§18). */

import { createHash, timingSafeEqual } from "node:crypto";
import { z } from "zod";
import { randomText } from "../client/idempotency.ts";
import { fetchServer } from "./base.ts";
import { Fault, type Io } from "./io.ts";
import type { OAuthAccess } from "./settings.ts";

/** Seconds that a request may take. */
const ANSWER_WITHIN = 15;

const Metadata = z.object({
  issuer: z.string(),
  authorization_endpoint: z.string(),
  token_endpoint: z.string(),
  registration_endpoint: z.string(),
  revocation_endpoint: z.string(),
});
type Metadata = z.infer<typeof Metadata>;

const Tokens = z.object({
  access_token: z.string(),
  refresh_token: z.string(),
  expires_in: z.number(),
});

const OAuthFault = z.object({ error: z.string(), error_description: z.string().optional() });

/** The server refused. */
class OAuthRefusal extends Fault {
  /** The server's `error` (RFC 6749 5.2). */
  readonly error: string;
  constructor(error: string, description: string) {
    super(description);
    this.error = error;
  }
}

/** True if the server refused for one of these reasons. */
export const isRefusedFor = (error: unknown, ...reasons: readonly string[]): boolean =>
  error instanceof OAuthRefusal && reasons.includes(error.error);

async function send(address: string, init: RequestInit): Promise<unknown> {
  const signal = AbortSignal.timeout(ANSWER_WITHIN * 1000);
  const response = await fetchServer(address, { redirect: "error", ...init, signal }).catch(() => {
    throw new Fault(`${new URL(address).origin} cannot be reached: check the address`);
  });
  const body = await response.json().catch(() => null);
  if (response.ok) return body;
  const { data } = OAuthFault.safeParse(body);
  throw new OAuthRefusal(
    data?.error ?? String(response.status),
    `the server refused the sign-in: ${data?.error_description ?? `HTTP ${response.status}`}`,
  );
}

const post = (address: string, form: Record<string, string>) =>
  send(address, { method: "POST", body: new URLSearchParams(form) });

/**
 * Reads the metadata of the authorization server at a base address (RFC 8414). They are below the path of the
 * address, where a proxy that removes the path passes them on.
 */
export async function readMetadata(base: string): Promise<Metadata> {
  const address = new URL(base);
  const found = await send(`${base}/.well-known/oauth-authorization-server`, {}).catch(
    (error: unknown) => {
      if (!(error instanceof OAuthRefusal)) throw error;
      throw new Fault(
        `${base} offers no sign-in in a browser: create a key there, and run relay login ${base} --with-key`,
      );
    },
  );
  const { success, data } = Metadata.safeParse(found);
  if (!success) throw new Fault(`${base} does not answer as Relay does: check the address`);
  const { issuer, ...endpoints } = data;
  const foreign = Object.values(endpoints).some((url) => new URL(url).origin !== address.origin);
  if (issuer !== base && address.pathname !== "/") {
    throw new Fault(
      `the server does not know its path: set PUBLIC_URL=${base} there, or create a key and run relay login ${base} --with-key`,
    );
  }
  if (issuer !== base || foreign) {
    throw new Fault(`the server calls itself ${issuer}: run relay login ${issuer}`);
  }
  return data;
}

export async function registerClient(
  { registration_endpoint }: Metadata,
  client_name: string,
  redirect_uri: string,
): Promise<string> {
  const body = JSON.stringify({ client_name, redirect_uris: [redirect_uri] });
  const headers = { "content-type": "application/json" };
  const answer = await send(registration_endpoint, { method: "POST", headers, body });
  return z.object({ client_id: z.string() }).parse(answer).client_id;
}

/** Makes an authorization request. Its `codeOf` checks the answer. */
export function authorizationRequest(
  { issuer, authorization_endpoint }: Metadata,
  client_id: string,
  redirect_uri: string,
) {
  const verifier = randomText(32);
  const state = randomText(16);
  const address = new URL(authorization_endpoint);
  address.search = new URLSearchParams({
    response_type: "code",
    client_id,
    redirect_uri,
    state,
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
    resource: `${issuer}/mcp`,
  }).toString();

  /** The code in an answer; null if it does not answer this request. Throws if access was denied. */
  const codeOf = (answer: URLSearchParams): string | null => {
    const [given, wanted] = [Buffer.from(answer.get("state") ?? ""), Buffer.from(state)];
    if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) return null;
    if (answer.get("iss") !== issuer) return null;
    if (answer.get("error") === "access_denied") throw new Fault("access was denied on the page");
    const error = answer.get("error");
    if (error !== null) throw new Fault(`the server refused the sign-in: ${error}`);
    return answer.get("code");
  };
  return { url: address.href, client_id, redirect_uri, verifier, codeOf };
}
export type AuthorizationRequest = ReturnType<typeof authorizationRequest>;

const accessOf = (io: Io, url: string, client_id: string, answer: unknown): OAuthAccess => {
  const { access_token, refresh_token, expires_in } = Tokens.parse(answer);
  const expires_at = io.now() + expires_in;
  return { kind: "oauth", url, client_id, access_token, refresh_token, expires_at };
};

/** Exchanges the code (RFC 6749 4.1.3). */
export async function redeemCode(
  io: Io,
  { issuer, token_endpoint }: Metadata,
  { client_id, redirect_uri, verifier }: AuthorizationRequest,
  code: string,
): Promise<OAuthAccess> {
  const form = { grant_type: "authorization_code", code, client_id, redirect_uri };
  const answer = await post(token_endpoint, { ...form, code_verifier: verifier });
  return accessOf(io, issuer, client_id, answer);
}

/**
 * Gets new tokens (RFC 6749 6). OAuthRefusal for `invalid_grant` once the access has ended, and for `invalid_client` by a
 * server that has lost its data.
 */
export async function refreshAccess(io: Io, access: OAuthAccess): Promise<OAuthAccess> {
  const { url, client_id, refresh_token } = access;
  const form = { grant_type: "refresh_token", refresh_token, client_id };
  return accessOf(io, url, client_id, await post(`${url}/oauth/token`, form));
}

/** Revokes the access (RFC 7009). */
export async function revokeAccess({ url, client_id, refresh_token }: OAuthAccess): Promise<void> {
  await post(`${url}/oauth/revoke`, { token: refresh_token, client_id });
}
