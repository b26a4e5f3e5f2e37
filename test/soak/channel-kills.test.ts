/** Two processes send by four channels at once while one after the other is killed: nothing is lost. */

import { expect, test } from "bun:test";
import { killChannelSenders } from "../support/channel-load.ts";
import { seeded } from "../support/random.ts";

const ROUNDS = 2;

test(
  "kill -9 in mid-send with four kinds of channels: every question and end arrives on each",
  seeded("killed senders of four channels", async (random) => {
    const { in_send, open, answered } = await killChannelSenders({ rounds: ROUNDS, random });
    expect(in_send).toBeGreaterThan(0);
    expect(open).toBeGreaterThan(ROUNDS);
    expect(answered).toBeGreaterThan(0);
  }),
  180_000,
);
