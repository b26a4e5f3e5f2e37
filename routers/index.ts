/** Every procedure of the service, once. */

import { type Procedures, proceduresOf } from "../src/rpc/trpc-internals.ts";
import { accounts } from "./accounts.ts";
import { attest } from "./attest.ts";
import { channels } from "./channels.ts";
import type { Context } from "./context.ts";
import { deliveries } from "./deliveries.ts";
import { devices } from "./devices.ts";
import { agents, inbox, messages } from "./inbox.ts";
import { keys } from "./keys.ts";
import { liveActivities } from "./live-activities.ts";
import { oauth } from "./oauth.ts";
import { pairings } from "./pairings.ts";
import { questions } from "./questions.ts";
import { recovery } from "./recovery.ts";
import { sessions } from "./sessions.ts";
import { tasks } from "./tasks.ts";
import { router } from "./trpc.ts";

export const appRouter = router({
  accounts,
  attest,
  sessions,
  pairings,
  recovery,
  devices,
  channels,
  keys,
  oauth,
  tasks,
  liveActivities,
  questions,
  deliveries,
  inbox,
  messages,
  agents,
});

/** All procedures by name, for the surfaces. */
export const procedures: Procedures<Context> = proceduresOf(appRouter);

/** For typed clients: `createTRPCClient<AppRouter>`. */
export type AppRouter = typeof appRouter;
