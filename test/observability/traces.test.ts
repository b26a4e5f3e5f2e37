/** Traces by OTLP: what spans say, who decides what is traced, and a collector that fails. */

import { afterAll, expect, test } from "bun:test";
import { systemClock } from "../../src/clock.ts";
import { readConfig } from "../../src/config.ts";
import { createIds } from "../../src/ids.ts";
import { createLog } from "../../src/log.ts";
import { createTraces } from "../../src/observability/traces.ts";
import { ADMIN, metricsOf } from "../support/admin.ts";
import { startTestApp } from "../support/app.ts";
import { client, createPair } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { startCollector } from "../support/collector.ts";
import { sampleOf } from "../support/exposition.ts";
import { until } from "../support/until.ts";

const PARENT = `00-${"ab".repeat(16)}-${"cd".repeat(8)}-01`;

test("a request and what it causes are one trace, without content or credentials", async () => {
  const collector = startCollector();
  const hooks: Headers[] = [];
  const hook = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch(request) {
      hooks.push(request.headers);
      return new Response();
    },
  });
  afterAll(() => hook.stop(true));
  const app = await startTestApp({
    env: {
      ...ADMIN,
      OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`,
      OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20of-the-collector",
      OTEL_SERVICE_NAME: "relay-test",
      OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=a%20b",
    },
  });
  const { person, agent } = await createPair(app.url);
  const made = await person.send("POST /v1/channels", {
    type: "webhook",
    label: "CI",
    url: `http://127.0.0.1:${hook.port}/secret-path`,
  });
  expect(made.status).toBe(201);
  const headers = { traceparent: PARENT, "x-request-id": "untrusted" };
  const asked = await agent.send(
    "POST /v1/questions",
    { prompt: "zanzibar", kind: "text" },
    { headers },
  );
  await client(app.url, agent.secret)("GET /v1/tasks?cursor=zanzibar");
  await client(app.url)("GET /health");

  const strange = { headers: { traceparent: `${PARENT}-zanzibar` } };
  await agent.send(`GET /v1/questions/${asked.body.id}`, undefined, strange);
  await fetch(`${app.url}/v1/questions/${asked.body.id}`, { method: "PROPFIND" });
  await until(() => hooks.some((one) => one.get("traceparent") !== null));
  await app.webhooks.settled();
  const { all } = await metricsOf(app.url);
  expect(sampleOf(all, "relay_trace_spans_total", { result: "dropped" })).toBe(0);
  // A stop sends what waits.
  await app.stop();

  expect(collector.faults).toEqual([]);
  expect(collector.headers[0]!.get("authorization")).toBe("Bearer of-the-collector");
  expect(collector.resources[0]).toMatchObject({
    "service.name": "relay-test",
    "deployment.environment.name": "a b",
  });
  const [question] = collector.spans.filter(({ name }) => name === "POST /v1/questions");
  expect(question).toMatchObject({
    trace_id: "ab".repeat(16),
    parent_id: "cd".repeat(8),
    failed: false,
    attributes: {
      "http.request.method": "POST",
      "http.route": "/v1/questions",
      "http.response.status_code": 201,
      "relay.request_id": asked.headers.get("x-request-id")!,
      "relay.account_id": person.account.id,
      "relay.key_id": agent.key.id,
      "relay.question_id": asked.body.id,
    },
  });
  const [read] = collector.spans.filter(({ name }) => name === "GET /v1/questions/{question_id}");
  expect(read!.attributes["relay.question_id"]).toBe(asked.body.id);
  expect([read!.trace_id === question!.trace_id, read!.parent_id]).toEqual([false, undefined]);
  const unknown = collector.spans.find(({ name }) => name.startsWith("HTTP "))!;
  expect(unknown.attributes["http.request.method"]).toBe("_OTHER");
  // A read is no cause of what is sent.
  const delivered = collector.spans.find(
    ({ name, attributes }) =>
      name === "deliver webhook" && attributes["relay.question_id"] === asked.body.id,
  )!;
  expect(delivered).toMatchObject({
    trace_id: question!.trace_id,
    parent_id: question!.span_id,
    failed: false,
    attributes: { "relay.channel": "webhook", "relay.account_id": person.account.id },
  });
  const header = `00-${delivered.trace_id}-${delivered.span_id}-01`;
  expect(hooks.map((one) => one.get("traceparent"))).toContain(header);
  expect(collector.spans.some(({ name }) => name.includes("health"))).toBe(false);
  const sent = JSON.stringify([collector.spans, collector.resources]);
  for (const secret of [
    "zanzibar",
    "secret-path",
    "PROPFIND",
    "127.0.0.1",
    agent.secret,
    person.token,
  ]) {
    expect(sent).not.toContain(secret);
  }
});

