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
