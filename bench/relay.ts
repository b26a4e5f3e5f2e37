/** Relay for the fan-out bench: each message from the parent becomes an event of every account. */

import { startApp } from "../src/app.ts";
import { createDeps } from "./deps.ts";

const data = process.argv[2]!;
const app = await startApp(createDeps());

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
