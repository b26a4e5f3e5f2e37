/** A push service for the bench, in a process of its own: takes everything, after one round trip. */

import { createSecureServer, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { createAuthority } from "../test/support/tls.ts";

const ROUND_TRIP = Number(process.argv[2]);
const { ca, issue } = await createAuthority();
const seen = new Set<string>();
let requests = 0;

const server = createSecureServer({
  ...(await issue()),
  settings: { maxConcurrentStreams: 1_000 },
});
server.on("stream", (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
  const id = headers["apns-id"] as string;
  stream.resume();
  stream.on("end", () => {
    setTimeout(() => {
      requests++;
      seen.add(id);
      stream.respond({ ":status": 200, "apns-id": id }, { endStream: true });
    }, ROUND_TRIP);
  });
  stream.on("error", () => {});
});
server.listen(0, "127.0.0.1", () => {
  process.send!({ port: (server.address() as AddressInfo).port, ca });
});
// Whoever asks gets the number of pushes, and of requests.
process.on("message", () => process.send!({ pushes: seen.size, requests }));
process.on("disconnect", () => process.exit());
