/** The rule by which a figure of the soak counts as flat. */

import { expect, test } from "bun:test";
import { FIGURES, type Sample, trendOf } from "../../bench/soak/figures.ts";
import { seeded } from "../support/random.ts";

/** Half an hour of samples whose memory follows `memory` (megabytes by minutes) with noise. */
const samplesOf = (random: () => number, memory: (minutes: number) => number): Sample[] =>
  Array.from({ length: 180 }, (_, i) => ({
    seconds: i * 10,
    rss_bytes: (memory(i / 6) + random() * 6) * 1e6,
    descriptors: 30 + Math.floor(random() * 5),
    wal_bytes: 15e6,
    lag_seconds: 1e-4 * random(),
    cpu_seconds: i,
  }));
const [memory, ...others] = FIGURES;

test(
  "noise, a spike and growth during the warm-up are flat, a leak is not",
  seeded("soak figures", async (random) => {
    const flat = samplesOf(
      random,
      (minutes) => 120 + Math.min(minutes, 9) * 8 + (minutes === 20 ? 300 : 0),
    );
    expect(FIGURES.map((one) => trendOf(flat, one).flat)).toEqual([true, true, true, true]);
    // A megabyte a minute, below the noise between two samples.
    const leak = samplesOf(random, (minutes) => 120 + minutes);
    const { flat: is_flat, growth, p } = trendOf(leak, memory!);
    expect(is_flat).toBe(false);
    expect([growth > 17 && growth < 23, p < 1e-6]).toEqual([true, true]);
    expect(others.map((one) => trendOf(leak, one).flat)).toEqual([true, true, true]);
    expect(() => trendOf(leak.slice(0, 8), memory!)).toThrow("too few samples");
  }),
);
