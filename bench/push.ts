/**
 * `bun run bench:push`: 10,000 pushes are due at once, at a round trip of 50 ms to the push service;
 * how fast they go, what memory they take, and what requests notice meanwhile.
 */

import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openLoad, requestOf } from "./load.ts";
import { post, startRelay } from "./process.ts";

const DEVICES = 20;
const TASKS = 500;
const PUSHES = DEVICES * TASKS;
const ROUND_TRIP = 50;
/** Connections that work meanwhile, half of which create and half of which read. */
const OTHERS = 8;
/** Seconds of load. */
const WINDOW = 4;

const folder = mkdtempSync(join(tmpdir(), "relay-bench-"));
const children: Bun.Subprocess[] = [];

interface Counts {
  readonly pushes: number;
  readonly requests: number;
}

/** Starts the push service; `counts` asks what it got so far. */
async function startApple() {
  const path = fileURLToPath(new URL("./apple.ts", import.meta.url));
  const told = Promise.withResolvers<{ port: number; ca: string }>();
  let answer = Promise.withResolvers<Counts>();
  const child = Bun.spawn([process.execPath, path, String(ROUND_TRIP)], {
    stdio: ["ignore", "inherit", "inherit"],
    ipc(message: { port: number; ca: string } | Counts) {
      if ("port" in message) told.resolve(message);
      else answer.resolve(message);
    },
  });
  children.push(child);
  const started = await told.promise;
  const counts = () => {
    answer = Promise.withResolvers();
    child.send("counts");
    return answer.promise;
  };
  return { ...started, counts };
}

/** Megabytes of memory that a process holds. */
function memoryOf(pid: number): number {
  const [, kilobytes] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))!;
  return Math.round(Number(kilobytes) / 1024);
}

const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const apple = await startApple();
const ca_file = join(folder, "ca.pem");
await Bun.write(ca_file, apple.ca);
const envWith = (port: number) => ({
  LOG_LEVEL: "error",
  APNS_TEAM_ID: "BENCH00000",
  APNS_BUNDLE_ID: "com.example.bench",
  APNS_SANDBOX_KEY_ID: "BENCH00000",
  APNS_SANDBOX_KEY: privateKey.export({ type: "pkcs8", format: "pem" }) as string,
  APNS_SANDBOX_URL: `https://127.0.0.1:${port}`,
  APNS_CA_FILE: ca_file,
});

interface Owner {
  readonly token: string;
  readonly secret: string;
}

async function create(port: number): Promise<Owner> {
  const { token } = await post<{ token: string }>(port, "/v1/accounts", {});
  const { secret } = await post<{ secret: string }>(port, "/v1/keys", { label: "Bench" }, token);
  return { token, secret };
}

async function openLoads(port: number, others: readonly Owner[]) {
  const body = JSON.stringify({ title: "Release" });
  const half = OTHERS / 2;
  const reads = await Promise.all(
    others.slice(half).map(async ({ secret }) => {
      const { id } = await post<{ id: string }>(port, "/v1/tasks", { title: "Read" }, secret);
      return [requestOf(`GET /v1/tasks/${id}`, { credential: secret })];
    }),
  );
  const creates = others
    .slice(0, half)
    .map(({ secret }) => [requestOf("POST /v1/tasks", { credential: secret, body })]);
  const loads = [
    await openLoad({ port, requests: creates, status: 201 }),
    await openLoad({ port, requests: reads, status: 200 }),
  ] as const;
  return {
    async run(seconds: number): Promise<string> {
      const [created, read] = await Promise.all(loads.map((load) => load.run(seconds)));
      const quantiles = ({ ms, count, seconds }: NonNullable<typeof created>) => {
        const sorted = ms.toSorted((a, b) => a - b);
        const at = (part: number) => sorted[Math.floor(sorted.length * part)]!.toFixed(2);
        return `${Math.round(count / seconds)}/s p50 ${at(0.5)} p99 ${at(0.99)} ms`;
      };
      return `create ${quantiles(created!)} | read ${quantiles(read!)}`;
    },
    close: () => loads.forEach((load) => void load.close()),
  };
}

try {
  // A first run, without a push service, plans the pushes.
  const first = await startRelay(folder, children, { env: envWith(1) });
  const owner = await create(first.port);
  const others = await Promise.all(Array.from({ length: OTHERS }, () => create(first.port)));
  for (let i = 0; i < DEVICES; i++) {
    const device = {
      platform: "ios",
      model: "m",
      os_version: "1",
      app_version: "1",
      apns_environment: "sandbox",
      apns_token: (i + 1).toString(16).padStart(64, "0"),
    };
    await fetch(`http://127.0.0.1:${first.port}/v1/devices/dev_${crypto.randomUUID()}`, {
      method: "PUT",
      headers: { "content-type": "application/json", authorization: `Bearer ${owner.token}` },
      body: JSON.stringify(device),
    });
  }
  const planned_at = performance.now();
  for (let i = 0; i < TASKS; i += 10) {
    const ten = Array.from({ length: 10 }, () =>
      post(first.port, "/v1/tasks", { title: "Release" }, owner.secret),
    );
    await Promise.all(ten);
  }
  const planned = performance.now() - planned_at;
  process.stdout.write(
    `${PUSHES} pushes planned by ${TASKS} requests in ${Math.round(planned)} ms\n`,
  );
  process.kill(first.pid);
  await children.at(-1)!.exited;

  // Alone, on a second run.
  const alone = await startRelay(folder, children, { env: envWith(apple.port) });
  const idle = memoryOf(alone.pid);
  let most = idle;
  const from = performance.now();
  while ((await apple.counts()).pushes < PUSHES) {
    most = Math.max(most, memoryOf(alone.pid));
    await Bun.sleep(20);
  }
  const took = performance.now() - from;
  const { pushes, requests } = await apple.counts();
  process.stdout.write(
    `alone: ${pushes} pushes in ${(took / 1000).toFixed(2)} s, ${Math.round((PUSHES / took) * 1000)}/s, ` +
      `${requests - pushes} repeated; memory ${idle} MB at first, ${most} MB at most\n`,
  );

  // Beside requests: the same number becomes due while others work.
  const loads = await openLoads(alone.port, others);
  await loads.run(1);
  process.stdout.write(`requests without pushes: ${await loads.run(WINDOW)}\n`);
  const plan = (async () => {
    for (let i = 0; i < TASKS; i += 10) {
      const ten = Array.from({ length: 10 }, () =>
        post(alone.port, "/v1/tasks", { title: "Release" }, owner.secret),
      );
      await Promise.all(ten);
    }
  })();
  const during = await loads.run(WINDOW);
  await plan;
  const { pushes: sent } = await apple.counts();
  process.stdout.write(
    `requests with pushes:    ${during}; ${sent - pushes} pushes sent meanwhile, memory ${memoryOf(alone.pid)} MB\n`,
  );
  loads.close();
} finally {
  for (const child of children) child.kill();
  rmSync(folder, { recursive: true, force: true });
}
