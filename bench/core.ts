/**
 * `bun run bench:core`: creating and reading tasks and fanning events out, each compared in turns with the
 * bare server. Rates depend on the machine and its load; the ratios hardly do.
 */

import { join } from "node:path";
import { LIMITS } from "../src/limits.ts";
import { compare, count, measure, row, WARM_UP } from "./compare.ts";
import { openLoad, openReaders, requestOf } from "./load.ts";
import { createPlace } from "./place.ts";
import { type Child, post, startChild, startRelay, times } from "./process.ts";

const CONNECTIONS = 64;
/** Tasks that each connection reads in turn. */
const READ = 32;

const place = createPlace();
const { folder, children } = place;

const TASK = { title: "Release version 2", description: "Build, test and publish the packages." };

async function benchTasks(bare: Child, relay: Child): Promise<void> {
  const { token } = await post<{ token: string }>(relay.port, "/v1/accounts", {});
  // A key for each connection, since one key holds a limited number of tasks.
  const keys = await Promise.all(
    times(CONNECTIONS, async () => {
      const { secret } = await post<{ secret: string }>(
        relay.port,
        "/v1/keys",
        { label: "Bench" },
        token,
      );
      const tasks = times(READ, () => post<{ id: string }>(relay.port, "/v1/tasks", TASK, secret));
      return { secret, tasks: await Promise.all(tasks) };
    }),
  );
  const bare_tasks = await Promise.all(
    times(CONNECTIONS * READ, () => post<{ id: string }>(bare.port, "/v1/tasks", TASK)),
  );
  const body = JSON.stringify(TASK);

  const still = await openLoad({
    port: bare.port,
    requests: keys.map(() => [requestOf("GET /static")]),
    status: 200,
  });
  await still.run(WARM_UP);
  const most = await measure({ ...still, pids: [bare.pid] });
  still.close();
  process.stdout.write(
    `The load generator itself: ${count(most.rate)} requests/s of a static route\n\n`,
  );
  row("", "bare/s", "Relay/s", "ratio", "bare p50/p99 ms", "Relay p50/p99", "CPU µs each");

  const create = {
    port: bare.port,
    requests: keys.map(() => [requestOf("POST /v1/tasks", { body })]),
    status: 201,
  };
  await compare(
    "create a task",
    { pids: [bare.pid], ...(await openLoad(create)) },
    {
      pids: [relay.pid],
      ...(await openLoad({
        port: relay.port,
        requests: keys.map(({ secret }) => [
          requestOf("POST /v1/tasks", { credential: secret, body }),
        ]),
        status: 201,
      })),
    },
  );
  await compare(
    "read a task",
    {
      pids: [bare.pid],
      ...(await openLoad({
        port: bare.port,
        requests: keys.map((_, i) =>
          bare_tasks
            .slice(i * READ, (i + 1) * READ)
            .map(({ id }) => requestOf(`GET /v1/tasks/${id}`)),
        ),
        status: 200,
      })),
    },
    {
      pids: [relay.pid],
      ...(await openLoad({
        port: relay.port,
        requests: keys.map(({ secret, tasks }) =>
          tasks.map(({ id }) => requestOf(`GET /v1/tasks/${id}`, { credential: secret })),
        ),
        status: 200,
      })),
    },
  );
}

async function benchStreams(bare: Child, relay: Child, readers: number): Promise<void> {
  const accounts = await Promise.all(
    times(Math.ceil(readers / LIMITS.streams), () =>
      post<{ account: { id: string }; token: string }>(relay.port, "/v1/accounts", {}),
    ),
  );
  const ids = accounts.map(({ account }) => account.id);
  await compare(
    `a frame to ${count(readers)} streams`,
    {
      pids: [bare.pid],
      ...(await openReaders({
        port: bare.port,
        requests: times(readers, () => requestOf("GET /v1/events")),
        emit: () => bare.send(null),
      })),
    },
    {
      pids: [relay.pid],
      ...(await openReaders({
        port: relay.port,
        requests: times(readers, (i) =>
          requestOf("GET /v1/events", {
            credential: accounts[Math.floor(i / LIMITS.streams)]!.token,
          }),
        ),
        emit: () => relay.send(ids),
      })),
    },
  );
}

const event = JSON.stringify({
  task: {
    ...TASK,
    id: `tsk_${"0".repeat(32)}`,
    key_id: `key_${"0".repeat(32)}`,
    status: "in_progress",
    priority: "medium",
    notify: true,
    progress: 50,
    status_note: "Runs the tests",
    source: "agent",
    created_at: 1_800_000_000.123,
    updated_at: 1_800_000_000.123,
    completed_at: null,
    seen_at: 1_800_000_000.123,
    host: null,
  },
});

try {
  const bare = await startChild(children, "bare.ts", [
    `file:${join(folder, "bare.db")}`,
    `event: task.updated\ndata: ${event}\n\n`,
  ]);
  await benchTasks(bare, await startRelay(folder, children));
  const fan_out = await startChild(children, "relay.ts", [event], {
    DATABASE_URL: `file:${join(folder, "fan-out.db")}`,
  });
  for (const readers of [500, 2_000]) await benchStreams(bare, fan_out, readers);
} finally {
  await place.end();
}