/** Traces with a test clock, to the URL of a collector. Batches go by the library's own time, or when they are full. */
function start(url: string, env: Record<string, string> = {}) {
  const clock = createTestClock();
  const lines: string[] = [];
  const config = readConfig({ OTEL_EXPORTER_OTLP_ENDPOINT: url, ...env });
  const log = createLog("info", (line) => lines.push(line));
  const traces = createTraces({
    ...{ config, clock, timers: { ...clock, after: systemClock.after }, log },
    ids: { ...createIds(clock), jitter: () => 0.5 },
  });
  const serve = (times: number, traceparent: string | null = null) => {
    const headers = new Headers(traceparent === null ? {} : { traceparent });
    for (let i = 0; i < times; i++) {
      const request = { method: "GET", headers };
      const times = { at: clock.now(), started: clock.elapsed() };
      const rest = { about: undefined, changed: false, credential: { caller: () => null } };
      traces.answered({ request, id: "r", ...times, ...rest }, "/x", 200);
    }
  };
  const counts = async () =>
    Object.fromEntries(
      ((await traces.metrics[0]!.read()) as [{ result: string }, number][]).map(
        ([{ result }, count]) => [result, count],
      ),
    );
  const told = () => lines.map((line) => JSON.parse(line));
  return { clock, traces, serve, counts, told };
}

test("the sampler decides; a client cannot have everything traced", async () => {
  const collector = startCollector();
  const unsampled = PARENT.replace(/1$/, "0");
  const traced = async (sampler: Record<string, string>, header: string | null) => {
    const { traces, serve, counts } = start(collector.url, sampler);
    serve(100, header);
    await traces.stop(5);
    return (await counts()).sent;
  };
  const ratio = (part: string) => ({
    OTEL_TRACES_SAMPLER: "parentbased_traceidratio",
    OTEL_TRACES_SAMPLER_ARG: part,
  });
  expect(await traced({}, null)).toBe(100);
  expect(await traced({}, unsampled)).toBe(0);
  expect(await traced({ OTEL_TRACES_SAMPLER: "always_on" }, unsampled)).toBe(100);
  expect(await traced(ratio("0.6"), PARENT)).toBe(100);
  expect(await traced(ratio("0.4"), null)).toBe(0);
  // What clients ask for is bounded: the clock stands still.
  expect(await traced(ratio("0.4"), PARENT)).toBe(10);
  expect(await traced({ OTEL_TRACES_SAMPLER: "always_off" }, PARENT)).toBe(0);
  // What is not known is told and counts as unset.
  const unknown = { OTEL_TRACES_SAMPLER: "zanzibar", OTEL_TRACES_SAMPLER_ARG: "endpoint=zanzibar" };
  expect(await traced(unknown, null)).toBe(100);
  expect(start(collector.url, unknown).told()).toMatchObject(
    Object.keys(unknown).map((name) => ({ level: "warn", name })),
  );
  expect(collector.faults).toEqual([]);
  // Each stands for a process of its own, in which no other has sent a span.
  const instances = collector.resources.map((resource) => resource["service.instance.id"]);
  expect([instances.length, new Set(instances).size]).toEqual([5, 5]);
  expect(new Set(collector.spans.map(({ span_id }) => span_id)).size).toBe(410);
});

