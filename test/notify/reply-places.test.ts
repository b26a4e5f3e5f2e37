/** Whose replies are read if there are more keys than a process may have (§19.8.4). */

import { expect, test } from "bun:test";
import { openStore } from "../../db/store/open.ts";
import { systemClock } from "../../src/clock.ts";
import { readConfig } from "../../src/config.ts";
import { createIds } from "../../src/ids.ts";
import { createLog } from "../../src/log.ts";
import type { Channel } from "../../src/notify/core/channel.ts";
import { createReplyReader } from "../../src/notify/replies/reader.ts";
import type { ReplyConnection } from "../../src/notify/replies/source.ts";
import { startTestApp } from "../support/app.ts";
import { createTestClock } from "../support/clock.ts";
import { startNtfy } from "../support/ntfy.ts";
import { addReplies, createRepliesPerson } from "../support/replies.ts";
import { createTestStore } from "../support/store.ts";

/** Keys that the reply_reader may have. */
const MOST = 3;

test("an account with many connections leaves places to others at once, and a channel without one says so [§19.8.4]", async () => {
  const { url } = await createTestStore();
  const store = await openStore({ url, auth_token: undefined }, systemClock);
  const app = await startTestApp({ database_url: url });
  await app.reply_reader.stop();
  const ntfy = await startNtfy();
  const clock = createTestClock();
  const open = new Set<string>();
  const source = {
    name: "ntfy",
    lanes: [],
    replies: {
      keyOf: () => null,
      most: null,
      async open({ channels, signal, works }: ReplyConnection) {
        const [{ channel_id } = { channel_id: "" }] = channels();
        works();
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
    const reply_reader = createReplyReader({
      ...{ store, clock, timers: systemClock, ids: createIds(clock), channels: [source] },
      ...{ log: createLog("error", () => {}), config: readConfig({}), most_keys: MOST },
      outbound: undefined as never,
      handle: async () => ({ is: "unknown" }),
    });
    reply_reader.start();
    return reply_reader;
  };
  const advance = async (reply_reader: ReturnType<typeof start>, seconds: number) => {
    for (let i = 0; i < seconds; i++) {
      await clock.advance(1);
      await reply_reader.settled();
    }
  };
  const add = (token: string) => createRepliesPerson(app.local_url, ntfy, { token });

  const many = await add("tk_0");
  for (let i = 1; i < 6; i++) await addReplies(many, ntfy, { token: `tk_${i}` });
  const first = start();
  await advance(first, 2);
  expect(open.size).toBe(MOST);
  const others = [await add("tk_a"), await add("tk_b")];
  await advance(first, 2);
  const served = [many, ...others].map(({ channel: { id } }) => id).sort();
  expect([...open].sort()).toEqual(served);
  const states = async () =>
    (await many.person.send("GET /v1/channels")).body.channels.map(
      ({ state, last_error }: any) => last_error?.code ?? state,
    );
  expect((await states()).sort()).toEqual(["ok", ...Array(5).fill("too_many_channels")]);
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
  // A place that becomes free is given at once.
  for (const { person, channel } of [...others, third]) {
    await person.send(`DELETE /v1/channels/${channel.id}`);
  }
  await advance(second, 3);
  expect(open.size).toBe(MOST);
  expect((await states()).filter((state: string) => state === "too_many_channels")).toHaveLength(3);
  await second.stop();
});
