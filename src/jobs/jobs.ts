/** The background jobs of the service: what runs, and how often. */

import { pruneCreations } from "../../db/account-creations.ts";
import { pruneChallenges } from "../../db/challenges.ts";
import { pruneEndedTokens } from "../../db/credentials.ts";
import { createSweeper } from "../../db/deletions.ts";
import { pruneIdempotency } from "../../db/idempotency.ts";
import { boundDueTimes } from "../../db/notify/due-times.ts";
import { expireDeliveries, pruneDeliveryRecords } from "../../db/notify/records.ts";
import { createMessagePruner, pruneLinks, pruneReplies } from "../../db/notify/replies.ts";
import { expireMessages } from "../../db/notify/webhook-queue.ts";
import { pruneApprovals } from "../../db/oauth/approvals.ts";
import { pruneGrants } from "../../db/oauth/grants.ts";
import { forgetOpenPages } from "../../db/open-pages.ts";
import { prunePairings } from "../../db/pairings.ts";
import { pruneInvitations } from "../../db/people.ts";
import { createQuestionPruner, createRequestLogPruner } from "../../db/retention.ts";
import type { Store } from "../../db/store/store.ts";
import type { Clock } from "../clock.ts";
import { LIMITS, RATES } from "../limits.ts";
import { NOTIFICATION_LIMITS, REPLY_LIMITS } from "../notification-limits.ts";
import type { Inbox } from "../services/inbox.ts";
import type { Nudges } from "../services/nudges.ts";
import { OPEN_PAGES } from "../services/open-pages.ts";
import type { Questions } from "../services/questions.ts";
import { type createSilenceWatch, LOOK_EVERY } from "../services/silence.ts";
import type { Storage } from "../services/storage.ts";
import type { Tasks } from "../services/tasks.ts";
import type { Job } from "./runner.ts";

export interface JobDeps {
  readonly store: Store;
  readonly storage: Pick<Storage, "recount">;
  readonly clock: Pick<Clock, "elapsed">;
  readonly questions: Pick<Questions, "expireDue">;
  readonly tasks: Pick<Tasks, "expireFinished">;
  readonly inbox: Pick<Inbox, "forget">;
  readonly nudges: Pick<Nudges, "ring">;
  readonly silence: ReturnType<typeof createSilenceWatch>;
  /** 0: finished tasks are kept. */
  readonly task_retention_days: number;
  /** Deletes up to `limit` events that every process has had time to read; true if more may be left. */
  readonly pruneEvents: (limit: number) => Promise<boolean>;
  /** Asks for the end of the process once the store permits newer versions only. */
  readonly checkVersion: () => Promise<void>;
}

const DAY = 86_400;

export function createJobs(deps: JobDeps): Job[] {
  const { store, storage, clock, questions, tasks, inbox, nudges, silence, task_retention_days } =
    deps;
  const pruneActivity = createRequestLogPruner(store);
  const pruneMessages = createMessagePruner(store);

  /** `handle` returns the number of rows that it handled, up to `limit`. */
  const perRow = (
    name: string,
    every: number,
    handle: (now: number, limit: number) => Promise<number>,
  ): Job => ({
    name,
    every,
    run: async ({ now, limit }) => (await handle(await now(), limit)) === limit,
  });

  /** `remove` returns the number of rows that it removed, all older than `age` seconds. */
  const removal = (
    name: string,
    every: number,
    remove: (store: Store, before: number, limit: number) => Promise<number>,
    age = 0,
  ) => perRow(name, every, (now, limit) => remove(store, now - age, limit));

  const check = (name: string, every: number, run: () => Promise<void>): Job => ({
    name,
    every,
    run: () => run().then(() => false),
  });

  /** `step` returns true while there is more to do. */
  const steps = (name: string, every: number, step: (limit: number) => Promise<boolean>): Job => ({
    name,
    every,
    run: ({ limit }) => step(limit),
  });

  return [
    // Within 10 seconds (§3.1.3), with room for a busy store.
    perRow("expire questions", 2, questions.expireDue),
    { name: "ring again", every: 5, run: async ({ now }) => nudges.ring(await now()) },
    check("look for silent agents", LOOK_EVERY, silence.look),
    steps("finish deletions", 1, createSweeper(store, clock)),
    check("check version", 2, deps.checkVersion),
    {
      name: "expire tasks",
      every: 60,
      async run({ now, limit }) {
        if (task_retention_days === 0) return false;
        const before = (await now()) - task_retention_days * DAY;
        return (await tasks.expireFinished(before, limit)) === limit;
      },
    },
    steps("prune questions", 300, createQuestionPruner(store)),
    perRow("prune inboxes", 300, inbox.forget),
    removal("forget repeats", 60, pruneIdempotency, LIMITS.idempotency_retention),
    removal("prune challenges", 60, pruneChallenges),
    removal("prune pairings", 60, prunePairings, LIMITS.pairing_kept),
    removal("prune invitations", 300, pruneInvitations, LIMITS.pairing_kept),
    removal("forget ended tokens", 300, pruneEndedTokens, LIMITS.ended_token_retention),
    removal("prune grants", 60, pruneGrants),
    removal("prune approvals", 60, pruneApprovals),
    {
      name: "prune activity",
      every: 300,
      run: async ({ now, limit }) =>
        pruneActivity((await now()) - LIMITS.activity_retention, limit),
    },
    steps("count storage", 60, storage.recount),
    removal("prune account creations", 300, pruneCreations, RATES.accounts.window),
    removal("expire pushes", 10, expireDeliveries),
    removal("expire webhook messages", 10, expireMessages),
    removal("bound due times", 60, boundDueTimes),
    removal("forget open pages", 30, forgetOpenPages, OPEN_PAGES.lease),
    removal("prune push records", 60, pruneDeliveryRecords, NOTIFICATION_LIMITS.record_days * DAY),
    {
      name: "forget messages",
      every: 300,
      run: async ({ now, limit }) =>
        pruneMessages((await now()) - REPLY_LIMITS.message_days * DAY, limit),
    },
    removal("forget links", 60, pruneLinks),
    removal("forget listeners", 300, pruneReplies, DAY),
    steps("prune events", 30, deps.pruneEvents),
  ];
}
