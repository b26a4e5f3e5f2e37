/** The load of the benches reads what servers may send: a body of known length, or chunks that arrive in parts. */

import { expect, test } from "bun:test";
import { openLoad, requestOf } from "../../bench/load.ts";
import { spreadOf } from "../../bench/peers/results.ts";

/** A server that answers each request with these parts, each written by itself. */
function answering(parts: readonly string[]) {
  let requests = 0;
  const server = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      async data(socket) {
        requests++;
        for (const part of parts) {
          socket.write(part);
          await new Promise((resume) => setImmediate(resume));
        }
      },
    },
  });
  return { port: server.port, requests: () => requests, [Symbol.dispose]: () => server.stop(true) };
}

test("a load takes a chunked response as whole only with its last chunk", async () => {
  const head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
  using server = answering([
    head,
    "5\r\n0\r\n\r\n",
    "\r\n1a;x=1\r\n",
    "x".repeat(26),
    "\r\n0\r",
    "\n\r\n",
  ]);
  const requests = [[requestOf("GET /")]];
  const load = await openLoad({ port: server.port, requests, status: 200 });
  // A load of no time is one request of each connection.
  for (let i = 1; i <= 3; i++) {
    expect((await load.run(0)).count).toBe(1);
    expect(server.requests()).toBe(i);
  }
  load.close();
});

test("quartiles lie between the values", () => {
  expect(spreadOf([4, 1, 3, 2])).toEqual({ q1: 1.75, median: 2.5, q3: 3.25 });
  expect(spreadOf([7])).toEqual({ q1: 7, median: 7, q3: 7 });
});
