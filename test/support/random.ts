/** Repeatable random choices: each test draws from the run's seed and its own name. */

import { randomInt } from "node:crypto";

/** `RELAY_TEST_SEED`; the suite's runner gives all files the same one. */
export const SEED = Number(process.env.RELAY_TEST_SEED ?? randomInt(2 ** 32)) | 0;

/** Returns at least 0 and less than 1. */
export type Random = () => number;

/** The sequence of this name; the same for each call within a seed. */
function createRandom(name: string): Random {
  let state = (SEED ^ Bun.hash.crc32(name)) >>> 0;
  // Mulberry32.
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The body of a test with random choices; a failure reports the seed. */
export function seeded(name: string, body: (random: Random) => Promise<void>) {
  return async (): Promise<void> => {
    try {
      await body(createRandom(name));
    } catch (error) {
      process.stderr.write(`The random choices were made with RELAY_TEST_SEED=${SEED}\n`);
      throw error;
    }
  };
}
