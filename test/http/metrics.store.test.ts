/** `GET /metrics`: what is counted, under which names, and that the output follows the format. */

import { expect, test } from "bun:test";
import { ADMIN, ADMIN_TOKEN, metricsOf } from "../support/admin.ts";
import { startTestApp } from "../support/app.ts";
import { ask, claim, client, createPair, createTask } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { sampleOf } from "../support/exposition.ts";
import { sendRaw } from "../support/raw.ts";
import { createTestStore, STORE_KIND } from "../support/store.ts";
import { openStream } from "../support/stream.ts";
import { until } from "../support/until.ts";

/** Every family of a server that has just started, with its type. */
const NAMES = {
  http_requests_in_flight: "gauge",
  relay_unsent_answer_bytes: "gauge",
  relay_build_info: "gauge",
  relay_clock_offset_seconds: "gauge",
  process_cpu_user_seconds_total: "counter",
  process_cpu_system_seconds_total: "counter",
  process_cpu_seconds_total: "counter",
  process_start_time_seconds: "gauge",
  process_resident_memory_bytes: "gauge",
  nodejs_heap_size_used_bytes: "gauge",
  process_open_fds: "gauge",
  process_max_fds: "gauge",
  relay_descriptor_shortages_total: "counter",
  relay_standstill_seconds_total: "counter",
  nodejs_eventloop_lag_p50_seconds: "gauge",
  nodejs_eventloop_lag_p99_seconds: "gauge",
  nodejs_eventloop_lag_max_seconds: "gauge",
  relay_streams_open: "gauge",
  relay_streams_ended_total: "counter",
  relay_waits_open: "gauge",
  relay_waits_refused_total: "counter",
  relay_rate_limited_total: "counter",
  relay_activity_queued: "gauge",
  relay_activity_dropped_total: "counter",
  relay_job_runs_total: "counter",
  relay_job_duration_seconds: "histogram",
  relay_store_up: "gauge",
  relay_store_usable: "gauge",
  relay_store_read_seconds: "gauge",
  relay_store_size_bytes: "gauge",
  ...(STORE_KIND === "embedded" && {
    relay_store_wal_bytes: "gauge",
    relay_store_disk_free_bytes: "gauge",
    relay_store_disk_size_bytes: "gauge",
    relay_store_write_lock_held_seconds: "gauge",
  }),
  relay_store_commit_duration_seconds: "histogram",
  relay_store_commit_batches: "histogram",
  relay_store_failed_batches_total: "counter",
  relay_store_faults_total: "counter",
  relay_store_queued_batches: "gauge",
  relay_outbox_events: "gauge",
  relay_outbox_oldest_seconds: "gauge",
  relay_outbox_lag_events: "gauge",
  relay_listener_keys: "gauge",
  relay_listener_connections: "gauge",
  relay_listener_working: "gauge",
  relay_listener_channels: "gauge",
  relay_push_lane_open: "gauge",
  relay_push_in_flight: "gauge",
  relay_push_queued: "gauge",
  relay_push_oldest_seconds: "gauge",
  relay_push_overdue_seconds: "gauge",
};

test("every metric has its name and type, in the format of Prometheus", async () => {
  const app = await startTestApp({ clock: createTestClock(), env: ADMIN });
  const { all } = await metricsOf(app.url);
  const told = [...all].map(([name, { type }]) => [name, type]);
  expect(Object.fromEntries(told)).toEqual(NAMES);
  const now = Date.now() / 1000;
  const started = sampleOf(all, "process_start_time_seconds")!;
  expect([started > now - 86_400, started <= now]).toEqual([true, true]);
  expect(sampleOf(all, "process_resident_memory_bytes")).toBeGreaterThan(10_000_000);
  expect(sampleOf(all, "process_open_fds")).toBeGreaterThan(3);
  expect(sampleOf(all, "process_max_fds")).toBeGreaterThan(3);
  expect(sampleOf(all, "relay_store_up")).toBe(1);
  expect(sampleOf(all, "relay_store_size_bytes")).toBeGreaterThan(4096 * 10);
});

