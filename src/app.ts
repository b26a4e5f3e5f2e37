/** The composition root: makes the parts, joins them, starts and stops them in order. */

import { pruneChallenges } from "../db/challenges.ts";
import { assertCompatible, OutdatedError } from "../db/compatibility.ts";
import { pruneCreations } from "../db/creations.ts";
import { createSweeper } from "../db/deletions.ts";
import { createFaultLog } from "../db/faults.ts";
import { pruneIdempotency } from "../db/idempotency.ts";
import { expireDeliveries, pruneDeliveryRecords } from "../db/notify/records.ts";
import { openStore } from "../db/open.ts";
import { createOutbox } from "../db/outbox.ts";
import { createActivityPruner, createQuestionPruner } from "../db/retention.ts";
import { sharedSecret } from "../db/secrets.ts";
import type { Store } from "../db/store.ts";
import { createStoreWatch } from "../db/store-watch.ts";
import { appRouter, procedures } from "../routers/index.ts";
import { APPLE_APP_ATTEST_ROOT } from "./auth/apple-root.ts";
import { createAuth } from "./auth/authenticate.ts";
import { createLimiter } from "./auth/limiter.ts";
import type { Clock } from "./clock.ts";
import { systemClock } from "./clock.ts";
import { type Config, ConfigError, cannotUse } from "./config.ts";
import { createFeed } from "./events/feed.ts";
import { createWaiters } from "./events/waiters.ts";
import { createHeavyWork } from "./heavy-work.ts";
import { createAddresses } from "./http/address.ts";
import { createAdminSurface } from "./http/admin.ts";
import { createBodies } from "./http/body.ts";
import { createContextFactory } from "./http/context.ts";
import { createCors } from "./http/cors.ts";
import { createDeadlines } from "./http/deadlines.ts";
import { createHealth } from "./http/health.ts";
import { createMcp } from "./http/mcp.ts";
import { createDocs } from "./http/openapi/docs.ts";
import { createDocument } from "./http/openapi/document.ts";
import { createPages } from "./http/pages/pages.ts";
import { createProblemPages } from "./http/pages/problems.ts";
import { createFormCheck } from "./http/request-form.ts";
import { createRequestScopes } from "./http/request-scope.ts";
import { JSON_HEADERS } from "./http/respond.ts";
import { createRestRoutes } from "./http/rest.ts";
import { startServer } from "./http/server.ts";
import { createSourceCheck } from "./http/source.ts";
import { createStreams } from "./http/stream.ts";
import { createTrpcHandler } from "./http/trpc.ts";
import { createUnsentAnswers } from "./http/unsent-answers.ts";
import type { Ids } from "./ids.ts";
import { createEventPruner } from "./jobs/event-pruner.ts";
import { createJobs } from "./jobs/jobs.ts";
import { createRunner } from "./jobs/runner.ts";
import { LIMITS, RATES } from "./limits.ts";
import type { Log } from "./log.ts";
import { createTools } from "./mcp/tools.ts";
import type { Channel } from "./notify/channel.ts";
import { connectLanes, createSender } from "./notify/sender.ts";
import { createMonitor } from "./observability/monitor.ts";
import { createServiceMetrics } from "./observability/service-metrics.ts";
import { createAccounts } from "./services/accounts.ts";
import { createActivity } from "./services/activity.ts";
import { createActivityLog } from "./services/activity-log.ts";
import { type AdminDeps, createAdmin } from "./services/admin.ts";
import { createAttestations } from "./services/attestations.ts";
import { createCommit } from "./services/commit.ts";
import type { ServiceDeps } from "./services/deps.ts";
import { createDevices } from "./services/devices.ts";
import { createInbox } from "./services/inbox.ts";
import { createKeyActivity } from "./services/key-activity.ts";
import { createKeys } from "./services/keys.ts";
import { createLiveActivities } from "./services/live-activities.ts";
import { createPushPlans } from "./services/push-plans.ts";
import { createPushStatus } from "./services/push-status.ts";
import { createQuestions } from "./services/questions.ts";
import { createTasks } from "./services/tasks.ts";
import { createSigner } from "./signer.ts";
import { VERSION } from "./version.ts";

interface AppDeps {
  readonly config: Config;
  /** All that there are, configured or not. */
  readonly channels: readonly Channel[];
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  /** The time at the store in epoch seconds; null where that is this machine's own. */
  readonly storeTime: (store: Store) => Promise<number | null>;
  /**
   * Asks for the end of the process, for a reason that no request can mend: stop gracefully, exit
   * with 1. Returns at once, may be called more than once and while the start is under way. The
   * reason is logged, so it holds no content.
   */
  readonly endProcess: (reason: string) => void;
}

export type App = Awaited<ReturnType<typeof startApp>>;

