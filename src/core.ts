/** Everything below the surfaces: store, events, waits, services, jobs and notifications. src/app.ts puts HTTP on it. */

import { BackupError } from "../db/backup/backup-files.ts";
import { backupBeforeUpgrade } from "../db/backup/before-upgrade.ts";
import { createOutbox } from "../db/outbox.ts";
import { SIGNING, sharedSecret, storedSecret } from "../db/secrets.ts";
import { OutdatedError } from "../db/store/compatibility.ts";
import { createFaultLog } from "../db/store/faults.ts";
import { openStore } from "../db/store/open.ts";
import { STORE_SECONDS, type Store } from "../db/store/store.ts";
import { RefusedStore } from "../db/store/store-contents.ts";
import { createStoreWatch } from "../db/store/store-watch.ts";
import { createAuth } from "./auth/authenticate.ts";
import { loadAttestationCheck } from "./auth/load-attestation.ts";
import { createTicket, createTickets } from "./auth/tickets.ts";
import type { Clock } from "./clock.ts";
import { type Config, ConfigError } from "./config.ts";
import { cannotOpen, refusedStore } from "./config-files.ts";
import { createFeed } from "./events/feed.ts";
import { createWaiters } from "./events/waiters.ts";
import type { Ids } from "./ids.ts";
import { createBackground } from "./jobs/background.ts";
import { RATES } from "./limits.ts";
import type { Log } from "./log.ts";
import type { Channel } from "./notify/core/channel.ts";
import { codeOf } from "./notify/core/codes.ts";
import { createHostSlots } from "./notify/core/host-slots.ts";
import { connectLanes, createSender } from "./notify/core/sender.ts";
import { createClients } from "./oauth/clients.ts";
import type { Traces } from "./observability/traces.ts";
import { createDirectFetch } from "./outbound/direct-fetch.ts";
import { createOutbound, type OutboundOptions } from "./outbound/guard.ts";
import { createResolver } from "./outbound/resolver.ts";
import type { OwnProgram } from "./own-program.ts";
import { createServices } from "./services/create.ts";
import { createKeyUse } from "./services/key-use.ts";
import { createOpenPages } from "./services/open-pages.ts";
import { createRequestLogWriter } from "./services/request-log.ts";
import { createCommit } from "./services/shared/commit.ts";
import type { ServiceDeps } from "./services/shared/deps.ts";
import { createNotificationPlans } from "./services/shared/notification-plans.ts";
import { createTrialCheck } from "./services/shared/trial.ts";
import { createStorage } from "./services/storage.ts";
import { createSigner } from "./signer.ts";
import { createStoreClock } from "./store-clock.ts";

/** Provided by the process, and replaced in tests. */
export interface AppDeps {
  readonly config: Config;
  /** All notification channels, configured or not. */
  readonly channels: readonly Channel[];
  /** The executable that the server hands out (§5.12.4); none when absent. */
  readonly program?: OwnProgram | null;
  /** This machine's clock, for limits, waits and jobs, and for records as far as the store's agrees. Tests move it. */
  readonly clock: Clock;
  /** Real time, also in tests: for deadlines of the store and of sockets, and for figures of the process. */
  readonly timers: Clock;
  readonly ids: (clock: Clock) => Ids;
  readonly log: Log;
  /** Null or absent without a collector of traces. */
  readonly traces?: Traces | null;
  /** For tests: another name server and certificate authority for requests to addresses that users give. */
  readonly outbound?: Pick<OutboundOptions, "ca" | "resolve">;
  /** For tests: the time of the store's clock in epoch seconds, in place of {@link Store.time}. */
  readonly storeTime?: (() => Promise<number>) | undefined;
  /**
   * Asks the process to stop gracefully and exit with 1, after a fault that it cannot recover from. Returns at once. May
   * be called more than once, and during the start. The reason is logged, so it must hold no content.
   */
  readonly endProcess: (reason: string) => void;
}

export type Core = Awaited<ReturnType<typeof createCore>>;

