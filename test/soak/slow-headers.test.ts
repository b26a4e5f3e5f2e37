/** Connections whose headers arrive slowly, or not at all, end by themselves (§11.2.3). */

import { expect, test } from "bun:test";
import { startTestApp } from "../support/app.ts";

/** Bun ends them after 10 s, which it checks every 4 s. */
const MOST_SECONDS = 20;

test("a connection ends if the headers of its first request are not complete in time", async () => {
  const app = await startTestApp();
  const { hostname, port } = new URL(app.local_url);
  const begun = performance.now();
  const open = async (first: string, more: string) => {
    const closed = Promise.withResolvers<void>();
    const socket = await Bun.connect({
      hostname,
      port: Number(port),
      socket: { data() {}, close: () => closed.resolve() },
    });
    socket.write(first);
    const timer = setInterval(() => socket.write(more), 500);
    return closed.promise.finally(() => clearInterval(timer));
  };
  const head = "GET /v1/account HTTP/1.1\r\nHost: relay\r\n";
  const kinds = [
    [`${head}X-A: `, "a"],
    [head, "X-A: b\r\n"],
    ["", "G"],
    ["", ""],
  ] as const;
  await Promise.all(
    kinds.flatMap(([first, more]) => Array.from({ length: 50 }, () => open(first, more))),
  );
  expect((performance.now() - begun) / 1000).toBeLessThan(MOST_SECONDS);
}, 60_000);
