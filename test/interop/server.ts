/** Relay as a separate process. */

import { join } from "node:path";
import { fileURLToPath } from "node:url";

const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url));

/** Seconds until the server must listen. */
const START = 20;

/** Starts Relay on a store in `folder`. */
export async function startServer(folder: string) {
  const child = Bun.spawn([process.execPath, "--no-orphans", MAIN], {
    // Nothing else of the environment, which may name a store.
    env: {
      PATH: process.env.PATH ?? "",
      PORT: "0",
      DATABASE_URL: `file:${join(folder, "relay.db")}`,
      RATE_LIMITS: "off",
      // For receivers of webhooks.
      OUTBOUND_PRIVATE: "127.0.0.0/8",
    },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
  });
  const late = setTimeout(() => child.kill(), START * 1000);
  let said = "";
  for await (const chunk of child.stdout) {
    said += Buffer.from(chunk).toString("utf8");
    if (said.includes("\n")) break;
  }
  clearTimeout(late);
  const [url] = /https?:\/\/[^\s/]+/.exec(said) ?? [];
  if (!url) throw new Error(`Relay did not start: ${said}`);
  return {
    url,
    stop: (signal?: NodeJS.Signals) => child.kill(signal),
    exited: child.exited,
  };
}