test("requests are counted by the template of their route, never by what was sent", async () => {
  const app = await startTestApp({ env: ADMIN });
  const { person, agent } = await createPair(app.url);
  const task = await createTask(agent.send);
  for (let i = 0; i < 3; i++) await agent.send(`GET /v1/tasks/${task.id}?x=${i}`);
  await agent.send(`GET /v1/tasks/tsk_${"0".repeat(32)}`);
  await agent.send(`GET /v1/tasks/${encodeURIComponent('\n"\\')}`);
  await person.send("GET /v1/keys");
  await sendRaw(app.url, "HEAD", "/v1/keys", { authorization: `Bearer ${person.token}` });
  for (const method of ["PUT", "TRACE", "PROPFIND"]) await sendRaw(app.url, method, "/v1/keys");
  for (const path of ["/a", "/v1/a", "/v1/b", "/c?d", "/trpc", "/admin/trpc"]) {
    await sendRaw(app.url, "GET", path);
  }
  await agent.send("GET /trpc/tasks.list");
  await agent.send("GET /trpc/tasks.list?batch=1&input=%7B%220%22%3A%7B%7D%7D");
  for (const name of ["nothing", "tasks.list.x", "__proto__"])
    await agent.send(`GET /trpc/${name}`);
  await agent.send("GET /trpc/tasks.list,agents.list,nothing?batch=1");
  await client(app.url, ADMIN_TOKEN)("GET /admin/trpc/jobs");
  await client(app.url)("GET /admin/trpc/jobs");

  const { all, text } = await metricsOf(app.url);
  const counted = all
    .get("http_requests_total")!
    .series.map(({ labels: { method, route, status }, value }) => [
      `${method} ${route} ${status}`,
      value,
    ]);
  expect(Object.fromEntries(counted)).toEqual({
    "POST /v1/accounts 201": 1,
    "POST /v1/keys 201": 1,
    "POST /v1/tasks 201": 1,
    "GET /v1/tasks/{task_id} 200": 3,
    "GET /v1/tasks/{task_id} 404": 2,
    "GET /v1/keys 200": 1,
    "HEAD /v1/keys 200": 1,
    "PUT /v1/keys 405": 1,
    "other /v1/keys 405": 2,
    "GET unknown 404": 6,
    "GET /trpc/tasks.list 200": 2,
    "GET /trpc 207": 1,
    "GET /trpc 404": 3,
    "GET /admin/trpc 200": 1,
    "GET /admin/trpc 401": 1,
  });
  expect(text).not.toContain(task.id);
  // The request for the metrics itself.
  expect(sampleOf(all, "http_requests_in_flight")).toBe(1);
  const again = await metricsOf(app.url);
  const own = { method: "GET", route: "/metrics", status: "200" };
  expect(sampleOf(again.all, "http_requests_total", own)).toBe(1);
});

test("waits are left out of the durations, and open waits and streams are counted while open", async () => {
  const clock = createTestClock();
  const app = await startTestApp({ clock, env: ADMIN });
  const { person, agent } = await createPair(app.url);
  const { id } = await ask(agent.send);
  const stream = await openStream(app.url, person.token);
  const wait = agent.send(`GET /v1/questions/${id}?wait=20`);
  await until(() => app.waits.count() === 1);
  const during = (await metricsOf(app.url)).all;
  expect(sampleOf(during, "relay_waits_open")).toBe(1);
  expect(sampleOf(during, "relay_streams_open")).toBe(1);
  expect(sampleOf(during, "http_requests_in_flight")).toBe(2);
  await clock.advance(20);
  await wait;
  stream.close();
  await until(() => app.streams.count() === 0);
  await agent.send(`GET /v1/questions/${id}`);
  const { all } = await metricsOf(app.url);
  expect(sampleOf(all, "relay_waits_open")).toBe(0);
  expect(sampleOf(all, "relay_streams_open")).toBe(0);
  expect(sampleOf(all, "http_requests_in_flight")).toBe(1);
  const name = "http_request_duration_seconds";
  const labels = { method: "GET", route: "/v1/questions/{question_id}" };
  const told = (of: string, les: readonly string[]) =>
    les.map((le) => sampleOf(all, `${of}_bucket`, { ...labels, le }));
  expect(told(name, ["0.001", "10", "+Inf"])).toEqual([1, 1, 1]);
  expect(sampleOf(all, `${name}_sum`, labels)).toBe(0);
  const waited = "relay_wait_duration_seconds";
  expect(told(waited, ["0.1", "10", "20", "50", "+Inf"])).toEqual([0, 0, 1, 1, 1]);
  expect(sampleOf(all, `${waited}_sum`, labels)).toBeCloseTo(20, 5);
  expect(sampleOf(all, "http_requests_total", { ...labels, status: "200" })).toBe(2);
  // A stream counts as answered when it opens.
  const opened = { method: "GET", route: "/v1/events" };
  expect(sampleOf(all, `${name}_sum`, opened)).toBe(0);
});

