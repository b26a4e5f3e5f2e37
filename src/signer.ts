/** Keyed digests, equal in all processes of a service, and values that clients keep under such a digest. */

import { createHmac, timingSafeEqual } from "node:crypto";

export type Signer = ReturnType<typeof createSigner>;

export function createSigner(secret: string) {
  /** The HMAC-SHA256 of `text` in base64url. Digests for different purposes never match. */
  const sign = (purpose: string, text: string): string =>
    createHmac("sha256", secret).update(`${purpose}\0${text}`).digest("base64url");
  return {
    sign,
    /** True if `mark` is the digest of `text`; compares in constant time. */
    verify(purpose: string, text: string, mark: string): boolean {
      const [right, given] = [Buffer.from(sign(purpose, text)), Buffer.from(mark)];
      return right.length === given.length && timingSafeEqual(right, given);
    },
  };
}

export type SignedTokens = ReturnType<typeof createSignedTokens>;

/**
 * Signs values that a client keeps and sends back. It can read them, but not change them or use those of another owner
 * or purpose (§12.4.4).
 */
export function createSignedTokens(signer: Signer, purpose: string) {
  const mark = (owner: string, payload: string) => signer.sign(purpose, `${owner}.${payload}`);
  return {
    /** Encodes and signs a JSON value. */
    write(owner: string, value: unknown): string {
      const payload = Buffer.from(JSON.stringify(value)).toString("base64url");
      return `${payload}.${mark(owner, payload)}`;
    },
    /** Returns the value; undefined if it was not signed here for this owner. */
    read(owner: string, text: string): unknown {
      const [payload = "", sent = "", ...more] = text.split(".");
      if (more.length > 0 || !signer.verify(purpose, `${owner}.${payload}`, sent)) return undefined;
      return JSON.parse(Buffer.from(payload, "base64url").toString());
    },
  };
}
