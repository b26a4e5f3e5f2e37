/** `GET /health`: whether the process and its store are usable (§5.12.1). */

import { JSON_HEADERS } from "./respond.ts";
import type { Handler } from "./rest.ts";

interface HealthOptions {
  /** Reads from the store; rejects when that fails or takes too long. */
  readonly probe: () => Promise<unknown>;
  /** False while writes fail or reads meet faults. */
  readonly usable: () => boolean;
  /** Problems that an operator should know of, whether the state is `ok` or not; usually empty. */
  readonly problems: () => readonly HealthProblem[];
  readonly version: string;
}

/** The codes of `problems` (§5.12.1). */
export const HEALTH_PROBLEMS = ["other_store", "clock_differs"] as const;
type HealthProblem = (typeof HEALTH_PROBLEMS)[number];

/** `503` while the store cannot be read or written (§11.4.3). */
export function createHealth({ probe, usable, problems, version }: HealthOptions): Handler {
  return async () => {
    const readable = await probe().then(
      () => true,
      () => false,
    );
    const ok = readable && usable();
    const state = ok ? "ok" : "unavailable";
    const found = problems();
    const body = {
      status: state,
      version,
      store: state,
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
