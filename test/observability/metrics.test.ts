/** The text format of metrics, and a check that the tests' reader of it is strict. */

import { expect, test } from "bun:test";
import { createHistogram, createMetrics, type Metric } from "../../src/observability/metrics.ts";
import { readExposition, sampleOf } from "../support/exposition.ts";

const textOf = (...metrics: Metric[]) => {
  const registry = createMetrics();
  registry.add(...metrics);
  return registry.text();
};

test("values, labels and buckets of metrics follow the text format", async () => {
  const durations = createHistogram([0.1, 1]);
  for (const value of [0.05, 0.1, 0.125, 1, 7]) durations.observe(value);
  const odd = 'a\\b"c\nd';
  const text = await textOf(
    { name: "plain_total", help: "Of\none \\ line.", type: "counter", read: () => 3 },
    { name: "labelled", help: "h", type: "gauge", read: async () => [[{ a: odd, b: "" }, -1.5]] },
    { name: "took_seconds", help: "h", type: "histogram", read: () => [[{ of: "x" }, durations]] },
    {
      name: "extreme",
      help: "h",
      type: "gauge",
      read: () => [
        [{ i: "1" }, 1e-9],
        [{ i: "2" }, -Infinity],
        [{ i: "3" }, NaN],
      ],
    },
  );
  expect(text).toBe(`# HELP plain_total Of\\none \\\\ line.
# TYPE plain_total counter
plain_total 3
# HELP labelled h
# TYPE labelled gauge
labelled{a="a\\\\b\\"c\\nd",b=""} -1.5
# HELP took_seconds h
# TYPE took_seconds histogram
took_seconds_bucket{of="x",le="0.1"} 2
took_seconds_bucket{of="x",le="1"} 4
took_seconds_bucket{of="x",le="+Inf"} 5
took_seconds_sum{of="x"} 8.275
took_seconds_count{of="x"} 5
# HELP extreme h
# TYPE extreme gauge
extreme{i="1"} 1e-9
extreme{i="2"} -Inf
extreme{i="3"} NaN
`);
  expect(sampleOf(readExposition(text), "labelled", { a: odd, b: "" })).toBe(-1.5);
});

test("a metric whose value cannot be read is left out, and the others are listed", async () => {
  const text = await textOf(
    { name: "nothing", help: "h", type: "gauge", read: () => null },
    { name: "none", help: "h", type: "gauge", read: () => [] },
    { name: "late", help: "h", type: "gauge", read: () => Promise.reject(new Error("away")) },
    {
      name: "broken",
      help: "h",
      type: "gauge",
      read: () => {
        throw new Error("broken");
      },
    },
    { name: "there", help: "h", type: "gauge", read: () => 1 },
  );
  expect([...readExposition(text).keys()]).toEqual(["there"]);
});

test("a metric's name is accepted once", () => {
  const metric: Metric = { name: "once", help: "h", type: "gauge", read: () => 1 };
  expect(() => textOf(metric, metric)).toThrow("once");
});

test("the reader of the tests refuses what the text format does not allow", () => {
  const head = "# HELP a h\n# TYPE a gauge\n";
  const histogram = "# HELP h h\n# TYPE h histogram\n";
  const bad = [
    `${head}a 1`,
    `${head}`,
    `${head}b 1\n`,
    `${head}a one\n`,
    `${head}a 1\na 2\n`,
    `${head}a{x="1" 1\n`,
    `${head}a{x="1",x="2"} 1\n`,
    `${head}a{x="\\t"} 1\n`,
    `${head}a 1\n${head}a{x="1"} 2\n`,
    "a 1\n",
    "# HELP a h\n# TYPE a counter\na 1\n",
    `${histogram}h_bucket{le="1"} 2\nh_bucket{le="+Inf"} 1\nh_sum 1\nh_count 1\n`,
    `${histogram}h_bucket{le="1"} 1\nh_sum 1\nh_count 1\n`,
    `${histogram}h_bucket{le="+Inf"} 1\nh_sum 1\nh_count 2\n`,
    `${histogram}h_bucket{le="+Inf"} 1\nh_count 1\n`,
  ];
  for (const text of bad) expect(() => readExposition(text)).toThrow();
});
