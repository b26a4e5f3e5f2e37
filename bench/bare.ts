/**
 * The lower bound of the bench: the same responses with only Bun and libSQL. Arguments: the URL of the
 * store and the frame that its streams send.
 */

import { openBareClient } from "./bare-client.ts";
import { openBareFile } from "./bare-file.ts";

const [url, frame = ""] = process.argv.slice(2) as [string, string?];
const store = url.startsWith("file:")
  ? openBareFile(url.slice("file:".length))
  : await openBareClient(url);

/** As many as on Relay's side, since each has its own place in an index. */
const KEYS = 64;
const ACCOUNT = `acc_${"0".repeat(32)}`;
const idOf = (prefix: string, number: number) => `${prefix}_${String(number).padStart(32, "0")}`;
let created = 0;

interface Input {
  readonly title: string;
  readonly description: string;
}

async function create({ title, description }: Input): Promise<string> {
  const id = idOf("tsk", created);
  const key = idOf("key", created++ % KEYS);
  const now = Date.now();
  const owner = [id, key, ACCOUNT, title, description, "todo", "medium", 1, null, null];
  await store.create([...owner, "agent", now, now, null, now, null, "0"]);
  return id;
}

const respond = (body: unknown) => Response.json(body);

const encoder = new TextEncoder();
const bytes = encoder.encode(frame);
const readers = new Set<ReadableStreamDefaultController<Uint8Array>>();

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  idleTimeout: 60,
  routes: {
    "/static": new Response("{}", { headers: { "content-type": "application/json" } }),
    "/v1/tasks": {
      async GET({ url }) {
        const key = Number(new URL(url).searchParams.get("key"));
        return Response.json({ tasks: await store.list([idOf("key", key), 50]) });
      },
      async POST(request) {
        const input = (await request.json()) as Input;
        return Response.json({ id: await create(input), ...input }, { status: 201 });
      },
    },
    "/v1/tasks/:id": {
      GET(request) {
        const row = store.read(request.params.id);
        return row instanceof Promise ? row.then(respond) : respond(row);
      },
      async PATCH(request) {
        const { status_note } = (await request.json()) as { status_note: string };
        return Response.json(await store.patch([status_note, Date.now(), request.params.id]));
      },
    },
    "/v1/events": {
      GET() {
        let own: ReadableStreamDefaultController<Uint8Array>;
        const body = new ReadableStream<Uint8Array>({
          start(controller) {
            own = controller;
            readers.add(controller);
            controller.enqueue(bytes);
          },
          cancel: () => void readers.delete(own),
        });
        return new Response(body, { headers: { "content-type": "text/event-stream" } });
      },
    },
  },
});

process.on("message", () => {
  for (const reader of readers) reader.enqueue(bytes);
});
process.on("disconnect", () => process.exit());
process.send!({ port: server.port });
