/** `GET /health` (decisions.md, Other routes). */

import { expect, test } from "bun:test";
import manifest from "../../package.json" with { type: "json" };
import { startTestApp } from "../support/app.ts";
import { client } from "../support/client.ts";
import { createTestStore, STORE_KIND } from "../support/store.ts";

test("it tells without a credential that all is well [§4 Other health]", async () => {
  const app = await startTestApp();
  const { status, headers, body } = await client(app.url)("GET /health");
  expect([status, headers.get("content-type")]).toEqual([200, "application/json"]);
  expect(body).toEqual({ status: "ok", version: manifest.version, store: "ok" });
});

test.if(STORE_KIND === "server")(
  "it tells that the store is away, and that it is back [§4 Other health]",
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
