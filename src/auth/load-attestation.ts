/** Loads the check of app attestations, if the configuration requires it (§4.2). */

import { type Config, cannotUse } from "../config.ts";
import { readNamedFile, showPath } from "../config-files.ts";
import { APPLE_APP_ATTEST_ROOT } from "./apple-root.ts";

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
