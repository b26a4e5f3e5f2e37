/**
 * A push service for the bench, in its own process: accepts everything after one round trip. It is Bun's native
 * HTTP/2 server, because Apple's service takes none of the cores being measured.
 */

import { createAuthority } from "../test/support/tls.ts";

const ROUND_TRIP = Number(process.argv[2]);
const { ca, issue } = await createAuthority();
const seen = new Set<string>();
let requests = 0;

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  tls: await issue(),
  http1: false,
  http2: true,
  async fetch(request) {
    await Bun.sleep(ROUND_TRIP);
    const id = request.headers.get("apns-id")!;
    requests++;
    seen.add(id);
    return new Response(null, { headers: { "apns-id": id } });
  },
});
// Any message is answered with the numbers of pushes and requests.
process.on("message", () => process.send!({ pushes: seen.size, requests }));
process.on("disconnect", () => process.exit());
process.send!({ port: server.port, ca });
