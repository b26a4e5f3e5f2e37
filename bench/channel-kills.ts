/**
 * `bun run kills:channels`: test/soak/channel-kills.test.ts with many rounds. `RELAY_TEST_STORE` names the
 * kind of store.
 */

import { test } from "bun:test";
import { killChannelSenders } from "../test/support/channel-load.ts";

const ROUNDS = 20;

test("when processes are killed in mid-send, every question and end arrives on each of four channels, in many rounds", async () => {
  const result = await killChannelSenders({ rounds: ROUNDS, random: Math.random });
  process.stdout.write(`${ROUNDS} kills: ${JSON.stringify(result)}\n`);
}, 1_200_000);
