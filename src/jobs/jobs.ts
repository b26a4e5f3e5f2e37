/** The jobs of the service. */

import { LIMITS, RATES } from "../limits.ts";
import { PUSH } from "../notification-limits.ts";
import type { Inbox } from "../services/inbox.ts";
import type { Questions } from "../services/questions.ts";
import type { Tasks } from "../services/tasks.ts";
import type { Job } from "./runner.ts";

interface JobDeps {
  readonly questions: Pick<Questions, "expireDue">;
  readonly tasks: Pick<Tasks, "expireFinished">;
  readonly inbox: Pick<Inbox, "forget">;
  /** 0: finished tasks are kept. */
  readonly task_retention_days: number;
  /** Looks at up to `limit` keys; true while there are more. */
  readonly pruneQuestions: (limit: number) => Promise<boolean>;
  /** Looks at up to `limit` keys, or removes as many entries; true while there are more. */
  readonly pruneRequestLog: (before: number, limit: number) => Promise<boolean>;
  readonly pruneCreations: (before: number, limit: number) => Promise<number>;
  /** Deletes up to `limit` events that every process has had time to read; true if more may be left. */
  readonly pruneEvents: (limit: number) => Promise<boolean>;
  readonly pruneIdempotency: (before: number, limit: number) => Promise<number>;
  /** Deletes up to `limit` challenges that are expired at `now`; gives their number. */
  readonly pruneChallenges: (now: number, limit: number) => Promise<number>;
  /** Deletes up to `limit` pairing codes that expired before then; gives their number. */
  readonly prunePairings: (before: number, limit: number) => Promise<number>;
  /** Forgets up to `limit` account tokens that ended before then; gives their number. */
  readonly pruneEndedTokens: (before: number, limit: number) => Promise<number>;
  /** The same of grants of OAuth, and of approvals by another device, that are expired at `now`. */
  readonly pruneGrants: (now: number, limit: number) => Promise<number>;
  readonly pruneApprovals: (now: number, limit: number) => Promise<number>;
  /** Removes at most `limit` rows of what is deleted; true while something may be left. */
  readonly deleteStep: (limit: number) => Promise<boolean>;
  /** Drops up to `limit` deliveries that are expired at `now`; gives their number. */
  readonly expireDeliveries: (now: number, limit: number) => Promise<number>;
  /** The same of messages that wait for webhooks. */
  readonly expireMessages: (now: number, limit: number) => Promise<number>;
  /** Removes up to `limit` pages of processes that died before `now`; gives their number. */
  readonly forgetOpenPages: (now: number, limit: number) => Promise<number>;
  readonly pruneDeliveryRecords: (before: number, limit: number) => Promise<number>;
  /** Compares this process's clock with the others on a file. */
  readonly compareClocks: () => Promise<void>;
  /** Asks for the end of the process once the store permits newer versions only. */
  readonly checkVersion: () => Promise<void>;
}

export function createJobs(deps: JobDeps): Job[] {
  const { questions, tasks, inbox, task_retention_days, pruneEvents, deleteStep } = deps;
  const { pruneQuestions, pruneRequestLog, pruneChallenges, pruneCreations, pruneIdempotency } =
    deps;
  const { expireDeliveries, expireMessages, pruneDeliveryRecords, prunePairings } = deps;
  const { forgetOpenPages, checkVersion, compareClocks } = deps;
  const { pruneEndedTokens, pruneGrants, pruneApprovals } = deps;
  return [
    {
      // Within 10 seconds (docs/interface.md 3.1.3), with room for a busy store.
      name: "expire questions",
      every: 2,
      run: async ({ now, limit }) => ({
        more: (await questions.expireDue(await now(), limit)) === limit,
      }),
    },
    {
      name: "finish deletions",
      every: 1,
      run: async ({ limit }) => ({ more: await deleteStep(limit) }),
    },
    {
      name: "compare clocks",
      every: 1,
      async run() {
        await compareClocks();
        return { more: false };
      },
    },
    {
      name: "check version",
      every: 2,
      async run() {
        await checkVersion();
        return { more: false };
      },
    },
    {
      name: "expire tasks",
      every: 60,
      async run({ now, limit }) {
        if (task_retention_days === 0) return { more: false };
        const before = (await now()) - task_retention_days * 86_400;
        return { more: (await tasks.expireFinished(before, limit)) === limit };
      },
    },
    {
      name: "prune questions",
      every: 300,
      run: async ({ limit }) => ({ more: await pruneQuestions(limit) }),
    },
    {
      name: "prune inboxes",
      every: 300,
      run: async ({ now, limit }) => ({
        more: (await inbox.forget(await now(), limit)) === limit,
      }),
    },
    {
      name: "forget repeats",
      every: 60,
      run: async ({ now, limit }) => ({
        more:
          (await pruneIdempotency((await now()) - LIMITS.idempotency_retention, limit)) === limit,
      }),
    },
    {
      name: "prune challenges",
      every: 60,
      run: async ({ now, limit }) => ({
        more: (await pruneChallenges(await now(), limit)) === limit,
      }),
    },
    {
      name: "prune pairings",
      every: 60,
      run: async ({ now, limit }) => ({
        more: (await prunePairings((await now()) - LIMITS.pairing_kept, limit)) === limit,
      }),
    },
    {
      name: "forget ended tokens",
      every: 300,
      run: async ({ now, limit }) => ({
        more:
          (await pruneEndedTokens((await now()) - LIMITS.ended_token_retention, limit)) === limit,
      }),
    },
    {
      name: "prune grants",
      every: 60,
      run: async ({ now, limit }) => ({ more: (await pruneGrants(await now(), limit)) === limit }),
    },
    {
      name: "prune approvals",
      every: 60,
      run: async ({ now, limit }) => ({
        more: (await pruneApprovals(await now(), limit)) === limit,
      }),
    },
    {
      name: "prune activity",
      every: 300,
      run: async ({ now, limit }) => ({
        more: await pruneRequestLog((await now()) - LIMITS.activity_retention, limit),
      }),
    },
    {
      name: "prune account creations",
      every: 300,
      run: async ({ now, limit }) => ({
        more: (await pruneCreations((await now()) - RATES.accounts.window, limit)) === limit,
      }),
    },
    {
      name: "expire pushes",
      every: 10,
      run: async ({ now, limit }) => ({
        more: (await expireDeliveries(await now(), limit)) === limit,
      }),
    },
    {
      name: "expire webhook messages",
      every: 10,
      run: async ({ now, limit }) => ({
        more: (await expireMessages(await now(), limit)) === limit,
      }),
    },
    {
      name: "forget open pages",
      every: 30,
      run: async ({ now, limit }) => ({
        more: (await forgetOpenPages(await now(), limit)) === limit,
      }),
    },
    {
      name: "prune push records",
      every: 60,
      run: async ({ now, limit }) => ({
        more:
          (await pruneDeliveryRecords((await now()) - PUSH.record_days * 86_400, limit)) === limit,
      }),
    },
    {
      name: "prune events",
      every: 30,
      run: async ({ limit }) => ({ more: await pruneEvents(limit) }),
    },
  ];
}
