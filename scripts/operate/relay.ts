/** Relay as a process whose `PUBLIC_URL` is not the address that it listens on. */

import { join } from "node:path";
import { isUp } from "../../bench/process.ts";
import { untilTrue } from "../../bench/within.ts";
import { freePort } from "../../test/support/sqld.ts";

/** Seconds in which it must have started. */
const START = 60;
const ROOT = new URL("../../", import.meta.url).pathname;

/** Starts it on a store in `folder`, without waiting for it. The process is added to `children`. */
export function spawnRelay(
  folder: string,
  children: Bun.Subprocess[],
  env: Record<string, string>,
): Bun.Subprocess<"ignore", "ignore", "pipe"> {
  const child = Bun.spawn([process.execPath, "--no-orphans", "src/main.ts"], {
    cwd: ROOT,
    env: {
      PATH: process.env.PATH ?? "",
      DATABASE_URL: `file:${join(folder, "relay.db")}`,
      LOG_LEVEL: "warn",
      ...env,
    },
    stdio: ["ignore", "ignore", "pipe"],
  });
  children.push(child);
  return child;
}

/** Starts it behind a proxy at `public_url`. Returns the port that it listens on. */
export async function relayBehind(
  public_url: string,
  folder: string,
  children: Bun.Subprocess[],
): Promise<number> {
  const port = freePort();
  const settings = { PUBLIC_URL: public_url, TRUST_PROXY: "1", DRAIN_SECONDS: "0" };
  const child = spawnRelay(folder, children, { ...settings, PORT: String(port) });
  await untilTrue(START, "the start of Relay", async () => {
    if (child.exitCode !== null) throw new Error(await new Response(child.stderr).text());
    return isUp(`http://127.0.0.1:${port}/health`);
  });
  return port;
}
