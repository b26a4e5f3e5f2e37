/**
 * `bun run kills:channels`: as test/soak/channel-kills.test.ts, with many rounds. The store is that of
 * `RELAY_TEST_STORE`.
 */

import { test } from "bun:test";
import { killChannelSenders } from "../test/support/channel-load.ts";

const ROUNDS = 20;

test("kill -9 in mid-send with four kinds of channels, many rounds", async () => {
  const result = await killChannelSenders({ rounds: ROUNDS, random: Math.random });
  process.stdout.write(`${ROUNDS} kills: ${JSON.stringify(result)}\n`);
}, 1_200_000);