test("a collector that refuses is asked again, what it rejects counts as failed, and none of its text is logged", async () => {
  const collector = startCollector();
  /** What becomes of three spans, and how often the collector was asked. */
  const becomes = async (...answers: Response[]) => {
    collector.behave(() => answers.shift() ?? Response.json({}));
    const before = collector.requests();
    const { traces, serve, counts, told } = start(collector.url);
    serve(3);
    await traces.stop(5);
    expect(JSON.stringify(told())).not.toContain("zanzibar");
    const { sent, failed } = await counts();
    return { sent, failed, asked: collector.requests() - before, reason: told()[0]?.reason };
  };
  const headers = { "retry-after": "1" };
  expect(await becomes(new Response("zanzibar", { status: 503, headers }))).toEqual({
    ...{ sent: 3, failed: 0, asked: 2, reason: undefined },
  });
  // The same request would be refused again.
  for (const status of [400, 307]) {
    const response = new Response("zanzibar", { status, headers: { location: "/zanzibar" } });
    const reason = `HTTP_${status}`;
    expect(await becomes(response)).toEqual({ sent: 0, failed: 3, asked: 1, reason });
  }
  for (const [partialSuccess, failed] of [
    [{ rejectedSpans: "2", errorMessage: "zanzibar" }, 2],
    [{ rejectedSpans: "1000" }, 3],
    [{ rejectedSpans: -1 }, 0],
    [null, 0],
  ] as const) {
    const reason = failed === 0 ? undefined : "rejected in part";
    const outcome = await becomes(Response.json({ partialSuccess }));
    expect(outcome).toEqual({ sent: 3 - failed, failed, asked: 1, reason });
  }
  const away = start("http://127.0.0.1:1");
  away.serve(3);
  await away.traces.stop(0.3);
  expect(await away.counts()).toEqual({ sent: 0, failed: 0, dropped: 3 });

  const { clock, serve, counts, told } = start(collector.url);
  collector.behave(() => new Response("{}", { status: 400 }));
  for (const outcome of ["failed", "sent"]) {
    for (let seconds = 0; seconds < 3; seconds++) {
      serve(100);
      await clock.advance(1);
    }
    await until(async () => (await counts())[outcome]! > 0);
    collector.behave(() => Response.json({}));
  }
  expect(told().map(({ event }) => event)).toEqual(["traces not sent", "traces sent again"]);
});

test("a collector that hangs loses spans, within bounds, and a stop does not wait for it", async () => {
  const collector = startCollector();
  const { promise, resolve } = Promise.withResolvers<Response>();
  collector.behave(() => promise);
  const { clock, traces, serve, counts } = start(collector.url);
  for (let i = 0; i < 40; i++) {
    serve(200);
    await clock.advance(1);
  }
  await until(() => collector.requests() > 0);
  // One in two is traced, until the queue is full.
  expect(await counts()).toEqual({ sent: 0, failed: 0, dropped: 40 * 200 - 2_048 });
  const from = performance.now();
  await traces.stop(0.5);
  expect(performance.now() - from).toBeLessThan(2_000);
  expect(await counts()).toEqual({ sent: 0, failed: 0, dropped: 40 * 200 });
  resolve(new Response());
});

test("the environment's proxy is used, but not for this machine", async () => {
  const asked: string[] = [];
  const proxy = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch(request) {
      asked.push(request.url);
      return Response.json({});
    },
  });
  afterAll(() => proxy.stop(true));
  const collector = startCollector();
  const before = process.env.HTTP_PROXY;
  process.env.HTTP_PROXY = proxy.url.origin;
  try {
    for (const url of ["http://collector.example:4318", collector.url]) {
      const { traces, serve, counts } = start(url);
      serve(1);
      await traces.stop(5);
      expect((await counts()).sent).toBe(1);
    }
  } finally {
    if (before === undefined) delete process.env.HTTP_PROXY;
    else process.env.HTTP_PROXY = before;
  }
  expect(asked).toEqual(["http://collector.example:4318/v1/traces"]);
  expect(collector.spans).toHaveLength(1);
});

test("a wrong variable stops the start only if traces are on, and a sampler that is not known never", () => {
  expect(readConfig({}).OTEL_EXPORTER_OTLP_ENDPOINT).toBeUndefined();
  for (const [name, value] of [
    ["OTEL_EXPORTER_OTLP_ENDPOINT", "grpc://collector:4317"],
    ["OTEL_EXPORTER_OTLP_ENDPOINT", "http://user:zanzibar@collector"],
    ["OTEL_EXPORTER_OTLP_HEADERS", "zanzibar"],
    ["OTEL_EXPORTER_OTLP_HEADERS", "a=zanzibar%0d%0ax: y"],
  ] as const) {
    const collector = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318" };
    const read = () => readConfig({ ...collector, [name]: value });
    expect(read).toThrow(name);
    expect(read).not.toThrow("zanzibar");
    // A platform may set it for every container.
    if (name !== "OTEL_EXPORTER_OTLP_ENDPOINT") readConfig({ [name]: value });
    for (const off of [{ OTEL_SDK_DISABLED: "True" }, { OTEL_TRACES_EXPORTER: "none" }]) {
      const config = readConfig({ ...collector, [name]: value, ...off });
      expect(config.OTEL_EXPORTER_OTLP_ENDPOINT).toBeUndefined();
    }
  }
});
