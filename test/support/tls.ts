/** A test certificate authority, for servers on 127.0.0.1. */

import "reflect-metadata";
import {
  BasicConstraintsExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from "@peculiar/x509";

/** What a TLS server needs; PEM. */
export interface Identity {
  readonly key: string;
  readonly cert: string;
}

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
const DAY = 86_400_000;

const keyPair = () => crypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
const number = () => Buffer.from(crypto.getRandomValues(new Uint8Array(7))).toString("hex");

export async function createAuthority() {
  const dates = {
    notBefore: new Date(Date.now() - DAY),
    notAfter: new Date(Date.now() + 30 * DAY),
  };
  const keys = await keyPair();
  const root = await X509CertificateGenerator.createSelfSigned({
    serialNumber: number(),
    name: `CN=Test CA ${number()}`,
    ...dates,
    keys,
    signingAlgorithm: ALGORITHM,
    extensions: [new BasicConstraintsExtension(true, undefined, true)],
  });
  const pemOf = async (key: CryptoKey) =>
    PemConverter.encode(await crypto.subtle.exportKey("pkcs8", key), "PRIVATE KEY");
  return {
    /** PEM of the root, which is its own issuer, and of its key. */
    ca: root.toString("pem"),
    key: await pemOf(keys.privateKey),
    /** A certificate for 127.0.0.1 and a host name. */
    async issue(name = "localhost"): Promise<Identity> {
      const own = await keyPair();
      const leaf = await X509CertificateGenerator.create({
        serialNumber: number(),
        subject: "CN=127.0.0.1",
        issuer: root.subject,
        ...dates,
        publicKey: own.publicKey,
        signingKey: keys.privateKey,
        signingAlgorithm: ALGORITHM,
        extensions: [
          new SubjectAlternativeNameExtension([
            { type: "ip", value: "127.0.0.1" },
            { type: "dns", value: name },
          ]),
        ],
      });
      return { key: await pemOf(own.privateKey), cert: leaf.toString("pem") };
    },
  };
}
