/** The sender of pushes: one lane for each environment that has a key. */

import type { Store } from "../../db/store.ts";
import type { Clock } from "../clock.ts";
import { type Config, cannotUse } from "../config.ts";
import type { Ids } from "../ids.ts";
import { PUSH } from "../limits.ts";
import type { Log } from "../log.ts";
import type { Environment, LaneHealth } from "../model/push.ts";
import { createLane } from "./worker.ts";

interface SenderOptions {
  readonly config: Pick<Config, "PUSH_CONTENT">;
  readonly services: Awaited<ReturnType<typeof connectPushServices>>;
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

/** Without a service it has no lane, and sends nothing. */
export function createSender({ config, services, store, clock, ids, log }: SenderOptions) {
  const in_flight = Math.floor(PUSH.in_flight / Math.max(1, services.length));
  const full = config.PUSH_CONTENT === "full";
  const lanes = services.map((service) =>
    createLane({ ...service, store, clock, ids, log, full, in_flight }),
  );

  const wake = () => {
    for (const lane of lanes) lane.run();
  };

  return {
    /** Those that pushes are made for. */
    environments: services.map(({ environment }) => environment) as readonly Environment[],
    /** Begins with what is queued. */
    start(): void {
      if (lanes.length === 0) log.info("pushes are off", { reason: "APNS_TEAM_ID is not set" });
      wake();
    },
    /** A change planned pushes. */
    wake,
    /** Resolves when nothing is under way. */
    async settled(): Promise<void> {
      await Promise.all(lanes.map((lane) => lane.settled()));
    },
    /** Finishes what is under way, for 10 seconds at most, and gives the rest back. */
    async stop(): Promise<void> {
      await Promise.all(lanes.map((lane) => lane.stop()));
    },
    /** How each lane of this process does. */
    health: (): LaneHealth[] => lanes.map((lane) => lane.health()),
  };
}

/**
 * The push services that are configured; Apple's client is loaded only where there is one. Throws a
 * ConfigError when a key or the CA is none.
 */
export async function connectPushServices(config: Config, clock: Clock) {
  const { APNS_TEAM_ID: team_id, APNS_BUNDLE_ID: bundle_id, APNS_CA_FILE: ca_file } = config;
  if (team_id === undefined || bundle_id === undefined) return [];
  const { APPLE, createApns } = await import("./channels/apns/client");
  const ca = ca_file === undefined ? undefined : await readCa(ca_file);
  const services = [];
  for (const [environment, name] of [
    ["production", "APNS_PRODUCTION"],
    ["sandbox", "APNS_SANDBOX"],
  ] as const) {
    const key_id = config[`${name}_KEY_ID`];
    const given = config[`${name}_KEY`];
    if (key_id === undefined || given === undefined) continue;
    const url = config[`${name}_URL`] ?? APPLE[environment];
    try {
      const key = given.includes("-----BEGIN") ? given : await Bun.file(given).text();
      const apns = createApns({ url, team_id, bundle_id, key_id, key, ca, clock });
      services.push({ environment, apns });
    } catch (error) {
      throw cannotUse(`${name}_KEY`, "is no PEM text or file of a P-256 private key", error);
    }
  }
  if (services.length > 0) startHttpClient();
  return services;
}

/**
 * Bun starts the thread of its HTTP client with the first request, and ends the process if no file
 * descriptor is left for it then. A connection that nobody takes starts it now.
 */
function startHttpClient(): void {
  fetch.preconnect("http://127.0.0.1:1");
}

async function readCa(path: string): Promise<string> {
  try {
    const text = await Bun.file(path).text();
    if (text.includes("-----BEGIN CERTIFICATE-----")) return text;
  } catch (error) {
    throw cannotUse("APNS_CA_FILE", "cannot be read", error);
  }
  throw cannotUse("APNS_CA_FILE", "is no PEM file with a certificate", null);
}
