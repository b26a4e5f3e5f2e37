/**
 * Relay with several libSQL databases in one process: a core for each, behind one port. Its parent gives it the URLs of
 * the databases as arguments, and moves an account by a message.
 */

import { type Client, createClient } from "@libsql/client";
import { createApp } from "../../src/app.ts";
import { type Clock, systemClock } from "../../src/clock.ts";
import { readConfig } from "../../src/config.ts";
import { type Core, createCore } from "../../src/core.ts";
import { createHandlers, type startServer } from "../../src/http/server.ts";
import { createIds } from "../../src/ids.ts";
import { createLog } from "../../src/log.ts";
import { CHANNELS } from "../../src/notify/registry.ts";
import { MOVING, markedIds, openDirectory } from "./directory.ts";
import { copyAccount, credentialsOf, removeAccount, unblock } from "./move.ts";

type Handlers = ReturnType<typeof createHandlers>;
type Handle = (request: Request) => Response | Promise<Response>;

const urls = process.argv.slice(2);
const clients: readonly Client[] = urls.map((url) => createClient({ url }));

const log = createLog("warn", (line) => process.stderr.write(line));
const shards: Handlers[] = [];
let server: ReturnType<typeof startServer> | undefined;
let placed = 0;

/** The shard of a request; requests without a credential are spread, as new accounts are. */
function shardOf(request: Request): number {
  const header = request.headers.get("authorization");
  return header === null ? placed++ % shards.length : directory.shardOf(header);
}

/** Answers by the shard of the request. */
const dispatch =
  (handleOf: (shard: Handlers) => Handle): Handle =>
  (request) => {
    const shard = shardOf(request);
    if (shard === MOVING) {
      return Response.json(
        { code: "store_unavailable", detail: "The account is being moved." },
        { status: 503, headers: { "retry-after": "1" } },
      );
    }
    return handleOf(shards[shard]!)(request);
  };

/** Binds the first core's surfaces to the port, and lets the others share it. */
const listen = ((surfaces) => {
  shards.push(createHandlers(surfaces));
  server ??= Bun.serve({
    hostname: surfaces.hostname,
    port: surfaces.port,
    idleTimeout: 70,
    reusePort: false,
    routes: Object.fromEntries(
      Object.keys(surfaces.routes).map((path) => [
        path,
        dispatch((shard) => shard.routes[path] as Handle),
      ]),
    ),
    fetch: dispatch((shard) => shard.fetch),
  });
  return server;
}) as typeof startServer;

const cores: Core[] = [];
for (const [shard, url] of urls.entries()) {
  const deps = {
    config: readConfig({ ...process.env, DATABASE_URL: url }),
    channels: CHANNELS,
    clock: systemClock,
    timers: systemClock,
    // The first shard is the database from before there were shards.
    ids: (clock: Clock) => markedIds(createIds(clock), shard === 0 ? null : shard),
    log,
    endProcess: () => process.exit(1),
  };
  const core = await createCore(deps);
  cores.push(core);
  await createApp(core, deps, { listen });
}
// Once Relay has its tables there: it refuses a database with only the tables of another program.
const directory = await openDirectory(clients[0]!);

interface Move {
  readonly account_id: string;
  readonly from: number;
  readonly to: number;
}

/** Requests of the account get 503 meanwhile; returns the number of rows and how long that was. */
async function move({ account_id, from, to }: Move) {
  const [source, target] = [clients[from]!, clients[to]!];
  const digests = await credentialsOf(source, account_id);
  const begin = performance.now();
  await directory.set(digests, MOVING);
  // Ends its waits and streams, and keeps jobs from sending anything.
  await cores[from]!.services.people.setBlocked(account_id, true, log);
  const copying = performance.now();
  const rows = await copyAccount(source, target, account_id);
  const copy_ms = performance.now() - copying;
  await unblock(target, account_id);
  await directory.set(digests, to);
  const moved_ms = performance.now() - begin;
  await removeAccount(source, account_id);
  return { rows, copy_ms, moved_ms };
}

process.on("message", (message: Move) => {
  move(message).then(
    (moved) => process.send!({ moved }),
    (error: Error) => process.send!({ fault: error.stack }),
  );
});
process.on("disconnect", () => process.exit());
process.send!({ port: server!.port });
