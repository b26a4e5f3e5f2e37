/**
 * `bun run bench:mcp`: the cost of MCP compared with REST, in processor time of the same server in the same
 * run, and the memory that a thousand waiting agents take. The ratios hardly depend on the machine.
 */

import { readFileSync } from "node:fs";
import { count, type Measured, measure, ROUNDS, WARM_UP } from "./compare.ts";
import { openLoad, requestOf } from "./load.ts";
import { createPlace } from "./place.ts";
import { startRelay, times } from "./process.ts";
import { untilTrue, within } from "./within.ts";

const CONNECTIONS = 32;
/** Agents that wait at once, and the keys that they share. */
const WAITERS = 1_000;
const KEYS_PER_ACCOUNT = 100;
/** Milliseconds for the server to come to rest before its memory is read. */
const SETTLE = 1_000;
/** Seconds for a request, in which all agents must have asked, and in which they must have their answers. */
const ANSWER = 30;
const ASKED = 120;
/** Bytes of a page in `/proc`. */
const PAGE = 4_096;
const NEW_ERA = "2026-07-28";

const place = createPlace();
const { folder, children } = place;

/** Memory in use, in kilobytes. */
function memoryOf(pid: number): number {
  return (Number(readFileSync(`/proc/${pid}/statm`, "latin1").split(" ")[1]) * PAGE) / 1024;
}

let server = await startRelay(folder, children);

async function stopRelay(): Promise<void> {
  const child = children.pop();
  child?.kill("SIGKILL");
  await child?.exited;
}

async function send<Body>(line: string, body?: object, credential?: string): Promise<Body> {
  const [method, path] = line.split(" ") as [string, string];
  const response = await fetch(`http://127.0.0.1:${server.port}${path}`, {
    method,
    headers: {
      ...(body && { "content-type": "application/json" }),
      ...(credential && { authorization: `Bearer ${credential}` }),
    },
    ...(body && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(ANSWER * 1000),
  });
  if (!response.ok) throw new Error(`${line}: ${response.status}`);
  return (await response.json()) as Body;
}

async function createKeys(n: number): Promise<{ token: string; secret: string }[]> {
  const accounts = times(Math.ceil(n / KEYS_PER_ACCOUNT), () =>
    send<{ token: string }>("POST /v1/accounts", {}),
  );
  const tokens = (await Promise.all(accounts)).map(({ token }) => token);
  return Promise.all(
    times(n, async (i) => {
      const token = tokens[Math.floor(i / KEYS_PER_ACCOUNT)]!;
      const { secret } = await send<{ secret: string }>("POST /v1/keys", { label: "Bench" }, token);
      return { token, secret };
    }),
  );
}

type Era = "old" | "new";

/** The bytes of an MCP request, as the official clients send it. */
function rpcOf(era: Era, secret: string, method: string, params: object, session = ""): Uint8Array {
  const meta = {
    "io.modelcontextprotocol/protocolVersion": NEW_ERA,
    "io.modelcontextprotocol/clientInfo": { name: "bench", version: "1.0.0" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const body = JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method,
    params: era === "new" ? { ...params, _meta: meta } : params,
  });
  const name = "name" in params ? String(params.name) : undefined;
  const head = [
    "POST /mcp HTTP/1.1",
    "host: 127.0.0.1",
    `authorization: Bearer ${secret}`,
    "content-type: application/json",
    "accept: application/json, text/event-stream",
    `mcp-protocol-version: ${era === "new" ? NEW_ERA : "2025-11-25"}`,
    ...(era === "new" ? [`mcp-method: ${method}`] : []),
    ...(era === "new" && name ? [`mcp-name: ${name}`] : []),
    ...(session ? [`mcp-session-id: ${session}`] : []),
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  return Buffer.from(`${head.join("\r\n")}\r\n\r\n${body}`);
}

async function openSession(secret: string): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${server.port}/mcp`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${secret}` },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: {
        protocolVersion: "2025-11-25",
        capabilities: {},
        clientInfo: { name: "bench", version: "1.0.0" },
      },
    }),
    signal: AbortSignal.timeout(ANSWER * 1000),
  });
  return response.headers.get("mcp-session-id")!;
}

type Load = Awaited<ReturnType<typeof openLoad>>;

const median = (of: readonly number[]) => [...of].sort((a, b) => a - b)[of.length >> 1]!;
const print = (line: string) => process.stdout.write(`${line}\n`);

/** Measures the loads in turns and prints each one compared with the first, which is REST. */
async function compare(what: string, loads: Readonly<Record<string, Load>>): Promise<void> {
  const sides = Object.entries(loads).map(([name, load]) => ({
    name,
    side: { ...load, pids: [server.pid] },
    measured: [] as Measured[],
  }));
  for (const { side } of sides) await side.run(WARM_UP);
  for (let round = 0; round < ROUNDS; round++) {
    for (const { side, measured } of sides) measured.push(await measure(side));
  }
  for (const { side } of sides) side.close();
  const cpuOf = (measured: readonly Measured[]) => median(measured.map(({ cpu_us }) => cpu_us));
  const first = cpuOf(sides[0]!.measured);
  for (const { name, measured } of sides) {
    const cpu = cpuOf(measured);
    const cells = [cpu.toFixed(0).padStart(7), (cpu / first).toFixed(2).padStart(8)];
    const per_second = count(median(measured.map(({ rate }) => rate))).padStart(12);
    print(`${what.padEnd(16)}${name.padEnd(14)}${cells.join("")}${per_second}`);
  }
}

