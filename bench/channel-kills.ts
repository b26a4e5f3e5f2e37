/**
 * `bun run kills:channels`: the soak tests of channels and of replies with many rounds. `RELAY_TEST_STORE` names the
 * kind of store.
 */

import { test } from "bun:test";
import { killChannelSenders } from "../test/support/channel-load.ts";
import { killReplyReaders } from "../test/support/reply-kills.ts";

const ROUNDS = 20;

test("when processes are killed in mid-send, every question and end arrives on each of four channels, in many rounds", async () => {
  const result = await killChannelSenders({ rounds: ROUNDS, random: Math.random });
  process.stdout.write(`${ROUNDS} kills: ${JSON.stringify(result)}\n`);
}, 1_200_000);

test("when the listening process is killed, every answer sent meanwhile arrives once, in many rounds", async () => {
  const seconds = await killReplyReaders({ rounds: ROUNDS, random: Math.random });
  process.stdout.write(
    `${ROUNDS} kills of listeners: the last answer after ${seconds.join(", ")} s\n`,
  );
}, 1_200_000);
