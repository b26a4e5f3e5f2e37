/**
 * Dumps of stores of versions 0.1.0 and 0.2.0 read and push the same here (§17.4). `earlier/` has the dumps, and what those
 * versions themselves answered and sent from them, with the clock at `at`.
 */

import { expect, test } from "bun:test";
import { createClient } from "@libsql/client";
import { startTestApp } from "../support/app.ts";
import { startApple } from "../support/apple.ts";
import { claim, client } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { postForm } from "../support/oauth.ts";
import { createEmptyStore } from "../support/store.ts";
import first from "./earlier/store-0.1.0.json";
import second from "./earlier/store-0.2.0.json";

const EARLIER = [
  ["0.1.0", first, 7],
  ["0.2.0", second, 2],
] as const;

test.each(EARLIER)(
  "a store of %s with data of every kind reads and pushes as it did there [§17.4]",
  async (version, recorded, kinds) => {
    const { url } = await createEmptyStore();
    const raw = createClient({ url });
    await raw.executeMultiple(
      await Bun.file(new URL(`./earlier/store-${version}.sql`, import.meta.url)).text(),
    );
    raw.close();

    const clock = createTestClock();
    clock.shiftWall(recorded.at - clock.now());
    const apple = await startApple({ now: clock.now });
    const env = { ...apple.env("SANDBOX"), UPGRADE_WITHOUT_BACKUP: "0.3.0" };
    const app = await startTestApp({ clock, database_url: url, env, jitter: () => 1 });
    const tokens: Readonly<Record<string, string>> = {
      checker: "",
      oauth: "",
      ...recorded,
    } as never;
    for (const [request, body] of Object.entries(recorded.reads)) {
      const [who, , path] = request.split(" ") as [string, string, `/${string}`];
      const answer = await client(app.url, tokens[who]!)(`GET ${path}`);
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
    type Pushes = readonly { readonly apns_id: string; readonly after: number }[];
    const sorted = (pushes: Pushes) =>
      pushes.toSorted((a, b) => a.apns_id.localeCompare(b.apns_id));
    const [ours, theirs] = [sorted(sent), sorted(recorded.pushes)];
    const untimed = (pushes: Pushes) => pushes.map((push) => ({ ...push, after: 0 }));
    expect(untimed(ours)).toEqual(untimed(theirs));
    // A worker that looks a step later sends a step later.
    const late = ours.filter(({ after }, i) => Math.abs(after - theirs[i]!.after) > 1);
    expect(late).toEqual([]);
    expect(new Set(sent.map(({ payload }) => payload.relay.event)).size).toBeGreaterThanOrEqual(
      kinds,
    );
    expect(apple.faults).toEqual([]);
    if (!("pairing" in recorded)) return;
    // What is used once still works: a pairing code and a refresh token.
    expect((await claim(app.url, { code: recorded.pairing })).status).toBe(201);
    const { refresh: refresh_token, client_id } = recorded;
    const fields = { grant_type: "refresh_token", refresh_token, client_id };
    expect((await postForm(`${app.url}/oauth/token`, fields)).status).toBe(200);
  },
  300_000,
);
