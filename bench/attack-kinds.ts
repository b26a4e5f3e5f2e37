/** The attacks of `bench:attacks`: each is prepared first, and then runs until its time is over. */

import type { Attacker } from "./attacker.ts";
import { requestOf } from "./load.ts";
import { times } from "./process.ts";

type Attack = (attacker: Attacker) => Promise<() => Promise<void>>;

const KIB = 1_024;
/** The largest description: 10,000 characters of four bytes. */
const LARGE = { title: "Large", description: "🦊".repeat(10_000) };
const post = (path: string, credential: string, body: string, headers = "") =>
  withHeaders(requestOf(`POST ${path}`, { credential, body }), headers);

/** A request with extra header lines. */
function withHeaders(request: Uint8Array, headers: string): Uint8Array {
  if (!headers) return request;
  const text = Buffer.from(request).toString("latin1");
  return Buffer.from(text.replace("\r\n", `\r\n${headers}\r\n`), "latin1");
}

/** Opens `count` connections that read nothing, at most `rate` a second, and holds them open until the end. */
async function hold({ openDeaf, over }: Attacker, count: number, rate: number, bytes: Uint8Array) {
  const held: { end(): void }[] = [];
  /** Connections opened in one tick. */
  const some = Math.ceil(rate / 100);
  for (let opened = 0; opened < count && !over(); opened += some) {
    const made = await Promise.all(times(some, () => openDeaf(bytes)));
    for (const one of made) if (one) held.push(one);
    await Bun.sleep(10);
  }
  while (!over()) await Bun.sleep(50);
  for (const one of held) one.end();
}

