/** The process that listens for replies is killed while people answer: every answer arrives once. */

import { expect, test } from "bun:test";
import { LEASE } from "../../src/notify/core/leases.ts";
import { seeded } from "../support/random.ts";
import { killReplyReaders } from "../support/reply-kills.ts";

const ROUNDS = 2;

test(
  "when the listening process is killed, every answer sent meanwhile arrives once, after its lease [§19.8.4]",
  seeded("killed listeners", async (random) => {
    const seconds = await killReplyReaders({ rounds: ROUNDS, random });
    expect(Math.max(...seconds)).toBeLessThan(LEASE + 10);
  }),
  180_000,
);
