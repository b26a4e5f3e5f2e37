/** What a panel of the Grafana dashboard says, and how its queries are written. */

interface Query {
  readonly expr: string;
  /** The name of each series, with labels in double braces. */
  readonly legend: string;
}

export interface PanelPlan {
  readonly title: string;
  /** What it shows, and what is usual. */
  readonly about: string;
  /** A unit of Grafana. */
  readonly unit: string;
  readonly queries: readonly Query[];
  /** `stat`: the current values. Absent: a chart over time. */
  readonly kind?: "stat";
  /** Shown in place of the values 0 and 1. */
  readonly words?: readonly [no: string, yes: string];
}

export interface RowPlan {
  readonly title: string;
  readonly panels: readonly PanelPlan[];
}

/** Selects a metric of the chosen processes. `more`: further matchers. */
export const of = (metric: string, ...more: readonly string[]): string =>
  `${metric}{${['job=~"$job"', 'instance=~"$instance"', ...more].join(", ")}}`;
export const rate = (metric: string, ...more: readonly string[]): string =>
  `rate(${of(metric, ...more)}[$__rate_interval])`;
export const sumBy = (labels: string, expr: string): string => `sum by (${labels}) (${expr})`;
export const quantile = (
  part: number,
  histogram: string,
  labels: string,
  ...more: readonly string[]
) => `histogram_quantile(${part}, ${sumBy(`${labels}, le`, rate(`${histogram}_bucket`, ...more))})`;

/** One chart with a line for each process. */
export const perProcess = (
  title: string,
  about: string,
  unit: string,
  ...metrics: readonly (readonly [name: string, expr: string])[]
): PanelPlan => ({
  ...{ title, about, unit },
  queries: metrics.map(([name, expr]) => ({
    expr,
    legend: name === "" ? "{{instance}}" : `${name} {{instance}}`,
  })),
});

export const quantiles = (histogram: string) =>
  ([0.5, 0.95, 0.99] as const).map((part) => ({
    expr: quantile(part, histogram, "job"),
    legend: `p${part * 100}`,
  }));
