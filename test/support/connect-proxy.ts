/** An HTTP proxy on 127.0.0.1 whose tunnels all lead to one port of this machine. */

import { afterAll } from "bun:test";
import net from "node:net";
import tls from "node:tls";
import type { Identity } from "./tls.ts";

interface ConnectProxyOptions {
  /** Where every tunnel leads. */
  readonly to: number;
  /** Whether the proxy itself uses TLS. */
  readonly identity?: Identity;
}

export async function startConnectProxy({ to, identity }: ConnectProxyOptions) {
  /** The requests; the headers of each are one line. */
  const asked: { readonly line: string; readonly headers: string }[] = [];
  const open = new Set<net.Socket>();
  /** A status refuses with it; `close` and `hang` give no response. By default the tunnel opens. */
  let behave: (authority: string) => number | "close" | "hang" = () => 200;

  const serve = (client: net.Socket) => {
    open.add(client);
    client.on("close", () => open.delete(client));
    client.on("error", () => {});
    let head = "";
    const read = (part: Buffer) => {
      head += part.toString("latin1");
      if (!head.includes("\r\n\r\n")) return;
      client.off("data", read);
      const [line = "", ...headers] = head.trimEnd().split("\r\n");
      asked.push({ line, headers: headers.join("\n") });
      const does = behave(line.split(" ")[1] ?? "");
      if (does === "hang") return;
      if (does === "close") return void client.end();
      if (does !== 200) {
        return void client.end(`HTTP/1.1 ${does} No\r\ncontent-length: 2\r\n\r\nno`);
      }
      const target = net.connect(to, "127.0.0.1", () => {
        client.write("HTTP/1.1 200 Connection established\r\n\r\n");
        client.pipe(target).pipe(client);
      });
      target.on("error", () => client.destroy());
      // A pipe alone ends it, and Bun then never reports its close.
      target.on("close", () => client.destroy());
      client.on("close", () => target.destroy());
    };
    client.on("data", read);
  };
  const server = identity ? tls.createServer({ ...identity }, serve) : net.createServer(serve);
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  afterAll(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  const { port } = server.address() as net.AddressInfo;
  return {
    port,
    url: `${identity ? "https" : "http"}://127.0.0.1:${port}`,
    /** Requests since the last call. */
    take: () => asked.splice(0),
    /** Connections to the proxy. */
    open: () => open.size,
    behave(by: typeof behave): void {
      behave = by;
    },
  };
}
