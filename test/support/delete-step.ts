/** Runs some steps of the deletions, and is killed during the next one. */

import { argv, kill, pid } from "node:process";
import { createSweeper } from "../../db/deletions.ts";
import { openStore } from "../../db/store/open.ts";
import { systemClock } from "../../src/clock.ts";

const [url = "", limit, steps, strike] = argv.slice(2);
const store = await openStore({ url, auth_token: undefined }, systemClock);
const step = createSweeper(store, systemClock);
for (let i = 0; i < Number(steps); i++) if (!(await step(Number(limit)))) process.exit(0);
void step(Number(limit));
// Before or after its commit, depending on the caller and on chance.
if (strike === "later") await new Promise((turn) => setImmediate(turn));
kill(pid, "SIGKILL");
