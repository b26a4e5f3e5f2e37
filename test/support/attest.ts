/** A test authority for App Attest: a root, an intermediate, and keys that they attest. */

import "reflect-metadata";
import { createHash } from "node:crypto";
import { BasicConstraintsExtension, Extension, X509CertificateGenerator } from "@peculiar/x509";
import { encode } from "cborg";
import type { Attempt } from "../../src/model/attestation.ts";

export const APP_ID = "A1B2C3D4E5.com.example.relay";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

const sha256 = (data: string | Uint8Array) => createHash("sha256").update(data).digest();
const keyPair = (namedCurve: "P-256" | "P-384") =>
  crypto.subtle.generateKey({ name: "ECDSA", namedCurve }, true, ["sign", "verify"]);

/** What may differ from a genuine attestation. */
export interface Variation {
  readonly app_id?: string;
  readonly fmt?: string;
  readonly counter?: number;
  readonly aaguid?: string;
  /** The challenge that the device was given, if not the one that is sent. */
  readonly attested_challenge?: string;
  readonly key_id?: Buffer;
  readonly credential_id?: Buffer;
  /** Bytes after the COSE key. */
  readonly extra?: Uint8Array;
  readonly without_nonce?: boolean;
  /** The issuer that the leaf names. */
  readonly issuer?: string;
  /** The leaf is valid until this many milliseconds after `now`; one day when absent. */
  readonly valid_for?: number;
  readonly x5c?: (x5c: Uint8Array[]) => unknown[];
}

/** A new authority that is valid around `now` (epoch seconds). */
export async function createAuthority(now: number, { intermediate_is_ca = true } = {}) {
  const at = now * 1000;
  const issue = (
    name: string,
    issuer: string,
    keys: CryptoKeyPair,
    signer: CryptoKeyPair,
    extensions: Extension[],
    until: number,
  ) =>
    X509CertificateGenerator.create({
      serialNumber: Buffer.from(crypto.getRandomValues(new Uint8Array(7))).toString("hex"),
      subject: `CN=${name}`,
      issuer: `CN=${issuer}`,
      notBefore: new Date(at - DAY),
      notAfter: new Date(until),
      signingAlgorithm: { name: "ECDSA", hash: "SHA-384" },
      publicKey: keys.publicKey,
      signingKey: signer.privateKey,
      extensions,
    });
  const ca = (is_ca: boolean) => [new BasicConstraintsExtension(is_ca, undefined, true)];
  const [root_keys, intermediate_keys] = [await keyPair("P-384"), await keyPair("P-384")];
  const root = await issue("Root", "Root", root_keys, root_keys, ca(true), at + 100 * DAY);
  const intermediate = await issue(
    "Intermediate",
    "Root",
    intermediate_keys,
    root_keys,
    ca(intermediate_is_ca),
    at + 50 * DAY,
  );

  return {
    root: root.toString("pem"),
    /** What the app sends for this challenge. */
    async attest(challenge: string, vary: Variation = {}): Promise<Attempt> {
      const keys = await keyPair("P-256");
      const point = new Uint8Array(await crypto.subtle.exportKey("raw", keys.publicKey));
      const key_id = sha256(point);
      const credential_id = vary.credential_id ?? key_id;
      const numbers = Buffer.alloc(5);
      numbers.writeUInt8(0x40);
      numbers.writeUInt32BE(vary.counter ?? 0, 1);
      const length = Buffer.alloc(2);
      length.writeUInt16BE(credential_id.length);
      const cose = new Map<number, unknown>([
        [1, 2],
        [3, -7],
        [-1, 1],
        [-2, point.subarray(1, 33)],
        [-3, point.subarray(33)],
      ]);
      const authData = Buffer.concat([
        sha256(vary.app_id ?? APP_ID),
        numbers,
        Buffer.from((vary.aaguid ?? "appattest").padEnd(16, "\0")),
        length,
        credential_id,
        encode(cose),
        vary.extra ?? Buffer.alloc(0),
      ]);
      const nonce = sha256(Buffer.concat([authData, sha256(vary.attested_challenge ?? challenge)]));
      const value = Buffer.concat([Buffer.from("3024a1220420", "hex"), nonce]);
      const leaf = await issue(
        "Key",
        vary.issuer ?? "Intermediate",
        keys,
        intermediate_keys,
        [
          ...ca(false),
          ...(vary.without_nonce ? [] : [new Extension("1.2.840.113635.100.8.2", false, value)]),
        ],
        at + (vary.valid_for ?? DAY),
      );
      const x5c = [leaf, intermediate].map(({ rawData }) => new Uint8Array(rawData));
      const object = encode({
        fmt: vary.fmt ?? "apple-appattest",
        attStmt: { x5c: vary.x5c ? vary.x5c(x5c) : x5c, receipt: Buffer.from("receipt") },
        authData,
      });
      return {
        challenge,
        key_id: (vary.key_id ?? key_id).toString("base64"),
        object: Buffer.from(object).toString("base64"),
      };
    },
  };
}

/** The attempt in the form of the field `attestation`. */
export function attestationOf(attempt: object): string {
  return Buffer.from(JSON.stringify(attempt)).toString("base64url");
}
