/** Two processes send by four channels while one of them is killed in turn: nothing is lost. */

import { expect, test } from "bun:test";
import { killChannelSenders } from "../support/channel-load.ts";
import { seeded } from "../support/random.ts";

const ROUNDS = 2;

test(
  "when processes are killed in mid-send, every question and end arrives on each of four channels",
  seeded("killed senders of four channels", async (random) => {
    const { in_send, open, answered } = await killChannelSenders({ rounds: ROUNDS, random });
    expect(in_send).toBeGreaterThan(0);
    expect(open).toBeGreaterThan(ROUNDS);
    expect(answered).toBeGreaterThan(0);
  }),
  180_000,
);
