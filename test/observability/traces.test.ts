/** Traces by OTLP: what spans say, who decides what is traced, and a collector that fails. */

import { afterAll, expect, test } from "bun:test";
import { readConfig } from "../../src/config.ts";
import { createIds } from "../../src/ids.ts";
import { createLog } from "../../src/log.ts";
import { createTraces, readTraceparent } from "../../src/observability/traces.ts";
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

/** Traces with a test clock, to the URL of a collector. */
function start(url: string, env: Record<string, string> = {}) {
  const clock = createTestClock();
  const lines: string[] = [];
  const config = readConfig({ OTEL_EXPORTER_OTLP_ENDPOINT: url, ...env });
  const log = createLog("info", (line) => lines.push(line));
  const traces = createTraces({
    ...{ config, clock, timers: clock, log },
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
  const told = () => lines.map((line) => JSON.parse(line).event);
  return { clock, traces, serve, counts, told, lines };
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
  expect(collector.faults).toEqual([]);
  // Each stands for a process of its own, in which no other has sent a span.
  const instances = collector.resources.map((resource) => resource["service.instance.id"]);
  expect([instances.length, new Set(instances).size]).toEqual([4, 4]);
  expect(new Set(collector.spans.map(({ span_id }) => span_id)).size).toBe(310);
  for (const wrong of [
    "",
    "x",
    `ff${PARENT.slice(2)}`,
    `${PARENT}-1`,
    PARENT.replace(/ab/g, "00"),
  ]) {
    expect([wrong, readTraceparent(wrong)]).toEqual([wrong, null]);
  }
  expect(readTraceparent(`01${PARENT.slice(2)}-more`)?.sampled).toBe(true);
});

test("a collector that refuses, hangs or is away loses spans, and nothing waits for it", async () => {
  const collector = startCollector();
  const one = start(collector.url);
  const answers = [503, 429, 200, 400];
  collector.behave(() => {
    const status = answers.shift() ?? 200;
    return new Response("{}", { status, headers: { "retry-after": "3" } });
  });
  /** Lets time pass until the collector was asked so often. */
  const asked = (requests: number, { clock }: typeof one) =>
    until(async () => {
      // In small steps, so that the answer of a busy machine comes in time.
      await clock.advance(0.25);
      return collector.requests() >= requests;
    });
  one.serve(1);
  await asked(3, one);
  await until(async () => (await one.counts()).sent === 1);
  expect(one.told()).toEqual(["traces not sent", "traces sent again"]);
  // Not repeated: the same request would be refused again.
  one.serve(1);
  await asked(4, one);
  await until(async () => (await one.counts()).failed === 1);
  one.serve(1);
  await asked(5, one);
  await until(async () => (await one.counts()).sent === 2);
  expect(collector.spans).toHaveLength(2);
  // Accepted, but without two spans: told, and never sent again, whatever the response says besides.
  const answered = [
    { partialSuccess: { rejectedSpans: "2", errorMessage: "zanzibar" } },
    { partialSuccess: { rejectedSpans: "1000" } },
    { partialSuccess: { rejectedSpans: -1 } },
    null,
  ];
  collector.behave(() => Response.json(answered.shift()));
  const three = start(collector.url);
  for (const [sent, failed] of [
    [1, 2],
    [1, 5],
    [4, 5],
    [7, 5],
  ]) {
    const requests = collector.requests() + 1;
    three.serve(3);
    await asked(requests, three);
    await until(async () => {
      const counts = await three.counts();
      return counts.sent === sent && counts.failed === failed;
    });
    expect(collector.requests()).toBe(requests);
  }
  expect(three.told()[0]).toBe("traces not sent");
  expect(JSON.stringify(three.lines)).not.toContain("zanzibar");

  const { promise, resolve } = Promise.withResolvers<Response>();
  collector.behave(() => promise);
  const two = start(collector.url);
  for (let i = 0; i < 40; i++) {
    two.serve(200);
    await two.clock.advance(1);
  }
  const { dropped, sent, failed } = await two.counts();
  // One in two is traced, a batch is under way or was given up, and the queue is full.
  expect([sent, failed! + dropped!]).toEqual([0, 40 * 200 - 2_048 - 256]);
  const from = two.clock.elapsed();
  const stopping = two.traces.stop(0.5);
  await two.clock.advance(0.5);
  await stopping;
  expect(two.clock.elapsed() - from).toBeLessThan(1);
  expect((await two.counts()).sent).toBe(0);
  resolve(new Response());
});

test("without a collector nothing of it is loaded, and a wrong variable stops the start", () => {
  expect(readConfig({}).OTEL_EXPORTER_OTLP_ENDPOINT).toBeUndefined();
  for (const [name, value] of [
    ["OTEL_EXPORTER_OTLP_ENDPOINT", "grpc://collector:4317"],
    ["OTEL_EXPORTER_OTLP_ENDPOINT", "http://user:zanzibar@collector"],
    ["OTEL_EXPORTER_OTLP_HEADERS", "zanzibar"],
    ["OTEL_EXPORTER_OTLP_HEADERS", "a=zanzibar%0d%0ax: y"],
    ["OTEL_TRACES_SAMPLER", "zanzibar"],
    ["OTEL_TRACES_SAMPLER_ARG", "1.5"],
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
