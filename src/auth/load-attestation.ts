/** Loads the check of app attestations, if the configuration requires it (§4.2). */

import { type Config, cannotUse } from "../config.ts";
import { readNamedFile, showPath } from "../config-files.ts";

/** Null if it is not required; its parsers are then not loaded. */
export async function loadAttestationCheck(config: Config) {
  const { ATTEST, ATTEST_APP_ID: app_id, ATTEST_ROOT_CA_FILE: file } = config;
  if (ATTEST === "off" || app_id === undefined) return null;
  const { createAttestationCheck } = await import("./attestation.ts");
  const root =
    file === undefined ? APPLE_APP_ATTEST_ROOT : await readNamedFile("ATTEST_ROOT_CA_FILE", file);
  try {
    return createAttestationCheck({ app_id, root });
  } catch (error) {
    const what = `is not a file with a certificate: ${showPath(file ?? "")}`;
    throw cannotUse("ATTEST_ROOT_CA_FILE", what, error);
  }
}

/**
 * Apple's published App Attestation Root CA, valid to 2045-03-15. SHA-256 of the certificate:
 * 1cb9823ba28ba6ad2d33a006941de2ae4f513ef1d4e831b9f7e0fa7b6242c932.
 */
export const APPLE_APP_ATTEST_ROOT = `-----BEGIN CERTIFICATE-----
MIICITCCAaegAwIBAgIQC/O+DvHN0uD7jG5yH2IXmDAKBggqhkjOPQQDAzBSMSYw
JAYDVQQDDB1BcHBsZSBBcHAgQXR0ZXN0YXRpb24gUm9vdCBDQTETMBEGA1UECgwK
QXBwbGUgSW5jLjETMBEGA1UECAwKQ2FsaWZvcm5pYTAeFw0yMDAzMTgxODMyNTNa
Fw00NTAzMTUwMDAwMDBaMFIxJjAkBgNVBAMMHUFwcGxlIEFwcCBBdHRlc3RhdGlv
biBSb290IENBMRMwEQYDVQQKDApBcHBsZSBJbmMuMRMwEQYDVQQIDApDYWxpZm9y
bmlhMHYwEAYHKoZIzj0CAQYFK4EEACIDYgAERTHhmLW07ATaFQIEVwTtT4dyctdh
NbJhFs/Ii2FdCgAHGbpphY3+d8qjuDngIN3WVhQUBHAoMeQ/cLiP1sOUtgjqK9au
Yen1mMEvRq9Sk3Jm5X8U62H+xTD3FE9TgS41o0IwQDAPBgNVHRMBAf8EBTADAQH/
MB0GA1UdDgQWBBSskRBTM72+aEH/pwyp5frq5eWKoTAOBgNVHQ8BAf8EBAMCAQYw
CgYIKoZIzj0EAwMDaAAwZQIwQgFGnByvsiVbpTKwSga0kP0e8EeDS4+sQmTvb7vn
53O5+FRXgeLhpJ06ysC5PrOyAjEAp5U4xDgEgllF7En3VcE3iexZZtKeYnpqtijV
oyFraWVIyd/dganmrduC1bmTBGwD
-----END CERTIFICATE-----
`;
