/** Authorization requests: checked, signed and handed to the page; nothing is stored (docs/interface.md §18.4). */

import { createHash, timingSafeEqual } from "node:crypto";
import { LIMITS } from "../limits.ts";
import { createSignedTokens, type Signer } from "../signer.ts";
import { failOAuth } from "./fault.ts";
import { answerUri } from "./redirects.ts";

/** What a client asks for, as `/oauth/authorize` found it to be valid. */
export interface AuthorizationRequest {
  /** Digest of the `client_id` of a registered client; null for a client with a document. */
  readonly client: string | null;
  /** Address of the client's document, whose redirect URIs are still to be checked; else null. */
  readonly document: string | null;
  readonly name: string | null;
  readonly redirect_uri: string;
  readonly state: string | null;
  /** `code_challenge`, by S256. */
  readonly challenge: string;
  /** Base address that the request came by: the issuer, and the resource that tokens are for. */
  readonly issuer: string;
  readonly requested_at: number;
}

export type SealedRequests = ReturnType<typeof createSealedRequests>;

export function createSealedRequests(signer: Signer) {
  const sealed = createSignedTokens(signer, "oauth-request");
  return {
    /** Throws `invalid_request` when it would be too long for an address. */
    write(request: AuthorizationRequest): string {
      const text = sealed.write("", request);
      if (text.length > LIMITS.authorization_request) {
        failOAuth("invalid_request", "The request is too long.");
      }
      return text;
    },
    /** The request; `expired` after its time, null when it was not made here. */
    read(text: string, now: number): AuthorizationRequest | "expired" | null {
      const request = sealed.read("", text) as AuthorizationRequest | undefined;
      if (!request) return null;
      const is_late = request.requested_at + LIMITS.authorization_request_life <= now;
      return is_late ? "expired" : request;
    },
  };
}

/** The answer to a request, as the address to go to; it names the issuer (RFC 9207). */
export function redirectTo(
  { redirect_uri, state, issuer }: Pick<AuthorizationRequest, "redirect_uri" | "state" | "issuer">,
  answer:
    | { readonly code: string }
    | { readonly error: string; readonly error_description: string },
): string {
  return answerUri(redirect_uri, { ...answer, state, iss: issuer });
}

/**
 * Whether a `resource` parameter means this server: its base address or the address of `/mcp`
 * with any query (RFC 8707 2).
 */
export function isResourceOf(base: string, resource: string): boolean {
  const url = URL.parse(resource);
  if (url === null || resource.includes("#")) return false;
  if (resource === base || url.href === `${base}/`) return true;
  return url.href.replace(/\?.*$/, "") === `${base}/mcp`;
}

/** What a `code_challenge` by S256 looks like: a SHA-256 digest in base64url (RFC 7636 4.2). */
export const CHALLENGE = /^[\w-]{43}$/;
const VERIFIER = /^[\w\-.~]{43,128}$/;

/** Whether the verifier is the one that the challenge was made from (RFC 7636 4.6). */
export function isVerifierOf(challenge: string, verifier: string): boolean {
  if (!VERIFIER.test(verifier)) return false;
  const made = createHash("sha256").update(verifier).digest();
  const kept = Buffer.from(challenge, "base64url");
  return made.length === kept.length && timingSafeEqual(made, kept);
}