/** Seconds that requests under way get at a stop before their connections are cut. */
const DRAIN = 10;

/** Opens and migrates the store, then listens. Throws when either cannot be done. */
export async function startApp(app_deps: AppDeps) {
  const { config, channels, clock, ids, log, storeTime, endProcess } = app_deps;
  const tools = createTools(procedures);
  const check = await loadAttestationCheck(config);
  const lanes = await connectLanes(channels, config, clock);
  const faults = createFaultLog({ clock: systemClock, log });
  const store = await openStore(
    { url: config.DATABASE_URL, auth_token: config.DATABASE_AUTH_TOKEN },
    systemClock,
    faults.report,
  ).catch((error: unknown) => {
    if (error instanceof OutdatedError) throw new ConfigError(`DATABASE_URL: ${error.message}`);
    throw cannotUse("DATABASE_URL", "the store cannot be opened", error);
  });
  const store_watch = createStoreWatch({
    store,
    clock: systemClock,
    report: faults.report,
    endProcess,
  });
  const signer = createSigner(await sharedSecret(store, "signing", ids.secret("sig")));
  const outbox = createOutbox(store);
  const feed = createFeed({ source: { ...outbox, pollEvery: store.pollEvery }, clock, log });
  const waits = createWaiters({ feed, clock });
  const auth = createAuth({ store, clock });
  const sender = createSender({ config, lanes, store, clock, ids, log });
  const wakeSender = sender.wake;
  const deps: ServiceDeps = {
    store,
    commit: createCommit({ store, feed, clock, wakeSender }),
    pushPlans: createPushPlans({ lanesFor: sender.lanesFor, clock }),
    wakeSender,
    waits,
    clock,
    ids,
    signer,
    assertLive: auth.assertLive,
    settings: {
      account_creation: config.ACCOUNT_CREATION === "open",
      accounts_per_hour: config.RATE_LIMITS === "on" ? RATES.accounts.quota : 0,
    },
  };
  const keys = createKeys(deps);
  const tasks = createTasks({ ...deps, keys });
  const attestations = createAttestations({ ...deps, check, log });
  const services = {
    keys,
    accounts: createAccounts({ ...deps, attestations }),
    attestations,
    devices: createDevices(deps),
    tasks,
    questions: createQuestions({ ...deps, keys }),
    inbox: createInbox({ ...deps, keys, tasks }),
    liveActivities: createLiveActivities(deps),
    pushStatus: createPushStatus({ store, health: sender.health }),
    activity: createActivity({ ...deps, keys }),
  };
  /** The earlier of the two clocks: one that is ahead must not remove what others still need. */
  const retentionTime = async () => Math.min(clock.now(), (await storeTime(store)) ?? Infinity);
  const activity_log = createActivityLog({ store, clock, ids, log });
  const usage = createKeyActivity({ keys, clock, log });
  const runner = createRunner({
    jobs: createJobs({
      questions: services.questions,
      tasks: services.tasks,
      inbox: services.inbox,
      task_retention_days: config.TASK_RETENTION_DAYS,
      pruneQuestions: createQuestionPruner(store),
      pruneActivity: createActivityPruner(store),
      pruneCreations: (before, limit) => pruneCreations(store, before, limit),
      pruneEvents: createEventPruner({ outbox, clock }),
      pruneIdempotency: (before, limit) => pruneIdempotency(store, before, limit),
      pruneChallenges: (now, limit) => pruneChallenges(store, now, limit),
      deleteStep: createSweeper(store, clock),
      expireDeliveries: (now, limit) => expireDeliveries(store, now, limit),
      pruneDeliveryRecords: (before, limit) => pruneDeliveryRecords(store, before, limit),
      checkVersion: () =>
        assertCompatible(store).catch((error: unknown) => {
          if (!(error instanceof OutdatedError)) throw error;
          endProcess(error.message);
        }),
    }),
    clock,
    retentionTime,
    log,
  });
  const streams = createStreams({ auth, feed, clock });
  const origins = config.CORS_ORIGINS ?? [];
  const source = createSourceCheck({ public_url: () => url, origins });
  const createContext = createContextFactory({
    services,
    isForeign: source.isForeign,
    recordUse: usage.record,
  });
  const limiter = createLimiter({ clock, on: config.RATE_LIMITS === "on" });
  const monitor = createMonitor({
    clock,
    streams,
    waits,
    pushLanes: sender.health,
    look: () => admin.look(),
    log,
  });
  const unsent = createUnsentAnswers({
    closeIdle: (request, seconds) => server.timeout(request, seconds),
  });
  const openScope = createRequestScopes({
    auth,
    limiter,
    unsent,
    addresses: createAddresses({
      trusted_hops: config.TRUST_PROXY,
      socketOf: (request) => server.requestIP(request)?.address ?? null,
      log,
    }),
    clock,
    waits: monitor.meter.waits,
    deadlines: createDeadlines(systemClock, LIMITS.request_answer),
    heavy_work: createHeavyWork(systemClock),
    record: activity_log.record,
    creationsOf: services.accounts.creationsOf,
  });

  const cors = createCors(origins);
  const bodies = createBodies({ clock });

  await feed.start();
  store.watch(feed.wake);

  const mcp = createMcp({
    tools,
    createContext,
    bodies,
    foreignSource: source.refusal,
    recordClient: usage.recordClient,
    signer,
    clock,
    ids,
    log,
    version: VERSION,
  });

  const admin_deps: AdminDeps = {
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
    activityStats: activity_log.stats,
    jobStats: runner.stats,
    pushLanes: sender.health,
    channelOf: (lane) => channels.find(({ lanes }) => lanes.includes(lane))?.name ?? null,
    pushStatus: services.pushStatus,
    storeFaults: faults.totals,
  };
  const admin = createAdmin(admin_deps);
  const admin_surface = createAdminSurface({
    token: config.ADMIN_TOKEN,
    admin,
    metrics: [...monitor.metrics, unsent.metric, ...createServiceMetrics(admin, admin_deps)],
    bodies,
    log,
  });

  let openapi = "";
  const listen = () =>
    startServer({
      hostname: config.HOST,
      port: config.PORT,
      log,
      openScope,
      cors,
      meter: monitor.meter,
      checkForm: createFormCheck(source),
      https: config.PUBLIC_URL?.startsWith("https:") ?? false,
      trpc: createTrpcHandler({
        endpoint: "/trpc",
        router: appRouter,
        createContext: (scope) => createContext(scope, null, false),
        bodies,
        signer,
        log,
      }),
      procedures: [...procedures.keys()],
      adminTrpc: admin_surface?.trpc ?? null,
      routes: createRestRoutes({
        procedures,
        createContext,
        openScope,
        bodies,
        cors,
        log,
        clock,
        signer,
        extra: {
          "/v1/events": {
            GET: (request, scope) => streams.open(scope, () => server.timeout(request, 1)),
          },
          ...createDocs(),
          ...createProblemPages(),
          ...createPages({
            public_url: config.PUBLIC_URL?.replace(/\/$/, ""),
            admin: config.ADMIN_TOKEN !== undefined,
          }),
          ...admin_surface?.routes,
          "/mcp": { POST: mcp },
          "/health": {
            GET: createHealth({
              probe: () => outbox.latest(LIMITS.health_answer),
              usable: store.usable,
              version: VERSION,
            }),
          },
          "/v1/openapi.json": {
            GET: async () => new Response(openapi, { headers: JSON_HEADERS }),
          },
        },
      }),
    });
  let server: ReturnType<typeof listen>;
  try {
    server = listen();
  } catch (error) {
    feed.stop();
    await store.close();
    throw cannotUse("HOST and PORT", "cannot listen there", error);
  }
  const url = (config.PUBLIC_URL ?? server.url.origin).replace(/\/$/, "");
  openapi = JSON.stringify(createDocument({ router: appRouter, version: VERSION, base_url: url }));
  store_watch.start();
  runner.start();
  sender.start();
  monitor.start();

  let stopping: Promise<void> | undefined;
  const stop = async () => {
    // Refuse new -> end streams -> resolve waiters -> stop jobs -> drain -> write the activity log
    // -> close the store.
    const drained = server.stop();
    streams.close();
    waits.close();
    monitor.stop();
    store_watch.stop();
    await Promise.all([runner.stop(), usage.stop(), sender.stop()]);
    const cut = systemClock.after(DRAIN, () => void server.stop(true));
    await drained;
    cut();
    await activity_log.stop();
    feed.stop();
    await store.close();
  };

  return {
    /** Address shown to clients, without a trailing slash. */
    url,
    /** Address this process listens on. */
    local_url: server.url.origin,
    services,
    feed,
    waits,
    streams,
    jobs: { settled: runner.settled },
    sender,
    /** Ends gracefully; a second call waits for the first. */
    stop: (): Promise<void> => (stopping ??= stop()),
  };
}

/** Null while none is required: its parsers are then not even loaded. */
async function loadAttestationCheck(config: Config) {
  const { ATTEST, ATTEST_APP_ID: app_id, ATTEST_ROOT_CA_FILE: file } = config;
  if (ATTEST === "off" || app_id === undefined) return null;
  const { createAttestationCheck } = await import("./auth/attestation.ts");
  try {
    const root = file === undefined ? APPLE_APP_ATTEST_ROOT : await Bun.file(file).text();
    return createAttestationCheck({ app_id, root });
  } catch (error) {
    throw cannotUse("ATTEST_ROOT_CA_FILE", "is no file with a certificate", error);
  }
}
