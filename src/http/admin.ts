/** The surfaces that need the admin token: `/metrics`, `/admin/health` and `/admin/trpc` (§4.3). */

import { createHash, timingSafeEqual } from "node:crypto";
import type { AdminContext } from "../../routers/admin.ts";
import { adminRouter } from "../../routers/admin.ts";
import { fail } from "../errors.ts";
import type { AdminCaller } from "../model/caller.ts";
import { createMetrics, type Metric } from "../observability/metrics.ts";
import type { Bodies } from "./body.ts";
import { gzipped } from "./gzip.ts";
import type { RequestScope } from "./request-scope.ts";
import { API_HEADERS, JSON_HEADERS } from "./respond.ts";
import type { Handler } from "./rest.ts";
import { createTrpcHandler } from "./trpc.ts";

interface AdminOptions extends Pick<AdminContext, "admin" | "pairings" | "people" | "reports"> {
  /** Undefined: none of the paths exists. */
  readonly token: string | undefined;
  readonly metrics: readonly Metric[];
  readonly bodies: Bodies;
}

/** Null without a token: the paths are then unknown. */
export function createAdminSurface(options: AdminOptions) {
  const { token, admin, pairings, people, reports, metrics, bodies } = options;
  if (token === undefined) return null;
  const authenticate = createAdminAuth(token);
  const registry = createMetrics();
  registry.add(...metrics);

  const admit = (request: Request, scope: RequestScope): void => {
    scope.charges.refuseExhausted();
    if (!authenticate(request.headers.get("authorization"))) fail("unauthorized");
  };

  const showHealth: Handler = async (request, scope) => {
    admit(request, scope);
    const body = JSON.stringify(await admin.health());
    return new Response(body, { headers: { ...JSON_HEADERS, ...API_HEADERS } });
  };

  const showMetrics: Handler = async (request, scope) => {
    admit(request, scope);
    const headers = {
      "content-type": "text/plain; version=0.0.4; charset=utf-8",
      ...API_HEADERS,
    };
    return gzipped(request, new Response(await registry.text(), { headers }));
  };

  const call = createTrpcHandler({
    endpoint: "/admin/trpc",
    router: adminRouter,
    async createContext(scope) {
      scope.charges.refuseExhausted();
      const caller = authenticate(scope.request.headers.get("authorization"));
      // A refusal is not charged to the address of another valid credential.
      if (!caller) await scope.credential.authenticate().catch(() => null);
      return {
        caller,
        admin,
        pairings,
        people,
        reports,
        linkBase: () => scope.linkBase(),
        log: () => scope.log(),
      };
    },
    bodies,
    signer: null,
  });

  return {
    routes: { "/metrics": { GET: showMetrics }, "/admin/health": { GET: showHealth } },
    // The charts poll every few seconds, from phones too.
    trpc: async (scope: RequestScope, path: string) =>
      gzipped(scope.request, await call(scope, path)),
  };
}

/**
 * Returns a function that reads an `Authorization` header; null if it does not have the token. Compares digests, so that
 * the time that it takes tells neither the token nor its length.
 */
function createAdminAuth(token: string) {
  const expected = sha256(token);
  return (header: string | null): AdminCaller | null => {
    const [, sent] = /^bearer +(\S+)$/i.exec(header ?? "") ?? [];
    return sent !== undefined && timingSafeEqual(sha256(sent), expected) ? { kind: "admin" } : null;
  };
}

const sha256 = (text: string) => createHash("sha256").update(text).digest();
