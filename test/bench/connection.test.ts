/** The connections of the benches read every form of a response (bench/connection.ts). */

import { afterAll, expect, test } from "bun:test";
import { openConnection } from "../../bench/connection.ts";
import { requestOf } from "../../bench/load.ts";

/** Parts of several packets each. */
const PARTS = ["ä".repeat(300_000), "b".repeat(300_000)];

async function* inChunks() {
  for (const part of PARTS) {
    await new Promise((next) => setImmediate(next));
    yield part;
  }
}

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: (request) =>
    new Response(request.url.endsWith("/chunked") ? inChunks() : PARTS.join(""), { status: 201 }),
});
afterAll(() => server.stop(true));

test.each(["/chunked", "/whole"])("a response of several packets is read from %s", async (path) => {
  const connection = await openConnection("127.0.0.1", server.port!);
  for (let i = 0; i < 2; i++) {
    const answer = await connection.exchange(requestOf(`GET ${path}`), 5_000);
    expect(answer?.status).toBe(201);
    expect(answer?.text === PARTS.join("")).toBe(true);
  }
  connection.end();
});
