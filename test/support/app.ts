/** A whole Relay in this process, on a real store and a real port. */

import { afterAll } from "bun:test";
import { type App, startApp } from "../../src/app.ts";
import { type Clock, systemClock } from "../../src/clock.ts";
import { readConfig } from "../../src/config.ts";
import type { AppDeps } from "../../src/core.ts";
import { createIds } from "../../src/ids.ts";
import { createLog } from "../../src/log.ts";
import type { Channel } from "../../src/notify/core/channel.ts";
import { CHANNELS } from "../../src/notify/registry.ts";
import type { OwnProgram } from "../../src/own-program.ts";
import { PATIENT } from "./clock.ts";
import { createTestStore } from "./store.ts";

export interface TestApp extends App {
  /** Every log line so far. */
  readonly lines: string[];
  /** Reasons for which it asked the process to end. */
  readonly endings: string[];
}

interface AppOptions {
  readonly clock?: Clock;
  /** For deadlines of requests and connections; {@link PATIENT} when absent. */
  readonly timers?: Clock;
  /** A new store when absent. */
  readonly database_url?: string;
  readonly env?: Record<string, string>;
  /** The name server and the certificate authority for requests to addresses that users give. */
  readonly outbound?: AppDeps["outbound"];
  /** Channels in addition to the real ones. */
  readonly channels?: readonly Channel[];
  /** Channels in the place of the real ones. */
  readonly only?: readonly Channel<any, any>[];
  /** The executable that it hands out; none when absent. */
  readonly program?: OwnProgram;
  /** Replaces randomness, for exact back-off: at least 0 and below 1. */
  readonly jitter?: () => number;
  /** The store's time; when absent, that of the test clock, if there is one. */
  readonly storeTime?: (() => Promise<number>) | "of the store";
}

/** Starts Relay. It stops with the file if called at the top of a file, and with the test if called in a test. */
export async function startTestApp(options: AppOptions = {}): Promise<TestApp> {
  const { clock = systemClock, database_url, env, jitter, channels = [] } = options;
  const lines: string[] = [];
  const endings: string[] = [];
  const config = readConfig({
    PORT: "0",
    DATABASE_URL: database_url ?? (await createTestStore()).url,
    LOG_LEVEL: "debug",
    RATE_LIMITS: "off",
    // For the receivers of tests.
    OUTBOUND_PRIVATE: "127.0.0.0/8",
    DRAIN_SECONDS: "0",
    ...env,
  });
  const log = createLog(config.LOG_LEVEL, (line) => lines.push(line));
  const app = await startApp({
    config,
    channels: options.only ?? [...CHANNELS, ...channels],
    ...(options.program && { program: options.program }),
    clock,
    timers: options.timers ?? PATIENT,
    ids: (clock) => ({ ...createIds(clock), ...(jitter && { jitter }) }),
    log,
    storeTime:
      clock === systemClock || options.storeTime === "of the store"
        ? undefined
        : (options.storeTime ?? (async () => clock.now())),
    endProcess: (reason) => endings.push(reason),
    ...(options.outbound && { outbound: options.outbound }),
  });
  afterAll(() => app.stop());
  return { ...app, lines, endings };
}

/**
 * Processes that share what is given, such as a store and a clock. A test that waits until something was sent waits for
 * all of them, since any may claim what is due.
 */
export function createProcesses(shared: AppOptions) {
  const apps: TestApp[] = [];
  return {
    apps,
    async start(own: AppOptions = {}): Promise<TestApp> {
      const app = await startTestApp({ ...shared, ...own });
      apps.push(app);
      return app;
    },
    /** Resolves when none runs a job, sends a notification or sends to a webhook. */
    async settled(): Promise<void> {
      for (const { jobs } of apps) await jobs.settled();
      await Promise.all(
        apps.flatMap(({ sender, webhooks }) => [sender.settled(), webhooks.settled()]),
      );
    },
  };
}
