/** A strict reader for Prometheus' text format 0.0.4. */

interface TimeSeries {
  /** With `_bucket`, `_sum` or `_count` if it belongs to a histogram. */
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

interface Family {
  readonly type: string;
  readonly help: string;
  readonly series: TimeSeries[];
}

export type Exposition = ReadonlyMap<string, Family>;

const NAME = /^[a-z_][a-z0-9_]*$/;
const LINE = /^([a-z_][a-z0-9_]*)(?:\{(.+)\})? (\S+)$/;
const LABEL = /^([a-z_][a-z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)/;

/** Throws for anything that the format, or its naming convention, does not allow. */
export function readExposition(text: string): Exposition {
  const families = new Map<string, Family>();
  const seen = new Set<string>();
  if (!text.endsWith("\n")) throw new Error("the last line has no end");
  const lines = text.slice(0, -1).split("\n");
  let at = 0;
  while (at < lines.length) {
    const help = /^# HELP (\S+) (\S.*)$/.exec(lines[at++]!) ?? fault("no HELP", lines[at - 1]);
    const type = /^# TYPE (\S+) (\S+)$/.exec(lines[at++]!) ?? fault("no TYPE", lines[at - 1]);
    const [, name = "", words = ""] = help;
    if (type[1] !== name || !NAME.test(name)) fault("another name", name);
    if (!["counter", "gauge", "histogram"].includes(type[2]!)) fault("type", type[2]);
    if (families.has(name)) fault("a family twice", name);
    if ((type[2] === "counter") !== name.endsWith("_total")) fault("_total is for counters", name);
    const family: Family = { type: type[2]!, help: words, series: [] };
    families.set(name, family);
    while (at < lines.length && !lines[at]!.startsWith("#")) {
      const series = readLine(lines[at++]!);
      const key = JSON.stringify([series.name, Object.entries(series.labels).sort()]);
      if (seen.has(key)) fault("a series twice", key);
      seen.add(key);
      const own = family.type === "histogram" ? /^(.+)_(bucket|sum|count)$/ : /^(.+)()$/;
      if (own.exec(series.name)?.[1] !== name) fault("a line of another family", series.name);
      if (family.type !== "gauge" && !(series.value >= 0)) fault("below zero", key);
      family.series.push(series);
    }
    if (family.series.length === 0) fault("a family without a line", name);
    if (family.type === "histogram") checkHistogram(name, family.series);
  }
  return families;
}

/** The value of one series; undefined if there is none. */
export function sampleOf(all: Exposition, name: string, labels: Record<string, string> = {}) {
  const family = all.get(name) ?? all.get(name.replace(/_(bucket|sum|count)$/, ""));
  return family?.series.find(
    (series) => series.name === name && Bun.deepEquals(series.labels, labels),
  )?.value;
}

function readLine(line: string): TimeSeries {
  const [, name = "", inside = "", number = ""] = LINE.exec(line) ?? fault("no line", line);
  const labels: Record<string, string> = {};
  for (let rest = inside; rest !== ""; ) {
    const [whole, label = "", text = ""] = LABEL.exec(rest) ?? fault("labels", line);
    if (label in labels) fault("a label twice", line);
    labels[label] = text.replace(/\\(.)/g, (_, sign: string) => (sign === "n" ? "\n" : sign));
    rest = rest.slice(whole.length);
  }
  if (!/^([+-]?(\d+(\.\d+)?(e[+-]?\d+)?|Inf)|NaN)$/.test(number)) fault("number", line);
  return { name, labels, value: Number(number.replace("Inf", "Infinity")) };
}

/** A histogram's buckets are adjacent, grow, and end with the one that counts everything. */
function checkHistogram(name: string, all: readonly TimeSeries[]): void {
  const groups = Map.groupBy(all, ({ labels: { le: _, ...labels } }) => JSON.stringify(labels));
  for (const [labels, series] of groups) {
    const buckets = series.slice(0, -2);
    const [sum, count] = series.slice(-2);
    if (sum?.name !== `${name}_sum` || count?.name !== `${name}_count`) fault("order", labels);
    let below = 0;
    let bound = -Infinity;
    for (const bucket of buckets) {
      const le = Number(bucket.labels.le?.replace("Inf", "Infinity"));
      if (bucket.name !== `${name}_bucket` || !(le > bound)) fault("bounds", labels);
      if (bucket.value < below) fault("a bucket that shrinks", labels);
      below = bucket.value;
      bound = le;
    }
    if (bound !== Infinity || below !== count!.value) fault("the last bucket", labels);
  }
}

function fault(what: string, where: unknown): never {
  throw new Error(`${what}: ${String(where)}`);
}
