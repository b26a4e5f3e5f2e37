/** Apple's push service as a channel: a lane for each of its two environments. */

import { readTextFile } from "../../bounded-read.ts";
import type { Clock } from "../../clock.ts";
import { type Config, ConfigError, cannotUse } from "../../config.ts";
import { NAMED_FILE_BYTES, readNamedFile, showPath, whyUnreadable } from "../../config-files.ts";
import type { Channel, Connection, Network } from "../core/channel.ts";
import { type ApnsAnswer, classify } from "./classify.ts";
import { type ApnsRequest, render } from "./payloads.ts";

export const apns: Channel<ApnsRequest, ApnsAnswer> = {
  name: "apns",
  title: "APNs",
  lanes: ["production", "sandbox"],
  supports: () => true,
  render,
  classify,
  connect,
};

/** Loads the client only if an environment has a key. */
async function connect(config: Config, clock: Clock, { direct }: Network) {
  const { APNS_TEAM_ID: team_id, APNS_BUNDLE_ID: bundle_id, APNS_CA_FILE: ca_file } = config;
  if (team_id === undefined || bundle_id === undefined) return [];
  const { APPLE, createApnsClient } = await import("./client");
  const ca = ca_file === undefined ? undefined : await readCa(ca_file);
  const connections: Connection<ApnsRequest, ApnsAnswer>[] = [];
  for (const [lane, name] of [
    ["production", "APNS_PRODUCTION"],
    ["sandbox", "APNS_SANDBOX"],
  ] as const) {
    const key_id = config[`${name}_KEY_ID`];
    const given = config[`${name}_KEY`];
    if (key_id === undefined || given === undefined) continue;
    const url = config[`${name}_URL`] ?? APPLE[lane];
    const key = given.includes("-----BEGIN") ? given : await readKey(`${name}_KEY`, given);
    try {
      const client = createApnsClient({ url, team_id, bundle_id, key_id, key, ca, direct, clock });
      connections.push({ lane, ...client });
    } catch (error) {
      const escaped = /\\n/.test(key) ? "; it has \\n where its lines should end" : "";
      const where = key === given ? "" : `: ${showPath(given)}`;
      const what = `is not the PEM text or file of a P-256 private key${escaped}${where}`;
      throw cannotUse(`${name}_KEY`, what, error);
    }
  }
  return connections;
}

async function readCa(path: string): Promise<string> {
  const text = await readNamedFile("APNS_CA_FILE", path);
  if (text.includes("-----BEGIN CERTIFICATE-----")) return text;
  throw new ConfigError(`APNS_CA_FILE: is not a PEM file with a certificate: ${showPath(path)}`);
}

/** True if a value without PEM lines may be part of a key and must not be shown. A P-256 key has at least 90 bytes. */
const mayBeKey = (value: string): boolean =>
  /^[A-Za-z0-9+/=\s]+$/.test(value) && !(value.startsWith("/") && value.length < 100);

async function readKey(variable: string, path: string): Promise<string> {
  try {
    return await readTextFile(path, NAMED_FILE_BYTES);
  } catch (error) {
    const is_file = !["ENOENT", "ENAMETOOLONG"].includes((error as { code: string }).code);
    const why =
      is_file || !mayBeKey(path)
        ? whyUnreadable(path, error)
        : "is neither PEM text with its first and last line, nor a file";
    throw new ConfigError(`${variable}: ${why}`, { cause: error });
  }
}
