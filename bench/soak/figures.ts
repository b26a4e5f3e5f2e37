/** What a soak measures, and the rule by which a figure counts as flat. */

/** The figures of the process at one moment. */
export interface Sample {
  /** Since the start of the load. */
  readonly seconds: number;
  readonly rss_bytes: number;
  readonly descriptors: number;
  readonly wal_bytes: number;
  /** Median delay of timers in the last minute. */
  readonly lag_seconds: number;
  /** Since the start of the process. */
  readonly cpu_seconds: number;
}

/** A figure that must not grow. */
interface Figure {
  readonly name: Exclude<keyof Sample, "seconds" | "cpu_seconds">;
  readonly title: string;
  readonly unit: string;
  /** One unit, in the sample's. */
  readonly scale: number;
  /** Growth over the measured time that does not matter, in the figure's unit. */
  readonly floor: number;
}

export const FIGURES: readonly Figure[] = [
  { name: "rss_bytes", title: "Resident memory", unit: "MB", scale: 1e6, floor: 8 },
  { name: "descriptors", title: "Open descriptors", unit: "", scale: 1, floor: 4 },
  { name: "wal_bytes", title: "Write-ahead log", unit: "MB", scale: 1e6, floor: 1 },
  { name: "lag_seconds", title: "Event loop lag, median", unit: "ms", scale: 1e-3, floor: 2 },
];

/** The first part of the run does not count: caches fill, and the compiler warms up. */
const WARM_UP = 1 / 3;
/** A trend counts if it is this unlikely without one (Mann-Kendall, one-sided). */
const SIGNIFICANT = 0.01;
/** And if it adds more than this part of the median over the measured time. */
const GROWTH = 0.1;

export interface Trend {
  readonly median: number;
  /** Theil-Sen slope times the measured time: what was added in it, in the figure's unit. */
  readonly growth: number;
  /** Probability of such a trend by chance. */
  readonly p: number;
  readonly flat: boolean;
}

const medianOf = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
};

/** The samples that count. */
export function measured(samples: readonly Sample[]): readonly Sample[] {
  const from = (samples.at(-1)?.seconds ?? 0) * WARM_UP;
  return samples.filter(({ seconds }) => seconds >= from);
}

/**
 * Whether a figure is flat after the warm-up. It is not if both hold: a rising trend is significant at 1 % by the
 * Mann-Kendall test, and the Theil-Sen slope adds more than a tenth of the median, and more than the floor, over the
 * measured time. Neither test assumes a distribution, and a single spike moves neither of them.
 */
export function trendOf(samples: readonly Sample[], { name, scale, floor }: Figure): Trend {
  const points = measured(samples).map((one) => [one.seconds, one[name] / scale] as const);
  if (points.length < 10 || points.some(([, y]) => !Number.isFinite(y))) {
    throw new Error(`${name}: too few samples`);
  }
  const slopes: number[] = [];
  let rises = 0;
  for (let i = 0; i < points.length; i++) {
    for (let j = i + 1; j < points.length; j++) {
      const rise = points[j]![1] - points[i]![1];
      rises += Math.sign(rise);
      slopes.push(rise / (points[j]![0] - points[i]![0]));
    }
  }
  const n = points.length;
  const ties = [...Map.groupBy(points, ([, y]) => y).values()].map(({ length }) => length);
  const spread = (k: number) => k * (k - 1) * (2 * k + 5);
  const variance = (spread(n) - ties.reduce((sum, k) => sum + spread(k), 0)) / 18;
  const z = variance === 0 || rises <= 0 ? 0 : (rises - 1) / Math.sqrt(variance);
  const p = upperTail(z);
  const median = medianOf(points.map(([, y]) => y));
  const growth = medianOf(slopes) * (points.at(-1)![0] - points[0]![0]);
  const flat = p > SIGNIFICANT || growth <= Math.max(GROWTH * median, floor);
  return { median, growth, p, flat };
}

/** The probability that a standard normal variable exceeds `z`, to 7 digits (Abramowitz and Stegun 26.2.17). */
function upperTail(z: number): number {
  const t = 1 / (1 + 0.2316419 * z);
  const terms = [0.31938153, -0.356563782, 1.781477937, -1.821255978, 1.330274429];
  const sum = terms.reduce((total, term, i) => total + term * t ** (i + 1), 0);
  return (Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI)) * sum;
}
