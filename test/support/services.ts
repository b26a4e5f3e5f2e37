/** One process's services on a test store, which counts reads and can hold or break writes. */

import { afterAll } from "bun:test";
import { createOutbox } from "../../db/outbox.ts";
import { openStore } from "../../db/store/open.ts";
import { sql } from "../../db/store/sql.ts";
import { statement } from "../../db/store/statement.ts";
import { type Statement, type Store, unavailable, type WriteResult } from "../../db/store/store.ts";
import { createAuth } from "../../src/auth/authenticate.ts";
import { createTickets } from "../../src/auth/tickets.ts";
import { systemClock } from "../../src/clock.ts";
import { createFeed } from "../../src/events/feed.ts";
import { createWaiters } from "../../src/events/waiters.ts";
import { createIds } from "../../src/ids.ts";
import { createLog } from "../../src/log.ts";
import type { Caller } from "../../src/model/caller.ts";
import type { ServiceEvent } from "../../src/model/event.ts";
import { createInbox } from "../../src/services/inbox.ts";
import { createKeys } from "../../src/services/keys.ts";
import { createQuestions } from "../../src/services/questions.ts";
import { createCommit } from "../../src/services/shared/commit.ts";
import { createNotificationPlans } from "../../src/services/shared/notification-plans.ts";
import { createStorage } from "../../src/services/storage.ts";
import { createTasks } from "../../src/services/tasks.ts";
import { createSigner } from "../../src/signer.ts";

/**
 * The fate of a write: `refused` is not written, `lost` is written and its response lost (both
 * `503`), `faulty` has a bad statement.
 */
export type Fault = "refused" | "lost" | "faulty";

const bad = statement(sql`insert into tasks (id) values (null)`);

/** Opens the store at `url` once more, like another process. */
export async function openServices(url: string) {
  const clock = systemClock;
  const ids = createIds(clock);
  const log = createLog("error", () => {});
  const real = await openStore({ url, auth_token: undefined }, clock);
  afterAll(() => real.close());
  const outbox = createOutbox(real);
  let faults: (Fault | null)[] = [];
  let gate: Promise<void> | null = null;
  let writes = 0;
  let reading = 0;
  let round_trips = 0;
  let afterRead = async (): Promise<void> => {};

  const send = (statements: readonly Statement[]): Promise<WriteResult[]> => {
    const fault = faults.shift() ?? null;
    if (fault === null) return real.write(statements);
    if (fault === "refused") return Promise.reject(unavailable("refused by the test"));
    if (fault === "faulty") return real.write([...statements, bad({})]);
    return real.write(statements).then(() => {
      throw unavailable("lost by the test");
    });
  };
  const store: Store = {
    ...real,
    async read(statement, options) {
      // Reads that begin together share a round trip of a libSQL server.
      if (reading++ === 0) round_trips++;
      try {
        return await real.read(statement, options);
      } finally {
        reading--;
        const hook = afterRead;
        afterRead = async () => {};
        await hook();
      }
    },
    write(statements) {
      writes++;
      return gate ? gate.then(() => send(statements)) : send(statements);
    },
  };
  const tickets = createTickets({ store, signer: createSigner("test"), clock });
  const auth = createAuth({ store, clock, tickets });
  const feed = createFeed({ source: { ...outbox, pollEvery: real.pollEvery }, clock, log });
  await feed.start();
  afterAll(() => feed.stop());
  const deps = {
    store,
    storage: createStorage({ store, clock, most: 0 }),
    commit: createCommit({ store, feed, clock, wakeSender() {}, wakeWebhooks() {} }),
    notificationPlans: createNotificationPlans({
      lanesFor: () => [],
      replacingLanes: () => [],
      clock,
    }),
    wakeSender() {},
    wakeWebhooks() {},
    waits: createWaiters({ feed, clock }),
    clock,
    agreedNow: clock.now,
    ids,
    signer: createSigner("test"),
    assertLive: auth.assertLive,
    async assertPastTrial() {},
    settings: {
      account_creation: "off" as const,
      accounts_per_hour: 0,
      push_content: "full" as const,
    },
  };
  const keys = createKeys(deps);
  const tasks = createTasks({ ...deps, keys });
  return {
    keys,
    tasks,
    questions: createQuestions({ ...deps, keys }),
    inbox: createInbox({ ...deps, keys, tasks }),
    waits: deps.waits,
    /** Resolves once every event committed so far has been delivered here. */
    caughtUp: feed.caughtUp,
    store: real,
    /** Round trips of reads so far. */
    roundTrips: () => round_trips,
    /** Runs once, after the next read has its rows and before its caller gets them. */
    afterNextRead(hook: () => Promise<void>): void {
      afterRead = hook;
    },
    /** Batches given to the store so far. */
    writes: () => writes,
    async callerOf(credential: string): Promise<Caller> {
      const found = await auth.authenticate(`Bearer ${credential}`);
      if (!found || found.caller.kind === "ticket") throw new Error("no such credential");
      return found.caller;
    },
    /** The fates of the next writes, in order; null: an ordinary write. */
    breakWrites(next: readonly (Fault | null)[]): void {
      faults = [...next];
    },
    /** Keeps writes from the store until the returned function is called. */
    holdWrites(): () => void {
      const { promise, resolve } = Promise.withResolvers<void>();
      gate = promise;
      return () => {
        gate = null;
        resolve();
      };
    },
    /** The events of a task in the store, in the order of their commits. */
    async eventsOf(task_id: string): Promise<ServiceEvent[]> {
      const found: ServiceEvent[] = [];
      for (let seq = 0; ; ) {
        const page = await outbox.after(seq, 500);
        if (page.length === 0) return found;
        for (const { subject, name, data, account_id } of page) {
          if (subject !== task_id) continue;
          found.push({ name, account_id, subject, data: JSON.parse(data) } as ServiceEvent);
        }
        seq = page.at(-1)!.seq;
      }
    },
  };
}
