/** Relay for the fan-out bench: each message from the parent becomes an event of every account. */

import { startApp } from "../src/app.ts";
import { systemClock } from "../src/clock.ts";
import { readConfig } from "../src/config.ts";
import { createIds } from "../src/ids.ts";
import { createLog } from "../src/log.ts";
import { CHANNELS } from "../src/notify/registry.ts";

const data = process.argv[2]!;
const app = await startApp({
  config: readConfig(process.env),
  channels: CHANNELS,
  clock: systemClock,
  timers: systemClock,
  ids: createIds,
  log: createLog("warn", (line) => process.stderr.write(line)),
  endProcess: () => process.exit(1),
});
// The store has none of the events below. The periodic look at its newest one would find that an older copy has replaced
// the store, and end every stream.
app.feed.newest = async () => app.feed.position();

let seq = 0;
process.on("message", (account_ids: string[]) => {
  // As after a commit, but without one, since this measures the streams.
  app.feed.committed(
    account_ids.map((account_id) => ({
      seq: ++seq,
      account_id,
      subject: account_id,
      name: "task.updated",
      data,
    })),
  );
});
process.on("disconnect", () => process.exit());
process.send!({ port: Number(new URL(app.local_url).port) });
