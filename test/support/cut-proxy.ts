/** A TCP proxy whose connections a test cuts, like a failing network. */

import { afterAll } from "bun:test";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** Forwards each connection to the server at `url`. */
export async function startCutProxy(url: string) {
  const { hostname, port } = new URL(url);
  const sockets = new Set<Socket>();
  let is_down = false;
  const server = createServer((client) => {
    if (is_down) {
      client.destroy();
      return;
    }
    const upstream = connect(Number(port), hostname);
    const cut = () => {
      for (const socket of [client, upstream]) {
        socket.destroy();
        sockets.delete(socket);
      }
    };
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("close", cut);
      socket.on("error", cut);
    }
    client.pipe(upstream).pipe(client);
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const cut = () => {
    for (const socket of [...sockets]) socket.destroy();
  };
  afterAll(() => {
    cut();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Ends every open connection. */
    cut,

    /** Ends every connection, and each new one at once, until {@link up}. */
    down(): void {
      is_down = true;
      cut();
    },

    up(): void {
      is_down = false;
    },
  };
}
