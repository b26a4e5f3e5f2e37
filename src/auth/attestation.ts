/** App Attest: whether the genuine app made a key on a genuine device, by Apple's rules. */

import { createHash, X509Certificate } from "node:crypto";
import { AsnConvert } from "@peculiar/asn1-schema";
import { Certificate } from "@peculiar/asn1-x509";
import { decode } from "cborg";
import type { Attempt } from "../model/attestation.ts";

interface CheckOptions {
  /** Team id, a dot, and the bundle id. */
  readonly app_id: string;
  /** The trusted certificate, PEM. */
  readonly root: string;
}

/** Why the attempt is rejected at `now` (epoch seconds); null if it is genuine. */
export type AttestationCheck = (attempt: Attempt, now: number) => string | null;

/** The extension of the credential certificate that has the nonce. */
const NONCE_OID = "1.2.840.113635.100.8.2";
/** DER before the nonce: a sequence of one [1] with an octet string of 32 bytes. */
const NONCE_HEAD = Buffer.from("3024a1220420", "hex");
/** A development build says `appattestdevelop` instead. */
const PRODUCTION = Buffer.from("appattest\0\0\0\0\0\0\0");

/** Offsets in the authenticator data. A COSE key and more follow the credential id. */
const COUNTER = 33;
const AAGUID = 37;
const ID_LENGTH = 53;
const ID = 55;

/** Throws if `root` is not a certificate. */
export function createAttestationCheck({ app_id, root }: CheckOptions): AttestationCheck {
  const anchor = readCertificate(new X509Certificate(root).raw);
  const app = sha256(app_id);

  const check = ({ challenge, key_id, object }: Attempt, now: number): string | null => {
    const { auth_data, x5c } = readObject(Buffer.from(object, "base64"));
    const [leaf, intermediate] = x5c.map(readCertificate) as [Chained, Chained];
    if (!leads([leaf, intermediate, anchor], now))
      return "the certificates do not lead to the root";

    // The app passes the digest of the challenge's text to the device.
    const nonce = sha256(Buffer.concat([auth_data, sha256(challenge)]));
    const extension = leaf.fields.extensions?.find(({ extnID }) => extnID === NONCE_OID);
    if (!extension || !Buffer.concat([NONCE_HEAD, nonce]).equals(bytes(extension.extnValue.buffer)))
      return "the nonce is another one";

    const id = Buffer.from(key_id, "base64");
    const point = leaf.fields.subjectPublicKeyInfo.subjectPublicKey;
    if (!sha256(bytes(point)).equals(id)) return "the key is another one";
    if (!auth_data.subarray(0, COUNTER - 1).equals(app)) return "the app is another one";
    if (auth_data.readUInt32BE(COUNTER) !== 0) return "the key was used before";
    if (!auth_data.subarray(AAGUID, ID_LENGTH).equals(PRODUCTION)) return "no production build";
    const length = auth_data.readUInt16BE(ID_LENGTH);
    if (!auth_data.subarray(ID, ID + length).equals(id)) return "the credential is another one";
    return null;
  };

  return (attempt, now) => {
    try {
      return check(attempt, now);
    } catch {
      // The parsers throw at any depth.
      return "the object cannot be read";
    }
  };
}

/** The parts to check. Throws if one is missing, or the receipt, which only Apple can read. */
function readObject(object: Uint8Array) {
  // Maps, so that names such as `__proto__` have no meaning.
  const all = decode(object, { useMaps: true, rejectDuplicateMapKeys: true });
  const statement = all.get("attStmt");
  const x5c = statement.get("x5c");
  const auth_data = bytes(all.get("authData"));
  bytes(statement.get("receipt"));
  if (all.get("fmt") !== "apple-appattest" || !Array.isArray(x5c) || x5c.length !== 2) {
    throw new TypeError("not an App Attest object");
  }
  return { auth_data, x5c: x5c.map(bytes) };
}

interface Chained {
  readonly x509: X509Certificate;
  readonly fields: Certificate["tbsCertificate"];
}

function readCertificate(der: Buffer): Chained {
  return {
    x509: new X509Certificate(der),
    fields: AsnConvert.parse(der, Certificate).tbsCertificate,
  };
}

/** True if each is valid at `now` and was issued by the next, which may issue. The last one is trusted. */
function leads(chain: readonly Chained[], now: number): boolean {
  return chain.every(({ x509, fields: { validity } }, i) => {
    const ms = now * 1000;
    if (ms < validity.notBefore.getTime().getTime()) return false;
    if (ms > validity.notAfter.getTime().getTime()) return false;
    const issuer = chain[i + 1]?.x509;
    return !issuer || (issuer.ca && x509.checkIssued(issuer) && x509.verify(issuer.publicKey));
  });
}

function bytes(value: unknown): Buffer {
  if (value instanceof ArrayBuffer) return Buffer.from(value);
  if (value instanceof Uint8Array) return Buffer.from(value);
  throw new TypeError("not bytes");
}

function sha256(data: string | Buffer): Buffer {
  return createHash("sha256").update(data).digest();
}
