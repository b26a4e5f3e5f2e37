/** The surfaces: puts HTTP on a core, listens, and stops both in order. */

import { folderOfStore } from "../db/store/open.ts";
import { appRouter, procedures } from "../routers/index.ts";
import { mcpOnlyProcedures } from "../routers/mcp-only.ts";
import { cannotListen } from "./config-files.ts";
import { type AppDeps, type Core, createCore } from "./core.ts";
import { createAdminSurface } from "./http/admin.ts";
import { createBaseAddresses } from "./http/base-address.ts";
import { createBodies } from "./http/body.ts";
import { createClientAddresses } from "./http/client-address.ts";
import { createContextFactory } from "./http/context.ts";
import { createCors } from "./http/cors.ts";
import { createDownloads } from "./http/downloads.ts";
import { createHealth, live } from "./http/health.ts";
import { createMcp } from "./http/mcp.ts";
import { pathOf, withChallenge } from "./http/oauth/metadata.ts";
import { createOAuthRoutes } from "./http/oauth/routes.ts";
import { createDocs } from "./http/openapi/docs.ts";
import { createDocument } from "./http/openapi/document.ts";
import { createPages } from "./http/pages/pages.ts";
import { createProblemPages } from "./http/pages/problems.ts";
import { createRequestIds } from "./http/request-id.ts";
import { createRequestScopes } from "./http/request-scope.ts";
import { JSON_HEADERS } from "./http/respond.ts";
import { createRestRoutes } from "./http/rest.ts";
import { createHstsRule } from "./http/security.ts";
import { PER_TURN, startServer } from "./http/server.ts";
import { createSourceCheck } from "./http/source-check.ts";
import { createStop } from "./http/stop.ts";
import { createStreams } from "./http/stream.ts";
import { loadTls, type Tls, warnOfExpiry } from "./http/tls.ts";
import { createTrpcHandler } from "./http/trpc.ts";
import type { Log } from "./log.ts";
import { createTools } from "./mcp/tools.ts";
import { createDiskSpace } from "./observability/disk-space.ts";
import { createMonitor } from "./observability/monitor.ts";
import { createRecentFaults, type RecentFaults } from "./observability/recent-faults.ts";
import { createServiceMetrics } from "./observability/service-metrics.ts";
import type { Traces } from "./observability/traces.ts";
import { createDeadlines } from "./overload/deadlines.ts";
import { createHeavyWork } from "./overload/heavy-work.ts";
import { createLimiter } from "./overload/limiter.ts";
import { createTurns } from "./overload/turns.ts";
import { createUnsentAnswers } from "./overload/unsent-answers.ts";
import { createAdmin } from "./services/admin.ts";
import { createAdminHealth } from "./services/admin-health.ts";
import { createKeptMinutes } from "./services/kept-minutes.ts";
import { createQuestionReports } from "./services/question-report.ts";
import { createStoreStatistics } from "./services/store-statistics.ts";
import { VERSION } from "./version.ts";

/**
 * Seconds from the arrival of a request until it is `503`, however many calls of the store it makes
 * (§11.4.1: within 5). A request that waits for something has its own time.
 */
const REQUEST_SECONDS = 4.7;
/** Seconds for what `GET /health` reads: it answers within 2. */
const HEALTH_SECONDS = 1.5;

export type App = Awaited<ReturnType<typeof startApp>>;

/** Seconds in which requests are still served at a stop behind a proxy, until it sends them elsewhere. */
const DRAIN_BEHIND_PROXY = 5;
/** Opens and migrates the store, then listens. Throws a `ConfigError` if it cannot. */
export async function startApp(given: AppDeps) {
  const tls = await loadTls(given.config);
  const faults = createRecentFaults(given.clock);
  const log = faults.watch(given.log);
  const deps = { ...given, log, traces: await openTraces(given, log) };
  if (tls) warnOfExpiry(tls, deps.clock.now(), deps.log);
  return createApp(await createCore(deps), deps, { tls, faults });
}

/** Null without a collector: then nothing of it is loaded. */
async function openTraces(
  { config, clock, timers, ids }: AppDeps,
  log: Log,
): Promise<Traces | null> {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: base, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: url } = config;
  if (base === undefined && url === undefined) return null;
  const { createTraces } = await import("./observability/traces.ts");
  return createTraces({ config, clock, timers, log, ids: ids(clock) });
}

interface AppOptions {
  readonly tls?: Tls | null;
  readonly faults?: RecentFaults;
  /** For a server that several cores share: binds the surfaces in place of a port of their own. */
  readonly listen?: typeof startServer;
}

