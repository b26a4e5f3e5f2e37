/**
 * A dump of a store of version 0.1.0 reads and pushes the same here [§17.4]. `earlier/` has the dump, and
 * what 0.1.0 itself answered and sent from it, with the clock at `at`.
 */

import { expect, test } from "bun:test";
import { createClient } from "@libsql/client";
import { startTestApp } from "../support/app.ts";
import { startApple } from "../support/apple.ts";
import { client } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { createEmptyStore } from "../support/store.ts";
import recorded from "./earlier/store-0.1.0.json";

const DUMP = new URL("./earlier/store-0.1.0.sql", import.meta.url);

test("a store of 0.1.0 with data of every kind reads and pushes as 0.1.0 did", async () => {
  const { url } = await createEmptyStore();
  const raw = createClient({ url });
  await raw.executeMultiple(await Bun.file(DUMP).text());
  raw.close();

  const clock = createTestClock();
  clock.shiftWall(recorded.at - clock.now());
  const apple = await startApple({ now: clock.now });
  const env = apple.env("SANDBOX");
  const app = await startTestApp({ clock, database_url: url, env, jitter: () => 1 });
  const tokens = { account: recorded.account, agent: recorded.agent };
  for (const [request, body] of Object.entries(recorded.reads)) {
    const [who, , path] = request.split(" ") as [keyof typeof tokens, string, `/${string}`];
    const answer = await client(app.url, tokens[who])(`GET ${path}`);
    expect([request, answer.status]).toEqual([request, 200]);
    // Later versions may have added fields.
    expect(answer.body).toMatchObject(body);
  }
  for (let i = 0; i < 140; i++) {
    await app.sender.settled();
    await clock.advance(0.5);
  }
  await app.sender.settled();
  const sent = apple.delivered.map(({ collapse_id = null, time, ...push }) => {
    const { token, apns_id, type, topic, priority, payload } = push;
    const after = Math.round((time - recorded.at) * 10) / 10;
    return { token, apns_id, type, topic, priority, collapse_id, payload, after };
  });
  const sorted = (pushes: readonly { apns_id: string }[]) =>
    pushes.toSorted((a, b) => a.apns_id.localeCompare(b.apns_id));
  expect(sorted(sent)).toEqual(sorted(recorded.pushes));
  expect(new Set(sent.map(({ payload }) => payload.relay.event)).size).toBeGreaterThan(6);
  expect(apple.faults).toEqual([]);
}, 300_000);
