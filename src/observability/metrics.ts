/** Metrics in the text format of Prometheus, read on each scrape. */

type Labels = Readonly<Record<string, string>>;

/** A value of a metric, with its labels. */
export type Sample<Value> = readonly [labels: Labels, value: Value];

/** The current value of a metric; null while it is unknown. */
type Reading<Value> = Value | readonly Sample<Value>[] | null;
type Values = () => Reading<number> | Promise<Reading<number>>;
type Histograms = () => Reading<Histogram>;

/** `name`: without `_bucket`, `_sum` and `_count`, which the lines of a histogram add. */
export type Metric = { readonly name: string; readonly help: string } & (
  | { readonly type: "counter" | "gauge"; readonly read: Values }
  | { readonly type: "histogram"; readonly read: Histograms }
);

const valuesOf =
  (type: "counter" | "gauge") =>
  (name: string, help: string, read: Values): Metric => ({ name, help, type, read });
export const counter = valuesOf("counter");
export const gauge = valuesOf("gauge");
export const histogram = (name: string, help: string, read: Histograms): Metric => {
  return { name, help, type: "histogram", read };
};

/** Counts values in buckets by size. */
export interface Histogram {
  observe(value: number): void;
  /** Inclusive upper bounds, ascending. */
  readonly bounds: readonly number[];
  /** Values in each bucket, not cumulative; the last bucket is above every bound. */
  readonly counts: readonly number[];
  sum(): number;
}

export function createHistogram(bounds: readonly number[]): Histogram {
  const counts = new Array<number>(bounds.length + 1).fill(0);
  let sum = 0;
  return {
    bounds,
    counts,
    sum: () => sum,
    observe(value) {
      let i = 0;
      while (i < bounds.length && value > bounds[i]!) i++;
      counts[i]!++;
      sum += value;
    },
  };
}

export function createMetrics() {
  const metrics = new Map<string, Metric>();
  return {
    /** Adds metrics; throws if a name is taken. */
    add(...more: readonly Metric[]): void {
      for (const metric of more) {
        if (metrics.has(metric.name)) throw new Error(`two metrics ${metric.name}`);
        metrics.set(metric.name, metric);
      }
    },

    /** Returns the exposition in format 0.0.4, without what cannot be read now. */
    async text(): Promise<string> {
      const parts = await Promise.all(
        [...metrics.values()].map(async (metric) => {
          const lines = await linesOf(metric).catch(() => []);
          if (lines.length === 0) return "";
          const { name, help, type } = metric;
          return `# HELP ${name} ${escapeHelp(help)}\n# TYPE ${name} ${type}\n${lines.join("")}`;
        }),
      );
      return parts.join("");
    },
  };
}

async function linesOf(metric: Metric): Promise<string[]> {
  const { name } = metric;
  if (metric.type === "histogram") {
    return samplesOf(metric.read()).flatMap(([labels, value]) => bucketLines(name, labels, value));
  }
  return samplesOf(await metric.read()).map(([labels, value]) => line(name, labels, value));
}

function samplesOf<Value>(reading: Reading<Value>): readonly Sample<Value>[] {
  if (reading === null) return [];
  return Array.isArray(reading) ? reading : [[{}, reading as Value]];
}

function bucketLines(name: string, labels: Labels, { bounds, counts, sum }: Histogram): string[] {
  let below = 0;
  const buckets = counts.map((count, i) => {
    below += count;
    return line(`${name}_bucket`, { ...labels, le: number(bounds[i] ?? Infinity) }, below);
  });
  return [...buckets, line(`${name}_sum`, labels, sum()), line(`${name}_count`, labels, below)];
}

function line(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapeLabel(text)}"`);
  return `${name}${pairs.length > 0 ? `{${pairs.join()}}` : ""} ${number(value)}\n`;
}

function number(value: number): string {
  return Number.isFinite(value) || Number.isNaN(value)
    ? String(value)
    : `${value > 0 ? "+" : "-"}Inf`;
}

const escapeHelp = (text: string) => text.replace(/\\/g, "\\\\").replace(/\n/g, "\\n");
const escapeLabel = (text: string) => escapeHelp(text).replace(/"/g, '\\"');
