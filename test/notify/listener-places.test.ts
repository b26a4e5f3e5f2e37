/** Which keys a process listens for if there are more than it may have (§19.8.4). */

import { expect, test } from "bun:test";
import { openStore } from "../../db/store/open.ts";
import { systemClock } from "../../src/clock.ts";
import { readConfig } from "../../src/config.ts";
import { createIds } from "../../src/ids.ts";
import { createLog } from "../../src/log.ts";
import type { Channel } from "../../src/notify/channel.ts";
import type { Listening } from "../../src/notify/listen.ts";
import { createListener } from "../../src/notify/listener.ts";
import { startTestApp } from "../support/app.ts";
import { createTestClock } from "../support/clock.ts";
import { startNtfy } from "../support/ntfy.ts";
import { addReplies, createRepliesPerson } from "../support/replies.ts";
import { createTestStore } from "../support/store.ts";

/** Keys that the listener may have. */
const MOST = 3;

test("an account with many connections leaves places to accounts with one, also after it took them all [§19.8.4]", async () => {
  const { url } = await createTestStore();
  const store = await openStore({ url, auth_token: undefined }, systemClock);
  const app = await startTestApp({ database_url: url });
  await app.listener.stop();
  const ntfy = await startNtfy();
  const clock = createTestClock();
  const open = new Set<string>();
  const channel = {
    name: "ntfy",
    lanes: [],
    listen: {
      keyOf: () => null,
      most: null,
      async open({ channels, signal }: Listening) {
        const [{ channel_id } = { channel_id: "" }] = channels();
        open.add(channel_id);
        const { promise, resolve } = Promise.withResolvers<void>();
        signal.addEventListener("abort", () => resolve());
        await promise;
        open.delete(channel_id);
        return { reason: "ok", least: 1, most: 1, shows: false };
      },
    },
  } as unknown as Channel;
  const start = () => {
    const listener = createListener({
      ...{ store, clock, timers: systemClock, ids: createIds(clock), channels: [channel] },
      ...{ log: createLog("error", () => {}), config: readConfig({}), most_keys: MOST },
      outbound: undefined as never,
      handle: async () => ({ is: "unknown" }),
    });
    listener.start();
    return listener;
  };
  const advance = async (listener: ReturnType<typeof start>, seconds: number) => {
    for (let i = 0; i < seconds; i++) {
      await clock.advance(1);
      await listener.settled();
    }
  };
  const add = (token: string) => createRepliesPerson(app.local_url, ntfy, { token });

  const many = await add("tk_0");
  for (let i = 1; i < 6; i++) await addReplies(many, ntfy, { token: `tk_${i}` });
  const first = start();
  await advance(first, 2);
  expect(open.size).toBe(MOST);
  const others = [await add("tk_a"), await add("tk_b")];
  await advance(first, 25);
  const served = [many, ...others].map(({ channel: { id } }) => id).sort();
  expect([...open].sort()).toEqual(served);
  // Nothing is given up for keys that are no better.
  const third = await add("tk_c");
  await advance(first, 25);
  expect([...open].sort()).toEqual(served);

  await first.stop();
  const second = start();
  await advance(second, 2);
  const firsts = [...served, third.channel.id];
  expect(open.size).toBe(MOST);
  expect([...open].filter((id) => !firsts.includes(id))).toEqual([]);
  await second.stop();
});
