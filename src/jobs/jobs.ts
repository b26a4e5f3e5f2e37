/** The jobs of the service. */

import { LIMITS } from "../limits.ts";
import type { Questions } from "../services/questions.ts";
import type { Job } from "./runner.ts";

interface JobDeps {
  readonly questions: Pick<Questions, "expireDue">;
  readonly outbox: { prune(before: number, limit: number): Promise<number> };
  /** Removes at most `limit` rows of what is deleted; true while something may be left. */
  readonly deleteStep: (limit: number) => Promise<boolean>;
}

export function createJobs({ questions, outbox, deleteStep }: JobDeps): Job[] {
  return [
    {
      // Within 10 seconds (interface.md §3 Question), with room for a busy store.
      name: "expire questions",
      every: 2,
      run: async ({ limit }) => ({ more: (await questions.expireDue(limit)) === limit }),
    },
    {
      name: "finish deletions",
      every: 1,
      run: async ({ limit }) => ({ more: await deleteStep(limit) }),
    },
    {
      name: "prune events",
      every: 30,
      run: async ({ now, limit }) => ({
        more: (await outbox.prune(now - LIMITS.event_retention, limit)) === limit,
      }),
    },
  ];
}
