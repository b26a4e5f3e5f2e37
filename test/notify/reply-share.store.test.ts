/** A hundred listeners of one account, all of them hostile, delay no answer of another (§19.8.8). */

import { expect, test } from "bun:test";
import { openStore } from "../../db/store/open.ts";
import { sql } from "../../db/store/sql.ts";
import { statement } from "../../db/store/statement.ts";
import { systemClock } from "../../src/clock.ts";
import { startTestApp } from "../support/app.ts";
import { measureSlowdown } from "../support/cpu-share.ts";
import { startNtfy, tap } from "../support/ntfy.ts";
import { createRepliesPerson } from "../support/replies.ts";
import { createTestStore } from "../support/store.ts";
import { until } from "../support/until.ts";

const WAYS = ["hang", "flood", "endless line", "drop"] as const;
/** Channels of one server, each with a token of its own and so with a connection of its own. */
const EACH = 25;

test("listeners that hang, flood, send 60 KB lines or never end one leave another's answer under 2 seconds [§19.8.8]", async () => {
  const { url: database_url } = await createTestStore();
  const store = await openStore({ url: database_url, auth_token: undefined }, systemClock);
  const app = await startTestApp({ database_url });
  const good = await startNtfy();
  const victim = await createRepliesPerson(app.local_url, good);
  const attacker = await createRepliesPerson(app.local_url, good);
  const hostile = await Promise.all(
    WAYS.map(async (way) => {
      const server = await startNtfy();
      server.treatSubscriptions(way);
      return server;
    }),
  );
  for (const server of hostile) {
    for (let i = 0; i < EACH; i++) {
      // More than an account may add: as rows of one account, below.
      if (i % 15 === 0) Object.assign(attacker, await createRepliesPerson(app.local_url, good));
      const body = {
        type: "ntfy",
        label: `${i}`,
        url: server.url,
        replies: true,
        token: `tk_${i}`,
      };
      expect((await attacker.person.send("POST /v1/channels", body)).status).toBe(201);
    }
  }
  const whole = `update channels set account_id = '${attacker.person.account.id}' where label <> 'Phone'`;
  await store.write([statement(sql.raw(whole))({})]);
  await until(() => hostile.every(({ subscribed }) => subscribed.length >= EACH));
  await until(() => app.reply_reader.health()[0]!.connections > WAYS.length * EACH);
  const allowed = await measureSlowdown();
  const seconds: number[] = [];
  for (let i = 0; i < 20; i++) {
    const { id, sent } = await victim.ask({ prompt: `Ship ${i}?` });
    const from = performance.now();
    await tap(sent, "Yes");
    await victim.ended(id);
    seconds.push((performance.now() - from) / 1000);
  }
  expect(Math.max(...seconds)).toBeLessThan(await allowed(2));
  expect(hostile[1]!.subscribed.length).toBeLessThan(3 * EACH);
}, 300_000);