async function benchCalls(): Promise<void> {
  const keys = await createKeys(CONNECTIONS);
  const sessions = await Promise.all(keys.map(({ secret }) => openSession(secret)));
  const TASK = { title: "Release version 2", description: "Build, test and publish." };
  const tasks = await Promise.all(
    keys.map(({ secret }) => send<{ id: string }>("POST /v1/tasks", TASK, secret)),
  );
  const open = (status: number, make: (i: number) => Uint8Array) =>
    openLoad({ port: server.port, status, requests: keys.map((_, i) => [make(i)]) });
  const rpc = (era: Era, method: string, params: (i: number) => object) =>
    open(200, (i) =>
      rpcOf(era, keys[i]!.secret, method, params(i), era === "old" ? sessions[i]! : ""),
    );
  const both = async (method: string, params: (i: number) => object) => ({
    "MCP, new era": await rpc("new", method, params),
    "MCP, old era": await rpc("old", method, params),
  });

  print(`${"".padEnd(30)} CPU µs   of REST   requests/s`);
  await compare("create a task", {
    REST: await open(201, (i) =>
      requestOf("POST /v1/tasks", { credential: keys[i]!.secret, body: JSON.stringify(TASK) }),
    ),
    ...(await both("tools/call", () => ({ name: "create_task", arguments: TASK }))),
  });
  await compare("read a task", {
    REST: await open(200, (i) =>
      requestOf(`GET /v1/tasks/${tasks[i]!.id}`, { credential: keys[i]!.secret }),
    ),
    ...(await both("tools/call", (i) => ({
      name: "get_task",
      arguments: { task_id: tasks[i]!.id },
    }))),
  });
  await compare("tools/list", await both("tools/list", () => ({})));
}

/** A thousand agents ask and wait, each on its own connection; all are answered, or all disconnect. */
async function benchWaits(era: Era): Promise<void> {
  const agents = await createKeys(WAITERS);
  const connect = async () => {
    const answers: Promise<number>[] = [];
    const sockets: Bun.Socket[] = [];
    for (const { secret } of agents) {
      const params = {
        name: "ask_question",
        arguments: { prompt: "Go on?", wait_seconds: 50 },
      };
      const { promise, resolve } = Promise.withResolvers<number>();
      answers.push(promise);
      const socket = await Bun.connect({
        hostname: "127.0.0.1",
        port: server.port,
        socket: {
          data(_, chunk) {
            if (chunk.includes("answered")) resolve(performance.now());
          },
        },
      });
      socket.write(rpcOf(era, secret, "tools/call", params));
      sockets.push(socket);
    }
    return { answers, end: () => sockets.forEach((socket) => void socket.end()) };
  };
  const tokens = [...new Set(agents.map(({ token }) => token))];
  const pending = async () =>
    (
      await Promise.all(
        tokens.map((token) =>
          send<{ questions: { id: string }[] }>("GET /v1/questions", undefined, token),
        ),
      )
    ).map(({ questions }, i) => questions.map(({ id }) => ({ id, token: tokens[i]! })));
  const asked = async (n: number) => {
    let found: { id: string; token: string }[] = [];
    await untilTrue(ASKED, `${n} questions`, async () => {
      found = (await pending()).flat();
      return found.length >= n;
    });
    return found;
  };

  const answerAll = (open: readonly { id: string; token: string }[]) =>
    Promise.all(
      open.map(({ id, token }) =>
        send(`POST /v1/questions/${id}/answer`, { answer: "Yes" }, token),
      ),
    );

  const before = memoryOf(server.pid);
  const first = await connect();
  const questions = await asked(WAITERS);
  await Bun.sleep(SETTLE);
  const held = memoryOf(server.pid);
  const from = performance.now();
  await answerAll(questions);
  const answered = within(ANSWER, "all answers", Promise.all(first.answers));
  const last = Math.max(...(await answered)) - from;
  first.end();
  // The same again, with disconnects instead of answers: a leak would grow with each turn.
  const after: string[] = [];
  for (let turn = 0; turn < 8; turn++) {
    const again = await connect();
    const open = await asked(WAITERS);
    again.end();
    await Bun.sleep(SETTLE);
    after.push((memoryOf(server.pid) / 1024).toFixed(0));
    await answerAll(open);
  }
  const each = ((held - before) / WAITERS).toFixed(1);
  print(`${WAITERS} agents waiting, ${era} era: ${each} KB each; all had their answers in`);
  print(`  ${last.toFixed(0)} ms; MB after each further thousand that left: ${after.join(", ")}`);
}

try {
  await benchCalls();
  print("");
  for (const era of ["new", "old"] as const) {
    await stopRelay();
    server = await startRelay(folder, children);
    await benchWaits(era);
  }
} finally {
  await place.end();
}