/** Puts every surface on the core, listens, and starts the background work. */
export async function createApp(
  core: Core,
  deps: AppDeps,
  { tls = null, faults = createRecentFaults(deps.clock), listen = startServer }: AppOptions = {},
) {
  const { config, channels, program = null, timers, log, traces = null } = deps;
  const { store, clock, ids, signer, feed, waits, auth, services, sender, reply_reader } = core;
  const origins = config.CORS_ORIGINS ?? [];
  const cors = createCors(origins);
  const base_addresses = createBaseAddresses({
    public_url: config.PUBLIC_URL,
    allowed_hosts: config.ALLOWED_HOSTS ?? [],
    listen_host: config.HOST,
    port: () => server.port!,
    tls: tls !== null,
    trusted_hops: config.TRUST_PROXY,
  });
  const { hostRefusal } = base_addresses;
  const source = createSourceCheck({ public_url: () => url, origins, hostRefusal });
  const bodies = createBodies({ clock });
  const limiter = createLimiter({ clock, on: config.RATE_LIMITS === "on" });
  const streams = createStreams({
    auth,
    feed,
    pages: core.openPages,
    clock,
    isForeign: source.isForeign,
    recordUse: (usage) => void core.keyUse.record(usage, null),
    hurry: (request) => server.timeout(request, 1),
  });
  const unsent = createUnsentAnswers({
    closeIdle: (request, seconds) => server.timeout(request, seconds),
  });

  const statistics = createStoreStatistics({
    store,
    clock,
    deliveryFigures: services.deliveryFigures,
  });
  const kept_minutes = createKeptMinutes({ store, clock, ids });
  const monitor = createMonitor({
    clock,
    timers,
    streams,
    waits,
    laneHealth: core.laneHealth,
    readStoreGauges: statistics.gauges,
    // Only the administrator sees them.
    onMinute: config.ADMIN_TOKEN === undefined ? undefined : kept_minutes.keep,
    log,
  });
  const figures = {
    version: VERSION,
    store,
    clock,
    feed,
    streams,
    waits,
    series: monitor.series,
    processStats: monitor.processStats,
    requestsInFlight: monitor.meter.inFlight,
    rateLimited: limiter.refused,
    requestLogStats: core.requestLogWriter.stats,
    jobStats: core.jobs.stats,
    laneHealth: core.laneHealth,
    reply_reader,
    storeFaults: core.storeFaults,
    clockAhead: clock.ahead,
    certificateEnds: tls?.expires_at ?? null,
    disk: createDiskSpace(folderOfStore(config.DATABASE_URL), timers),
    backups: core.backups,
  };
  const channelOf = (lane: string): string | null =>
    channels.find(({ lanes }) => lanes.includes(lane))?.name ??
    (lane === core.webhooks.lane ? lane : null);
  const admin = createAdmin({
    ...figures,
    keptMinutes: kept_minutes,
    health: createAdminHealth({
      ...figures,
      statistics,
      otherHost: base_addresses.otherHost,
      channelOf,
      titleOf: (channel) => channels.find(({ name }) => name === channel)?.title,
      faults,
    }),
    channelOf,
    channelNames: channels.map(({ name }) => name),
    statistics,
  });
  const admin_surface = createAdminSurface({
    token: config.ADMIN_TOKEN,
    admin,
    pairings: services.pairings,
    people: services.people,
    reports: createQuestionReports({ store, clock, channelOf, laneHealth: core.laneHealth }),
    metrics: [
      ...monitor.metrics,
      unsent.metric,
      ...(traces?.metrics ?? []),
      ...createServiceMetrics({ ...figures, readings: admin }),
    ],
    bodies,
  });

  const request_turns = createTurns(PER_TURN);
  const request_ids = createRequestIds({ behind_proxy: config.TRUST_PROXY > 0, ids });
  const openScope = createRequestScopes({
    request_turns,
    request_ids,
    log,
    auth,
    limiter,
    unsent,
    addresses: createClientAddresses({
      trusted_hops: config.TRUST_PROXY,
      socketOf: (request) => server.requestIP(request)?.address ?? null,
    }),
    clock,
    waits: monitor.meter.waits,
    deadlines: createDeadlines(timers, REQUEST_SECONDS),
    heavy_work: createHeavyWork(timers),
    record: core.requestLogWriter.record,
    creationsOf: services.accounts.creationsOf,
    isInvitation: services.people.isInvitation,
    linkBaseOf: base_addresses.best,
  });
  const createContext = createContextFactory({
    services,
    isForeign: source.isForeign,
    recordUse: core.keyUse.record,
    noteAddress: base_addresses.note,
  });
  const mcp = createMcp({
    tools: createTools(new Map([...procedures, ...mcpOnlyProcedures])),
    createContext,
    bodies,
    foreignSource: source.refusal,
    recordClient: core.keyUse.recordClient,
    signer,
    clock,
    ids,
    version: VERSION,
  });

  /** Made at the first request, so that the start does not wait for it. */
  let document: string | undefined;
  const openapi = (): string =>
    (document ??= JSON.stringify(
      createDocument({ router: appRouter, version: VERSION, base_url: url }),
    ));
  const surfaces: Parameters<typeof startServer>[0] = {
    hostname: config.HOST,
    port: config.PORT,
    log,
    openScope,
    requestIds: request_ids,
    turns: request_turns,
    cors,
    meter: monitor.meter,
    checkForm: source.formFault,
    stopping: () => stopping !== undefined,
    tls,
    traces,
    // A page compares it with the times of records.
    date: () => (clock.corrected() === 0 ? null : new Date(clock.now() * 1000).toUTCString()),
    sendsHsts: createHstsRule(config.PUBLIC_URL, tls),
    trpc: createTrpcHandler({
      endpoint: "/trpc",
      router: appRouter,
      createContext: (scope) => createContext(scope, null, false),
      bodies,
      signer,
    }),
    procedures: [...procedures.keys()],
    adminTrpc: admin_surface?.trpc ?? null,
    routes: createRestRoutes({
      procedures,
      createContext,
      bodies,
      cors,
      signer,
      clock,
      extra: {
        "/v1/events": { GET: (_, scope) => streams.open(scope) },
        ...createDocs(),
        ...createProblemPages(),
        ...createDownloads(program),
        ...createPages({
          program,
          public_url: config.PUBLIC_URL?.replace(/\/$/, ""),
          account_creation: config.ACCOUNT_CREATION,
          hadFirstAccount: core.startCode.isUsed,
          devices: core.sender.lanesFor("start").length > 0,
          admin: config.ADMIN_TOKEN !== undefined,
        }),
        ...admin_surface?.routes,
        ...createOAuthRoutes({
          addresses: base_addresses,
          ...core.oauth,
          grants: services.grants,
          bodies,
          client_documents: config.PUBLIC_URL?.startsWith("https:") ?? false,
          public_path: pathOf(config.PUBLIC_URL ?? "http://localhost"),
          clock,
        }),
        "/mcp": { POST: withChallenge(mcp, base_addresses) },
        "/health": {
          GET: createHealth({
            probe: () => feed.newest(HEALTH_SECONDS),
            usable: store.usable,
            stopping: () => stopping !== undefined,
            problems: () => [
              ...(store.isOther() ? (["other_store"] as const) : []),
              ...(store.writeLock() ? (["write_lock_held"] as const) : []),
              ...(clock.differs() ? (["clock_differs"] as const) : []),
            ],
            version: VERSION,
          }),
        },
        "/health/live": { GET: live },
        "/v1/openapi.json": {
          GET: async () => new Response(openapi(), { headers: JSON_HEADERS }),
        },
      },
    }),
  };
  let server: ReturnType<typeof startServer>;
  try {
    server = listen(surfaces);
  } catch (error) {
    await core.close();
    throw await cannotListen(config.HOST, error);
  }
  const url = (config.PUBLIC_URL ?? server.url.origin).replace(/\/$/, "");
  core.start();
  monitor.start();

  let stopping: Promise<void> | undefined;
  const stop = createStop({
    server,
    endStreams: streams.close,
    stopMonitor: monitor.stop,
    stopWork: core.stopWork,
    async closeStore() {
      await core.requestLogWriter.stop();
      await core.close();
    },
    usable: store.usable,
    traces,
    timers,
    log,
  });

  return {
    /** The address for clients, without a trailing slash. */
    url,
    /** The address that this process listens on. */
    local_url: server.url.origin,
    baseAddresses: base_addresses,
    /** The place of the store if this start created it; null if it found one. */
    newStore: core.newStore,
    /** The code that creates the first account; null if none is to be created that way. */
    startCode: async () => (config.ACCOUNT_CREATION === "first" ? core.startCode.current() : null),
    services,
    feed,
    waits,
    streams,
    jobs: core.jobs,
    backups: core.backups,
    sender,
    reply_reader,
    webhooks: core.webhooks,
    openPages: core.openPages,
    unsent,
    /**
     * Stops gracefully: serves requests for `drain` seconds (of the configuration when absent), while `/health` says
     * that it stops, then ends streams and waits. A second call waits for the first.
     */
    stop: (
      drain = config.DRAIN_SECONDS ?? (config.TRUST_PROXY > 0 ? DRAIN_BEHIND_PROXY : 0),
    ): Promise<void> => (stopping ??= stop(drain)),
  };
}
