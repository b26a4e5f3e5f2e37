/** A TCP proxy that delays what it forwards, like the network to a server that is far away. */

import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** Forwards to the port; `setDelay` sets the milliseconds each way of what arrives from then on. */
export async function startDelayProxy(port: number) {
  let delay = 0;
  const sockets = new Set<Socket>();
  const forward = (from: Socket, to: Socket) => {
    const later = (run: () => void) => (delay === 0 ? run() : void setTimeout(run, delay));
    from.on("data", (chunk: Buffer) => later(() => void to.write(chunk)));
    from.on("close", () => later(() => to.destroy()));
    from.on("error", () => from.destroy());
    from.setNoDelay(true);
    sockets.add(from);
  };
  const server = createServer((client) => {
    const upstream = connect(port, "127.0.0.1");
    forward(client, upstream);
    forward(upstream, client);
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    setDelay(milliseconds: number): void {
      delay = milliseconds;
    },
    stop(): void {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
