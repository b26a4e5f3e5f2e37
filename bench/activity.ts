/** `bun run bench:activity`: what the activity log costs a request, beside the same server without. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compare, row } from "./compare.ts";
import { openLoad, requestOf } from "./load.ts";
import { type Child, post, startChild, times } from "./process.ts";

/** Requests under way at once: a server with time to spare, and one that has none. */
const LOADS = [4, 64];
const TASK = { title: "Release version 2", description: "Build, test and publish the packages." };

const folder = mkdtempSync(join(tmpdir(), "relay-bench-"));
const children: Bun.Subprocess[] = [];

/** An agent with one task for each connection. */
async function createAgents({ port }: Child) {
  const { token } = await post<{ token: string }>(port, "/v1/accounts", {});
  return Promise.all(
    times(Math.max(...LOADS), async (i) => {
      const key = await post<{ secret: string }>(port, "/v1/keys", { label: `Agent ${i}` }, token);
      const { id } = await post<{ id: string }>(port, "/v1/tasks", TASK, key.secret);
      return { credential: key.secret, task_id: id };
    }),
  );
}

type Agent = Awaited<ReturnType<typeof createAgents>>[number];

const KINDS = [
  {
    name: "create",
    status: 201,
    request: ({ credential }: Agent) =>
      requestOf("POST /v1/tasks", { credential, body: JSON.stringify(TASK) }),
  },
  {
    name: "read",
    status: 200,
    request: ({ credential, task_id }: Agent) =>
      requestOf(`GET /v1/tasks/${task_id}`, { credential }),
  },
];

try {
  const start = (name: string) =>
    startChild(children, "activity-relay.ts", [name], {
      DATABASE_URL: `file:${join(folder, name, "relay.db")}`,
    });
  const servers = [await start("without"), await start("with")];
  const agents = await Promise.all(servers.map(createAgents));
  row("", "without/s", "with/s", "ratio", "without p50/p99", "with p50/p99 ms", "CPU µs each");
  for (const connections of LOADS) {
    for (const { name, status, request } of KINDS) {
      const [without, logged] = await Promise.all(
        servers.map(async ({ pid, port }, i) => {
          const own = agents[i]!.slice(0, connections);
          const load = { port, status, requests: own.map((agent) => [request(agent)]) };
          return { pids: [pid], ...(await openLoad(load)) };
        }),
      );
      await compare(`${name}, ${connections} at once`, without!, logged!);
    }
  }
} finally {
  for (const child of children) child.kill();
  await Promise.all(children.map((child) => child.exited));
  rmSync(folder, { recursive: true, force: true });
}
