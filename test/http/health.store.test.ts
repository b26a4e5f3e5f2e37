/** `GET /health` (§5.12.1). */

import { expect, test } from "bun:test";
import manifest from "../../package.json" with { type: "json" };
import { startTestApp } from "../support/app.ts";
import { client, createPair } from "../support/client.ts";
import { createTestClock, whileMoving } from "../support/clock.ts";
import { createTestStore, STORE_KIND } from "../support/store.ts";
import { until } from "../support/until.ts";

test("/health reports without a credential that all is well [§5.12.1]", async () => {
  const app = await startTestApp();
  const { status, headers, body } = await client(app.url)("GET /health");
  expect([status, headers.get("content-type")]).toEqual([200, "application/json"]);
  expect(body).toEqual({ status: "ok", version: manifest.version, store: "ok" });
});

test.if(STORE_KIND === "server")(
  "/health reports that the store is unavailable, and that it is back [§5.12.1]",
  async () => {
    const { url: database_url, sqld } = await createTestStore();
    const app = await startTestApp({ database_url });
    await sqld!.kill();
    const { status, headers, body } = await client(app.url)("GET /health");
    expect([status, headers.get("retry-after")]).toEqual([503, "1"]);
    expect(body).toEqual({
      status: "unavailable",
      version: manifest.version,
      store: "unavailable",
    });
    await sqld!.restart();
    expect((await client(app.url)("GET /health")).status).toBe(200);
  },
);

test.if(STORE_KIND === "server")(
  "/health reports a hanging store before the waiting requests are given up",
  async () => {
    const { url: database_url, sqld } = await createTestStore();
    const timers = createTestClock();
    const app = await startTestApp({ timers, database_url });
    const { agent } = await createPair(app.url);
    sqld!.freeze();
    let read = false;
    const reading = agent.send("GET /v1/tasks").finally(() => {
      read = true;
    });
    const health = await whileMoving(timers, client(app.url)("GET /health"));
    expect(health).toMatchObject({ status: 503, body: { store: "unavailable" } });
    expect(read).toBe(false);
    expect((await whileMoving(timers, reading)).status).toBe(503);
    sqld!.thaw();
    await until(async () => (await client(app.url)("GET /health")).status === 200);
  },
);
