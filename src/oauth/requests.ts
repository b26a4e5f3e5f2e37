/** Authorization requests, checked, signed and handed to the page without being stored (§18.4), and codes (§18.5). */

import { createHash, timingSafeEqual } from "node:crypto";
import { LIMITS } from "../limits.ts";
import { createSignedTokens, type Signer } from "../signer.ts";
import { failOAuth } from "./fault.ts";
import { answerUri } from "./redirects.ts";

/** A valid request, as `/oauth/authorize` got it. */
export interface AuthorizationRequest {
  /** Digest of the `client_id` of a registered client; null for a client with a document. */
  readonly client: string | null;
  /** Address of the client's document, whose redirect URIs are not checked yet; null for a registered client. */
  readonly document: string | null;
  readonly name: string | null;
  readonly redirect_uri: string;
  readonly state: string | null;
  /** `code_challenge`, by S256. */
  readonly challenge: string;
  /** Base address of the request: the issuer, and the resource that tokens are for. */
  readonly issuer: string;
  readonly requested_at: number;
}

export type SealedRequests = ReturnType<typeof createSealedRequests>;

export function createSealedRequests(signer: Signer) {
  const sealed = createSignedTokens(signer, "oauth-request");
  return {
    /** Throws `invalid_request` if the text is too long for an address. */
    write(request: AuthorizationRequest): string {
      const text = sealed.write("", request);
      if (text.length > LIMITS.authorization_request) {
        failOAuth("invalid_request", "The request is too long.");
      }
      return text;
    },
    /** `expired` after its time; null if this store did not sign it. */
    read(text: string, now: number): AuthorizationRequest | "expired" | null {
      const request = sealed.read("", text) as AuthorizationRequest | undefined;
      if (!request) return null;
      const is_late = request.requested_at + LIMITS.authorization_request_life <= now;
      return is_late ? "expired" : request;
    },
  };
}

/** The address to which an answer redirects, with the issuer (RFC 9207). */
export function redirectTo(
  { redirect_uri, state, issuer }: Pick<AuthorizationRequest, "redirect_uri" | "state" | "issuer">,
  answer:
    | { readonly code: string }
    | { readonly error: string; readonly error_description: string },
): string {
  return answerUri(redirect_uri, { ...answer, state, iss: issuer });
}

/** True if a `resource` is this server: its base address, or the address of `/mcp` with any query (RFC 8707 2). */
export function isResourceOf(base: string, resource: string): boolean {
  const url = URL.parse(resource);
  if (url === null || resource.includes("#")) return false;
  if (resource === base || url.href === `${base}/`) return true;
  return url.href.replace(/\?.*$/, "") === `${base}/mcp`;
}

/** A `code_challenge` by S256: a SHA-256 digest in base64url (RFC 7636 4.2). */
export const CHALLENGE = /^[\w-]{43}$/;
const VERIFIER = /^[\w\-.~]{43,128}$/;

/** True if the challenge was made from the verifier (RFC 7636 4.6). */
export function isVerifierOf(challenge: string, verifier: string): boolean {
  if (!VERIFIER.test(verifier)) return false;
  const made = createHash("sha256").update(verifier).digest();
  const kept = Buffer.from(challenge, "base64url");
  return made.length === kept.length && timingSafeEqual(made, kept);
}

/**
 * An authorization code that is valid until `until` (epoch seconds, to the millisecond). The digest of the whole code is stored, so
 * the time in it cannot be changed. The grant itself lives as long as its request.
 */
export function newCode(secret: string, until: number): string {
  return `${secret}.${Math.round(until * 1000).toString(36)}`;
}

/** True if a code, already found by its digest, has not expired. */
export function isInTime(code: string, now: number): boolean {
  const [, until = ""] = code.split(".");
  return Number.parseInt(until, 36) > now * 1000;
}
