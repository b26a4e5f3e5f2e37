/** Every procedure of the service, once. */

import { accounts } from "./accounts.ts";
import { attest } from "./attest.ts";
import { devices } from "./devices.ts";
import { agents, inbox, messages } from "./inbox.ts";
import { keys } from "./keys.ts";
import { liveActivities } from "./live-activities.ts";
import { questions } from "./questions.ts";
import { tasks } from "./tasks.ts";
import { router } from "./trpc.ts";

export const appRouter = router({
  accounts,
  attest,
  devices,
  keys,
  tasks,
  liveActivities,
  questions,
  inbox,
  messages,
  agents,
});

/** For typed clients: `createTRPCClient<AppRouter>`. */
export type AppRouter = typeof appRouter;
