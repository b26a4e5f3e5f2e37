/** Apple's push service as a channel: a lane for each of its two environments. */

import type { Clock } from "../../../clock.ts";
import { type Config, cannotUse } from "../../../config.ts";
import type { Channel, Connection, Network } from "../../channel.ts";
import { type ApnsAnswer, classify } from "./classify.ts";
import { type ApnsRequest, render } from "./payloads.ts";

export const apns: Channel<ApnsRequest, ApnsAnswer> = {
  name: "apns",
  lanes: ["production", "sandbox"],
  supports: () => true,
  render,
  classify,
  connect,
};

/** The client is loaded only where an environment has a key. */
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
    try {
      const key = given.includes("-----BEGIN") ? given : await Bun.file(given).text();
      const client = createApnsClient({ url, team_id, bundle_id, key_id, key, ca, direct, clock });
      connections.push({ lane, ...client });
    } catch (error) {
      throw cannotUse(`${name}_KEY`, "is not the PEM text or file of a P-256 private key", error);
    }
  }
  return connections;
}

async function readCa(path: string): Promise<string> {
  try {
    const text = await Bun.file(path).text();
    if (text.includes("-----BEGIN CERTIFICATE-----")) return text;
  } catch (error) {
    throw cannotUse("APNS_CA_FILE", "cannot be read", error);
  }
  throw cannotUse("APNS_CA_FILE", "is not a PEM file with a certificate", null);
}
