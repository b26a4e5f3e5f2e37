/** A TCP proxy that cuts connections at random: before, during and after a request. */

import { afterAll } from "bun:test";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import type { Random } from "./random.ts";

/** Forwards each connection to the address that `target` returns at that time. */
export async function startChaosProxy(target: () => string, random: Random) {
  let cuts = 0;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const { hostname, port } = new URL(target());
    const upstream = connect(Number(port), hostname);
    /** Bytes of the request or response after which both sides are cut. */
    let up = random() < 0.25 ? random() * 500 : Number.POSITIVE_INFINITY;
    let down = random() < 0.25 ? random() * 500 : Number.POSITIVE_INFINITY;
    const cut = () => {
      client.destroy();
      upstream.destroy();
      sockets.delete(client);
    };
    sockets.add(client);
    const forward = (from: Socket, to: Socket, spend: (bytes: number) => number) => {
      from.on("data", (chunk: Buffer) => {
        const left = spend(chunk.length);
        if (left >= 0) {
          to.write(chunk);
          return;
        }
        cuts++;
        // Bytes before the cut still arrive.
        to.write(chunk.subarray(0, chunk.length + left), cut);
      });
      from.on("close", cut);
      from.on("error", cut);
    };
    forward(client, upstream, (bytes) => (up -= bytes));
    forward(upstream, client, (bytes) => (down -= bytes));
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  afterAll(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Connections cut so far. */
    cuts: () => cuts,
  };
}
