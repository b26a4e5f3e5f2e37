/** Keyed digests: what only this service can have made, the same in all its processes. */

import { createHmac } from "node:crypto";

export interface Signer {
  /** HMAC-SHA256 of `text`, base64url; one made for another `purpose` never equals it. */
  sign(purpose: string, text: string): string;
}

export function createSigner(secret: string): Signer {
  return {
    sign: (purpose, text) =>
      createHmac("sha256", secret).update(`${purpose}\0${text}`).digest("base64url"),
  };
}
