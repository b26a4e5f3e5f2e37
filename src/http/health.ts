/** `GET /health`: whether the process and its store can be used (decisions.md, Other routes). */

import { JSON_HEADERS } from "./respond.ts";
import type { Handler } from "./rest.ts";

interface HealthOptions {
  /** Reads something of the store; rejects when it cannot be used. */
  readonly probe: () => Promise<unknown>;
  readonly version: string;
}

export function createHealth({ probe, version }: HealthOptions): Handler {
  return async () => {
    const ok = await probe().then(
      () => true,
      () => false,
    );
    const body = ok
      ? { status: "ok", version, store: "ok" }
      : { status: "unavailable", version, store: "unavailable" };
    return new Response(JSON.stringify(body), {
      status: ok ? 200 : 503,
      headers: {
        ...JSON_HEADERS,
        ...(!ok && { "retry-after": "1" }),
      },
    });
  };
}
