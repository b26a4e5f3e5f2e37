/** `relay health`: whether a server can be used, for the health check of a container. */

import { createClient } from "../client/client.ts";
import { RelayError } from "../client/error.ts";
import { baseOf, fetchServer } from "./base.ts";
import { Fault } from "./io.ts";

interface HealthCheck {
  readonly ok: boolean;
  /** What was found, in one line. */
  readonly text: string;
}

/** Seconds for the answer of {@link checkLive}: a container's check has 5. */
const LIVE_WITHIN = 4;

/** Whether the process at `address` handles requests, whatever the state of its store (§5.12.1). */
export async function checkLive(address: string): Promise<HealthCheck> {
  let url = address;
  try {
    url = `${baseOf(address)}/health/live`;
    const { ok, status } = await fetchServer(url, {
      signal: AbortSignal.timeout(LIVE_WITHIN * 1000),
    });
    return { ok, text: ok ? "live" : `${url} answered ${status}` };
  } catch (error) {
    return { ok: false, text: error instanceof Fault ? error.message : `${url} did not answer` };
  }
}

/** Reads the health of the server at `address` (§5.12.1). */
export async function checkHealth(address: string): Promise<HealthCheck> {
  let url = address;
  try {
    url = baseOf(address);
    const client = createClient({ url, fetch: fetchServer });
    const { status, version, store, problems = [] } = await client.health();
    const also = problems.length > 0 ? `, problems: ${problems.join(", ")}` : "";
    return { ok: status === "ok", text: `${status}, version ${version}, store ${store}${also}` };
  } catch (error) {
    if (error instanceof Fault) return { ok: false, text: error.message };
    if (!(error instanceof RelayError)) throw error;
    return { ok: false, text: `${url} did not answer as Relay does: ${error.message}` };
  }
}
