/** Keyed digests, which only this service can make; the same in all its processes. */

import { createHmac, timingSafeEqual } from "node:crypto";

export interface Signer {
  /** HMAC-SHA256 of `text`, base64url; digests of different purposes never match. */
  sign(purpose: string, text: string): string;
  /** Whether `mark` is the digest of the text, compared in constant time. */
  verify(purpose: string, text: string, mark: string): boolean;
}

export function createSigner(secret: string): Signer {
  const sign = (purpose: string, text: string) =>
    createHmac("sha256", secret).update(`${purpose}\0${text}`).digest("base64url");
  return {
    sign,
    verify(purpose, text, mark) {
      const [right, given] = [Buffer.from(sign(purpose, text)), Buffer.from(mark)];
      return right.length === given.length && timingSafeEqual(right, given);
    },
  };
}
