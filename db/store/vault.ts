/**
 * Encrypts values before they are stored: addresses and secrets of channels, and the secrets of the service (§11.4.11).
 * Every key is derived from `DATABASE_ENCRYPTION_KEY`. Without it, values are stored as they are.
 */

import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";

/** Marks an encrypted value and its format. No value that Relay stores as it is begins so. */
const MARK = "enc1:";

/** AES-256-GCM, with a random nonce in front of the text and the tag behind it. */
const CIPHER = "aes-256-gcm";
const NONCE = 12;
const TAG = 16;

/** An encrypted value cannot be read with the key of this process. The message names what it belongs to, and no content. */
export class SealedError extends Error {
  override readonly name = "SealedError";
  readonly code = "SEALED";
}

export interface Vault {
  /** The key of an embedded file, for `openConnection`; null without `DATABASE_ENCRYPTION_KEY`. */
  readonly file_key: string | null;
  /**
   * Encrypts a value. `of` names the place that it belongs to, such as the id of a row: only there can it be opened.
   * Without a key, returns it as it is.
   */
  seal(of: string, text: string): string;
  /**
   * The value that {@link seal} got. One that was stored as it is, is returned as it is. Throws {@link SealedError} if it
   * was encrypted with another key or for another place.
   */
  open(of: string, stored: string): string;
}

/** True for a value that {@link Vault.seal} encrypted. */
export const isSealed = (stored: string): boolean => stored.startsWith(MARK);

const derive = (key: Uint8Array, purpose: string, bytes: number): Buffer =>
  Buffer.from(hkdfSync("sha256", key, new Uint8Array(), purpose, bytes));

/** `key`: the 32 bytes of `DATABASE_ENCRYPTION_KEY`; undefined stores values as they are. */
export function createVault(key: Uint8Array | undefined): Vault {
  if (key === undefined) return PLAIN;
  const value_key = derive(key, "relay values", 32);
  return {
    // libSQL uses the first 32 bytes of a key and ignores the rest, so this has exactly 32 characters.
    file_key: derive(key, "relay file", 24).toString("base64url"),

    seal(of, text) {
      const nonce = randomBytes(NONCE);
      const cipher = createCipheriv(CIPHER, value_key, nonce).setAAD(Buffer.from(of));
      const parts = [nonce, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()];
      return MARK + Buffer.concat(parts).toString("base64url");
    },

    open(of, stored) {
      if (!isSealed(stored)) return stored;
      const bytes = Buffer.from(stored.slice(MARK.length), "base64url");
      const end = bytes.length - TAG;
      try {
        const decipher = createDecipheriv(CIPHER, value_key, bytes.subarray(0, NONCE), {
          authTagLength: TAG,
        })
          .setAAD(Buffer.from(of))
          .setAuthTag(bytes.subarray(end));
        const text = [decipher.update(bytes.subarray(NONCE, end)), decipher.final()];
        return Buffer.concat(text).toString("utf8");
      } catch (cause) {
        throw new SealedError(`${of} was encrypted with another key`, { cause });
      }
    },
  };
}

/** Stores values as they are. */
export const PLAIN: Vault = {
  file_key: null,
  seal: (_of, text) => text,
  open(of, stored) {
    if (isSealed(stored)) throw new SealedError(`${of} is encrypted, and there is no key`);
    return stored;
  },
};

/** The places of values that are encrypted: {@link Vault.seal}. */
export const PLACES = {
  /** A row of `secrets`. */
  secret: (name: string) => `secret ${name}`,
  /** The address of a channel or link, by its id; also where it is copied for deliveries. */
  address: (id: string) => `address ${id}`,
  /** The URL of a channel. */
  url: (channel_id: string) => `url ${channel_id}`,
  /** What signs the requests of a webhook. */
  signing: (channel_id: string) => `signing ${channel_id}`,
  /** The address of whoever opened a link. */
  visitor: (link_id: string) => `visitor ${link_id}`,
} as const;
