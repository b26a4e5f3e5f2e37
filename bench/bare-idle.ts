/** The lower bound of `bench:footprint`: idle streams and waits with only Bun. */

const encoder = new TextEncoder();
const FIRST = encoder.encode('event: ready\ndata: {"account_id":"0"}\n\n');
const readers = new Set<ReadableStreamDefaultController<Uint8Array>>();
const waits = new Set<(response: Response) => void>();

const wait = () => new Promise<Response>((resolve) => void waits.add(resolve));

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  idleTimeout: 60,
  routes: {
    "/stream": {
      GET() {
        const body = new ReadableStream<Uint8Array>({
          start(controller) {
            readers.add(controller);
            controller.enqueue(FIRST);
          },
        });
        return new Response(body, { headers: { "content-type": "text/event-stream" } });
      },
    },
    "/wait": { GET: wait },
    "/mcp": {
      async POST(request) {
        await request.json();
        return wait();
      },
    },
    // Tells that every request sent before is being handled.
    "/health": { GET: () => new Response("ok") },
  },
});

process.on("disconnect", () => process.exit());
process.send!({ port: server.port });
