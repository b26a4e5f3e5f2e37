/** Relay for the bench of the activity log: with the log as it is, or `without` one. */

import { createApp } from "../src/app.ts";
import { createCore } from "../src/core.ts";
import { createDeps } from "./deps.ts";

const NO_LOG = { record() {}, stats: () => ({ queued: 0, dropped: 0 }), async stop() {} };

const deps = createDeps();
const core = await createCore(deps);
const without = process.argv[2] === "without";
const app = await createApp(without ? { ...core, activityLog: NO_LOG } : core, deps);
process.on("disconnect", () => process.exit());
process.send!({ port: Number(new URL(app.local_url).port) });
