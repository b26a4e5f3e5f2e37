/** Values that travel through a client: signed, and good for the key they were made for alone. */

import type { Signer } from "../signer.ts";

export interface SignedTokens {
  /** The value as text that the client keeps and sends back; it can be read, not changed. */
  write(key_id: string, value: unknown): string;
  /** The value; undefined when it was not made here for this key. */
  read(key_id: string, text: string): unknown;
}

/** Seals of one purpose; one made for another is none (docs/interface.md 12.4.4). */
export function createSignedTokens(signer: Signer, purpose: string): SignedTokens {
  const mark = (key_id: string, payload: string) => signer.sign(purpose, `${key_id}.${payload}`);
  return {
    write(key_id, value) {
      const payload = Buffer.from(JSON.stringify(value)).toString("base64url");
      return `${payload}.${mark(key_id, payload)}`;
    },
    read(key_id, text) {
      const [payload = "", sent = "", ...more] = text.split(".");
      if (more.length > 0 || !signer.verify(purpose, `${key_id}.${payload}`, sent))
        return undefined;
      return JSON.parse(Buffer.from(payload, "base64url").toString());
    },
  };
}
