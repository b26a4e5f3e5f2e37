/** The bare limit of the bench: the same answers with nothing but Bun and the libSQL binding. */

import Database from "libsql";

const [path, frame] = process.argv.slice(2) as [string, string];

const db = new Database(path);
db.exec("pragma journal_mode = wal");
db.exec("pragma synchronous = full");
db.exec(`create table tasks (
  id text primary key not null, key_id text not null, account_id text not null, title text not null,
  description text not null, status text not null, priority text not null, notify integer not null,
  progress integer, status_note text, source text not null, created_at integer not null,
  updated_at integer not null, completed_at integer, seen_at integer, host text,
  change_id text not null)`);
db.exec("create index tasks_key on tasks (key_id, status, updated_at, id)");
db.exec("create index tasks_account on tasks (account_id, status, updated_at, id, key_id)");

const begin = db.prepare("begin immediate");
const commit = db.prepare("commit");
const insert = db.prepare(`insert into tasks values (${Array(17).fill("?").join(", ")})`);
const byId = db.prepare("select * from tasks where id = ?");

/** As many as Relay's side uses, since each has its own place in an index. */
const KEYS = 64;
const ACCOUNT = `acc_${"0".repeat(32)}`;
const idOf = (prefix: string, number: number) => `${prefix}_${String(number).padStart(32, "0")}`;
let created = 0;

interface Input {
  readonly title: string;
  readonly description: string;
}

const waiting: { readonly input: Input; readonly done: (id: string) => void }[] = [];

function commitGroup(): void {
  const group = waiting.splice(0);
  begin.run();
  const ids = group.map(({ input: { title, description } }) => {
    const id = idOf("tsk", created);
    const key = idOf("key", created++ % KEYS);
    const now = Date.now();
    const owner = [id, key, ACCOUNT, title, description, "todo", "medium", 1, null, null];
    insert.run([...owner, "agent", now, now, null, now, null, "0"]);
    return id;
  });
  commit.run();
  group.forEach(({ done }, i) => {
    done(ids[i]!);
  });
}

function create(input: Input): Promise<string> {
  return new Promise((done) => {
    if (waiting.push({ input, done }) === 1) setImmediate(commitGroup);
  });
}

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
      async POST(request) {
        const input = (await request.json()) as Input;
        return Response.json({ id: await create(input), ...input }, { status: 201 });
      },
    },
    "/v1/tasks/:id": { GET: (request) => Response.json(byId.get([request.params.id])) },
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