test("jobs, commits and events are counted", async () => {
  const clock = createTestClock();
  const app = await startTestApp({ clock, env: ADMIN });
  const before = (await metricsOf(app.url)).all;
  await clock.advance(1);
  await app.jobs.settled();
  const { agent } = await createPair(app.url);
  await createTask(agent.send);
  await clock.advance(1);
  await app.jobs.settled();
  const { all } = await metricsOf(app.url);
  const runs = (of: typeof all, job: string, result: string) =>
    sampleOf(of, "relay_job_runs_total", { job, result });
  expect([
    runs(before, "finish deletions", "success"),
    runs(all, "finish deletions", "success"),
  ]).toEqual([0, 2]);
  expect([
    runs(all, "expire questions", "success"),
    runs(all, "expire questions", "failure"),
  ]).toEqual([1, 0]);
  const job = { job: "finish deletions" };
  expect(sampleOf(all, "relay_job_duration_seconds_count", job)).toBe(2);
  expect(sampleOf(all, "relay_job_last_success_timestamp_seconds", job)).toBeCloseTo(
    clock.now(),
    2,
  );
  const commits = (of: typeof all) => sampleOf(of, "relay_store_commit_batches_count")!;
  expect(commits(all)).toBeGreaterThanOrEqual(commits(before) + 3);
  expect(sampleOf(all, "relay_store_commit_duration_seconds_count")).toBe(commits(all));
  // `key.created` and `task.created`.
  expect(sampleOf(all, "relay_outbox_events")).toBe(2);
  expect(sampleOf(all, "relay_outbox_oldest_seconds")).toBeCloseTo(1, 2);
  expect(sampleOf(all, "relay_outbox_lag_events")).toBe(0);
});

test("refusals by each rate limit are counted", async () => {
  const clock = createTestClock();
  const app = await startTestApp({ clock, env: { ...ADMIN, RATE_LIMITS: "on" } });
  const { person, agent } = await createPair(app.url);
  for (let i = 0; i < 123; i++) await agent.send("GET /v1/agents");
  for (let i = 0; i < 245; i++) await person.send("GET /v1/account");
  for (let i = 0; i < 7; i++) await client(app.url)("POST /v1/accounts");
  for (let i = 0; i < 22; i++) await client(app.url)("POST /v1/attest/challenge");
  for (let i = 0; i < 14; i++) await claim(app.url, { code: "ABCD-2345" });
  for (let i = 0; i < 70; i++) await client(app.url)("GET /v1/account");
  // Until then, this address is not admitted even with the right token.
  await clock.advance(1);
  const { all } = await metricsOf(app.url);
  const refused = Object.fromEntries(
    all.get("relay_rate_limited_total")!.series.map(({ labels, value }) => [labels.limit, value]),
  );
  // A refusal without a credential is charged to the address too, including those of account creation.
  expect(refused).toEqual({
    ...{ key: 3, account: 6, accounts: 3, challenges: 2, address: 29 },
    ...{
      pairings: 4,
      pairings_block: 0,
      downloads: 0,
      downloads_process: 0,
      approvals: 0,
      approval_waits: 0,
      test_answers: 0,
      registrations: 0,
      mcp_challenges: 0,
      expired_tokens: 0,
      ticket: 0,
    },
  });
});

test.if(STORE_KIND === "server")(
  "the metrics report an unavailable store, and all other figures",
  async () => {
    const { url: database_url, sqld } = await createTestStore();
    const app = await startTestApp({ database_url, env: ADMIN });
    await sqld!.kill();
    await client(app.url)("POST /v1/accounts");
    const { all } = await metricsOf(app.url);
    expect(sampleOf(all, "relay_store_up")).toBe(0);
    for (const name of [
      "relay_store_size_bytes",
      "relay_outbox_events",
      "relay_store_read_seconds",
    ]) {
      expect(all.has(name)).toBe(false);
    }
    expect(sampleOf(all, "relay_store_failed_batches_total")).toBeGreaterThan(0);
    expect(sampleOf(all, "process_resident_memory_bytes")).toBeGreaterThan(0);
    await sqld!.restart();
    expect(sampleOf((await metricsOf(app.url)).all, "relay_store_up")).toBe(1);
  },
);

test("each of two servers reports its own requests and streams, and both report the same store", async () => {
  const { url: database_url } = await createTestStore();
  const [one, two] = [
    await startTestApp({ database_url, env: ADMIN }),
    await startTestApp({ database_url, env: ADMIN }),
  ];
  const { person, agent } = await createPair(one.url);
  await createTask(agent.send);
  const stream = await openStream(two.url, person.token);
  const [first, second] = [(await metricsOf(one.url)).all, (await metricsOf(two.url)).all];
  expect([first, second].map((all) => sampleOf(all, "relay_streams_open"))).toEqual([0, 1]);
  expect([first, second].map((all) => sampleOf(all, "relay_outbox_events"))).toEqual([2, 2]);
  const posts = { method: "POST", route: "/v1/tasks", status: "201" };
  expect([first, second].map((all) => sampleOf(all, "http_requests_total", posts))).toEqual([
    1,
    undefined,
  ]);
  stream.close();

  // A server that no longer follows the events falls behind by those that arrive.
  two.feed.stop();
  for (let i = 0; i < 3; i++) await createTask(agent.send);
  const lag = async ({ url }: typeof one) =>
    sampleOf((await metricsOf(url)).all, "relay_outbox_lag_events");
  await until(async () => (await lag(two)) === 3);
  expect(await lag(one)).toBe(0);
});
