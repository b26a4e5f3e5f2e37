/** `GET /health`: whether the process and its store are usable (§5.12.1). */

import { JSON_HEADERS } from "./respond.ts";
import type { Handler } from "./rest.ts";

interface HealthOptions {
  /** Reads from the store; rejects when that fails or takes too long. */
  readonly probe: () => Promise<unknown>;
  /** False while writes fail or reads meet faults. */
  readonly usable: () => boolean;
  /** True from the signal that stops the process on (§5.12.1). */
  readonly stopping: () => boolean;
  /** Problems that an operator should know of, whether the state is `ok` or not; usually empty. */
  readonly problems: () => readonly HealthProblem[];
  readonly version: string;
}

/** The codes of `problems` (§5.12.1). */
export const HEALTH_PROBLEMS = [
  "other_store",
  "write_lock_held",
  "clock_differs",
  "stopping",
] as const;
type HealthProblem = (typeof HEALTH_PROBLEMS)[number];

/** `503` while the store cannot be read or written (§11.4.3), and while the process stops. */
export function createHealth(options: HealthOptions): Handler {
  const { probe, usable, stopping, version } = options;
  return async () => {
    const readable = await probe().then(
      () => true,
      () => false,
    );
    const store = readable && usable();
    const ok = store && !stopping();
    const found = [...options.problems(), ...(stopping() ? (["stopping"] as const) : [])];
    const state = (good: boolean) => (good ? "ok" : "unavailable");
    const body = {
      status: state(ok),
      version,
      store: state(store),
      ...(found.length > 0 && { problems: found }),
    };
    return new Response(JSON.stringify(body), {
      status: ok ? 200 : 503,
      headers: {
        ...JSON_HEADERS,
        ...(!ok && { "retry-after": "1" }),
      },
    });
  };
}

/** `GET /health/live`: `200` as long as the process handles requests, whatever the state of its store (§5.12.1). */
export const live: Handler = async () => new Response('{"status":"ok"}', { headers: JSON_HEADERS });