/** Opens and migrates the store, and follows its events. Throws a `ConfigError` if it cannot. */
export async function createCore(deps: AppDeps) {
  const { config, channels, timers, log, endProcess } = deps;
  const clock = createStoreClock({
    machine: deps.clock,
    read: deps.storeTime ?? (() => store.time()),
    log,
  });
  const ids = deps.ids(clock);
  const traces = deps.traces ?? null;
  const limits_on = config.RATE_LIMITS === "on";
  const check = await loadAttestationCheck(config);
  const { ca, resolve = createResolver({ timers }) } = deps.outbound ?? {};
  const outbound = createOutbound({
    ...(ca !== undefined && { ca }),
    resolve,
    private_networks: config.OUTBOUND_PRIVATE ?? [],
    proxy: config.OUTBOUND_PROXY,
    timers,
  });
  const slots = createHostSlots();
  const lanes = await connectLanes(channels, config, clock, {
    outbound,
    direct: createDirectFetch({ resolve, timers }),
    slots,
  });
  const faults = createFaultLog({ clock: timers, log });
  let new_store: string | null = null;
  const opened = await openStore(
    {
      url: config.DATABASE_URL,
      auth_token: config.DATABASE_AUTH_TOKEN,
      encryption_key: config.DATABASE_ENCRYPTION_KEY,
      created(where) {
        new_store = where;
        log.info("store created", { where });
      },
      beforeUpgrade: () =>
        backupBeforeUpgrade(config, timers, (file) => log.info("backup before upgrade", { file })),
    },
    timers,
    faults.report,
  ).catch((error: unknown) => {
    throw startFault(config.DATABASE_URL, error);
  });
  const storage = createStorage({ store: opened, clock, most: storageBound(config) });
  const { store } = storage;
  // Before any decision depends on the time.
  await clock.compare();
  const store_watch = createStoreWatch({ store, clock: timers, faults, endProcess });
  const secretOf = (name: string, fresh: string) => sharedSecret(store, name, fresh);
  const signing = await secretOf(SIGNING, ids.secret("sig"));
  store.keepTo(await storedSecret(store, SIGNING));
  const signer = createSigner(signing);
  for (const { connection } of lanes) await connection.prepare?.({ secretOf, signer });
  const outbox = createOutbox(store);
  const feed = createFeed({ source: { ...outbox, pollEvery: store.pollEvery }, clock, log });
  const waits = createWaiters({ feed, clock });
  const tickets = createTickets({ store, signer, clock });
  const auth = createAuth({ store, clock, tickets });
  const open_pages = createOpenPages({ store, clock, ids, log });
  const sender = createSender({
    traces,
    config,
    channels,
    lanes,
    store,
    clock,
    timers,
    ids,
    log,
    ticketOf: (of) => createTicket(signer, of),
    codeOf: (of) => codeOf(signer, of),
  });
  const service_deps: ServiceDeps = {
    store,
    storage,
    commit: createCommit({
      store,
      feed,
      clock,
      wakeSender: sender.wake,
      wakeWebhooks: (events) => webhooks.committed(events),
    }),
    notificationPlans: createNotificationPlans({ ...sender, clock }),
    wakeSender: sender.wake,
    waits,
    clock,
    agreedNow: clock.agreedNow,
    ids,
    signer,
    assertLive: auth.assertLive,
    assertPastTrial: createTrialCheck({ store, clock, assertLive: auth.assertLive }),
    settings: {
      push_content: config.PUSH_CONTENT,
      account_creation: config.ACCOUNT_CREATION,
      accounts_per_hour: limits_on ? RATES.accounts.quota : 0,
    },
  };
  const made = createServices({
    ...{
      ...service_deps,
      timers,
      log,
      traces,
      config,
      channels,
      lanes,
      outbound,
      slots,
      tickets,
      sender,
    },
    attestation_check: check,
  });
  const { services, webhooks, reply_reader, start_code, laneHealth } = made;
  const request_log_writer = createRequestLogWriter({ store, clock, ids, log });
  const key_use = createKeyUse({ keys: services.keys, clock, log });

  const background = createBackground({
    ...{ config, services, clock, feed, outbox, timers, log, endProcess },
    deps: service_deps,
  });

  await feed.start();
  store.watch({
    changed: feed.wake,
    // If the store is lost again, the reads of the feed notice it.
    reconnected: () => void feed.newest(STORE_SECONDS).catch(() => {}),
  });

  return {
    store,
    newStore: new_store,
    clock,
    ids,
    storeFaults: faults,
    signer,
    oauth: { clients: createClients(signer), requests: made.requests },
    feed,
    waits,
    auth,
    services,
    sender,
    reply_reader,
    webhooks,
    openPages: open_pages,
    laneHealth,
    requestLogWriter: request_log_writer,
    keyUse: key_use,
    startCode: start_code,
    jobs: background.jobs,
    backups: background.backups,

    /** Starts the background work. */
    start(): void {
      store_watch.start();
      background.start();
      sender.start();
      reply_reader.start();
      webhooks.run();
    },

    /** Ends the waits, and resolves when the background work under way has ended, or was aborted after `seconds`. */
    async stopWork(seconds: number): Promise<void> {
      waits.close();
      store_watch.stop();
      await Promise.all([
        background.stop(),
        key_use.stop(),
        sender.stop(seconds),
        reply_reader.stop(seconds),
        webhooks.stop(seconds),
        open_pages.stop(),
      ]);
    },

    /** Closes what the surfaces need until their last answer: the feed and the store. */
    async close(): Promise<void> {
      feed.stop();
      await storage.stop();
      await store.close();
    },
  };
}

/** Bytes that one account may store; 0: any number. Where anyone can create one, an account may be a stranger's. */
const storageBound = ({ ACCOUNT_STORAGE_MB: megabytes, ACCOUNT_CREATION }: Config): number =>
  (megabytes ?? (ACCOUNT_CREATION === "open" ? 1_000 : 0)) * 1e6;

/** A `ConfigError` for an error of {@link openStore}. */
function startFault(url: string, error: unknown): ConfigError {
  if (error instanceof OutdatedError) return new ConfigError(`DATABASE_URL: ${error.message}`);
  if (error instanceof RefusedStore) return refusedStore(url, error.message);
  if (error instanceof BackupError) {
    return new ConfigError(`The backup before the upgrade failed: ${error.message}`);
  }
  return cannotOpen(url, error);
}
