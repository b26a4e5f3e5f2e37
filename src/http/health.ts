/** `GET /health`: whether the process and its store can be used (docs/interface.md 5.12.1). */

import { JSON_HEADERS } from "./respond.ts";
import type { Handler } from "./rest.ts";

interface HealthOptions {
  /** Reads something of the store; rejects when it cannot be used, or does not answer in time. */
  readonly probe: () => Promise<unknown>;
  /** False while writes fail, or reads meet faults. */
  readonly usable: () => boolean;
  readonly version: string;
}

/** `503` while the store cannot be read or written (docs/interface.md 11.4.3). */
export function createHealth({ probe, usable, version }: HealthOptions): Handler {
  return async () => {
    const readable = await probe().then(
      () => true,
      () => false,
    );
    const ok = readable && usable();
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