/** 500 tasks of 40 kB, created with the bursts of five keys. */
async function createLargeTasks({ join, prepare }: Attacker) {
  const { token, secrets } = await join(5);
  const ascii = JSON.stringify(LARGE).replace(/[^\0-\x7f]/g, (unit) => {
    return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
  for (const secret of secrets) {
    for (let i = 0; i < 10; i++) {
      await Promise.all(times(10, () => prepare("POST /v1/tasks", secret, ascii)));
    }
  }
  return { token, secrets };
}

/** 20 lists in one request. */
const LIST_BATCH = `GET /trpc/${times(20, () => "tasks.list").join(",")}?batch=1&input=${encodeURIComponent(
  JSON.stringify(Object.fromEntries(times(20, (i) => [i, { limit: 500 }]))),
)}`;

/** `mck_` and as many characters as a real secret has, but nobody's. */
const wrong = (turn: number) => `mck_${String(turn).padStart(43, "A")}`;

export const ATTACKS: Readonly<Record<string, Attack>> = {
  "two-content-lengths": async ({ join, flood }) => {
    const { secrets } = await join(1);
    const request = post("/v1/tasks", secrets[0]!, "{}", "content-length: 2");
    return () => flood(() => request, 2);
  },
  "lists-unread": async (attacker) => {
    const { token } = await createLargeTasks(attacker);
    const list = requestOf("GET /v1/tasks?limit=500", { credential: token });
    return () => hold(attacker, 300, 300, list);
  },
  "trpc-lists-unread": async (attacker) => {
    const { token } = await createLargeTasks(attacker);
    return () => hold(attacker, 10, 100, requestOf(LIST_BATCH, { credential: token }));
  },
  "lists-at-once": async (attacker) => {
    const { secrets } = await createLargeTasks(attacker);
    const list = requestOf("GET /v1/tasks?limit=500", { credential: secrets[0]! });
    return () => attacker.flood(() => list, 42);
  },
  "trpc-batches": async ({ join, flood }) => {
    const { secrets } = await join(1);
    const batch = requestOf(LIST_BATCH, { credential: secrets[0]! });
    return () => flood(() => batch, 200);
  },
  nesting: async ({ join, flood }) => {
    const { secrets } = await join(1);
    const bodyOf = (kib: number) => {
      const open = "[".repeat(kib * 512 - 200);
      return `${open}${"]".repeat(open.length)}`;
    };
    const mcp = JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "ask_question", arguments: {}, requestState: bodyOf(200) },
    });
    const requests = [90, 170, 250].flatMap((kib) => [
      post("/v1/tasks", secrets[0]!, `{"title":${bodyOf(kib)}}`, `idempotency-key: a${kib}`),
      post(
        "/trpc/tasks.create",
        secrets[0]!,
        `{"title":${bodyOf(kib)}}`,
        `idempotency-key: a${kib}`,
      ),
    ]);
    const accept = "accept: application/json, text/event-stream";
    requests.push(post("/mcp", secrets[0]!, mcp, accept));
    return () => flood((turn) => requests[turn % requests.length]!);
  },
  "unknown-fields": async ({ join, flood }) => {
    const { secrets } = await join(1);
    const fields = times(28_000, (i) => `"${i.toString(36).padStart(4, "f")}":0`).join(",");
    const requests = [secrets[0]!, ""].map((credential) =>
      post("/v1/tasks", credential, `{${fields}}`),
    );
    return () => flood((turn) => requests[turn % 2]!);
  },
  "half-posts": async (attacker) => {
    const { secrets } = await attacker.join(1);
    const head = `POST /v1/tasks HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${secrets[0]!}\r\ncontent-type: application/json\r\ncontent-length: ${250 * KIB}\r\n\r\n`;
    return async () => {
      const open: { end(): void }[] = [];
      while (!attacker.over()) {
        const made = await Promise.all(times(20, () => attacker.openDeaf(Buffer.from(head))));
        for (const one of made) if (one) open.push(one);
        // The oldest connections make room: a process may hold only a limited number.
        for (const one of open.splice(0, Math.max(0, open.length - 6_000))) one.end();
        await Bun.sleep(10);
      }
    };
  },
  trickle: async ({ join, openDeaf, over }) => {
    const { secrets } = await join(1);
    const body = `{"title":"${"a".repeat(250 * KIB)}"}`;
    const request = post("/v1/tasks", secrets[0]!, body);
    const step = KIB;
    return async () => {
      const open = await Promise.all(times(300, () => openDeaf(request.subarray(0, step))));
      for (let at = step; !over(); at += step) {
        for (const one of open) one?.write(request.subarray(at, at + step));
        await Bun.sleep(50);
      }
    };
  },
  "hot-row": async ({ join, prepare, flood }) => {
    const { token, secrets } = await join(1);
    const credentials = [secrets[0]!, token];
    const made = await Promise.all(
      times(10, () => prepare("POST /v1/tasks", secrets[0]!, '{"title":"Hot"}')),
    );
    return () =>
      flood((turn) => {
        const credential = credentials[turn % 2]!;
        // After a delete, the next task becomes the hot one.
        const path = `/v1/tasks/${made[Math.floor(turn / 500) % made.length]!.id}`;
        if (turn % 500 === 499) return requestOf(`DELETE ${path}`, { credential });
        return requestOf(`PATCH ${path}`, { credential, body: `{"status_note":"Step ${turn}"}` });
      }, 64);
  },
  "streams-unread": async (attacker) => {
    const { token, secrets } = await attacker.join(4);
    const stream = requestOf("GET /v1/events", { credential: token });
    const body = JSON.stringify({ ...LARGE, description: "a".repeat(10_000) });
    const requests = secrets.map((secret) => post("/v1/tasks", secret, body));
    return async () => {
      const create = attacker.flood((turn) => requests[turn % requests.length]!, 4);
      await Promise.all([hold(attacker, 16, 1_600, stream), create]);
    };
  },
  "waits-dropped": async ({ join, prepare, openDeaf, over }) => {
    const { secrets } = await join(1);
    const [credential] = secrets as [string];
    const question = await prepare("POST /v1/questions", credential, '{"prompt":"Go on?"}');
    const wait = requestOf(`GET /v1/questions/${question!.id}?wait=50`, { credential });
    return async () => {
      while (!over()) {
        const open = await Promise.all(times(32, () => openDeaf(wait)));
        await Bun.sleep(20);
        for (const one of open) one?.end();
      }
    };
  },
  "wrong-credentials": async ({ flood }) => {
    return () => flood((turn) => requestOf("GET /v1/tasks", { credential: wrong(turn) }), 64);
  },
  "large-bodies": async ({ join, flood }) => {
    const { secrets } = await join(1);
    const body = `{"title":"a","description":"${"a".repeat(255 * KIB)}"}`;
    const request = post("/v1/tasks", secrets[0]!, body);
    return () => flood(() => request);
  },
  "foreign-accounts": async ({ flood }) => {
    const request = post("/v1/accounts", "", "{}", "origin: https://example.com");
    return () => flood(() => request);
  },
  "pipelined-unread": async (attacker) => {
    const { secrets } = await attacker.join(1);
    const one = requestOf("GET /v1/tasks?limit=500", { credential: secrets[0]! });
    const many = Buffer.concat(times(500, () => one));
    return () => hold(attacker, 64, 640, many);
  },
  "idle-connections": async (attacker) => () => hold(attacker, 5_000, 2_000, new Uint8Array()),
};
