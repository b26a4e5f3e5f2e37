/** Values that a client keeps for the service: signed, and valid only for the owner they were made for. */

import type { Signer } from "./signer.ts";

export interface SignedTokens {
  /** The value as text that the client keeps and sends back; it can be read, not changed. */
  write(owner: string, value: unknown): string;
  /** The value; undefined when it was not made here for this owner. */
  read(owner: string, text: string): unknown;
}

/** Tokens of one purpose; a token of another purpose is not valid (docs/interface.md 12.4.4). */
export function createSignedTokens(signer: Signer, purpose: string): SignedTokens {
  const mark = (owner: string, payload: string) => signer.sign(purpose, `${owner}.${payload}`);
  return {
    write(owner, value) {
      const payload = Buffer.from(JSON.stringify(value)).toString("base64url");
      return `${payload}.${mark(owner, payload)}`;
    },
    read(owner, text) {
      const [payload = "", sent = "", ...more] = text.split(".");
      if (more.length > 0 || !signer.verify(purpose, `${owner}.${payload}`, sent)) return undefined;
      return JSON.parse(Buffer.from(payload, "base64url").toString());
    },
  };
}
