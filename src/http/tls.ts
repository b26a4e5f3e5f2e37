/** Loads the certificate and key with which this process serves TLS (§16). */

import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { type Config, ConfigError, cannotUse } from "../config.ts";
import { readNamedFile, showPath } from "../config-files.ts";
import type { Log } from "../log.ts";

export interface Tls {
  /** PEM of the certificate and its intermediates. */
  readonly cert: string;
  /** PEM. */
  readonly key: string;
  /** True if the certificate issued itself. */
  readonly self_signed: boolean;
  /** When the certificate ends, in epoch seconds. */
  readonly expires_at: number;
}

/** Seconds before its end from which on a start warns of a certificate. */
const EXPIRES_SOON = 14 * 86_400;

/**
 * Reads the files that `TLS_CERT_FILE` and `TLS_KEY_FILE` name; null if they are unset. Throws a ConfigError that names
 * the variable if a file cannot be read, is not PEM, or holds a key with a passphrase or the key of another
 * certificate.
 */
export async function loadTls(config: Config): Promise<Tls | null> {
  const { TLS_CERT_FILE: cert_file, TLS_KEY_FILE: key_file } = config;
  if (cert_file === undefined || key_file === undefined) return null;
  const [cert, key] = await Promise.all([
    readNamedFile("TLS_CERT_FILE", cert_file),
    readNamedFile("TLS_KEY_FILE", key_file),
  ]);
  const leaf = parseCertificates(cert, cert_file);
  if (!leaf.checkPrivateKey(parseKey(key, key_file))) {
    throw new ConfigError(
      "TLS_KEY_FILE: is not the key of the certificate that comes first in TLS_CERT_FILE",
    );
  }
  const self_signed = leaf.checkIssued(leaf);
  return { cert, key, self_signed, expires_at: leaf.validToDate.getTime() / 1000 };
}

/**
 * Logs a warning if the certificate has expired at `now` (epoch seconds) or expires within 14 days. Relay serves it
 * nevertheless. Intermediates do not count, since chains often end in an old one that nobody needs.
 */
export function warnOfExpiry({ expires_at }: Pick<Tls, "expires_at">, now: number, log: Log): void {
  if (expires_at - now > EXPIRES_SOON) return;
  log.warn(expires_at <= now ? "TLS certificate expired" : "TLS certificate expires soon", {
    expires_at: new Date(expires_at * 1000).toISOString(),
  });
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/** Returns the first certificate. Parses all of them, since a broken one would stop the server later. */
function parseCertificates(text: string, file: string): X509Certificate {
  try {
    const [leaf] = (text.match(CERTIFICATE) ?? []).map((pem) => new X509Certificate(pem));
    if (leaf) return leaf;
  } catch (error) {
    const what = `has a certificate that cannot be read: ${showPath(file)}`;
    throw cannotUse("TLS_CERT_FILE", what, error);
  }
  throw new ConfigError(`TLS_CERT_FILE: is not a PEM file with a certificate: ${showPath(file)}`);
}

function parseKey(text: string, file: string): KeyObject {
  try {
    return createPrivateKey(text);
  } catch (error) {
    const what = `is not a PEM file with a private key without a passphrase: ${showPath(file)}`;
    throw cannotUse("TLS_KEY_FILE", what, error);
  }
}
