/**
 * Makes backups of a Relay that is under load, on a file or on a libSQL server, with `relay backup`, and restores them.
 * No request may fail, every task that was acknowledged before the backup began must be in it, and the restored copy
 * may send nothing again. Also kills the commands, fills the disk, and moves the store to the other kind and back.
 */

import { Database } from "bun:sqlite";
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { post, startRelay, startSqld, stopAll, times } from "../../bench/process.ts";
import { within } from "../../bench/within.ts";
import { freePort } from "../../test/support/sqld.ts";

const CLI = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
/** Size of the store in MB. */
const SIZE = Number(process.env.RELAY_OPERATE_MB ?? 60);
const CLIENTS = 4;
/** Commands that are killed, each somewhere in the time that a whole one takes. */
const KILLS = 3;
/** Seconds for a command of Relay, for a request, and for a stop. */
const COMMAND = 300;
const ANSWER = 30;
const STOP = 60;

type Print = (line: string) => void;

interface Result {
  readonly code: number;
  readonly said: string;
}

/** Runs a command of Relay; `limit` kB is the largest file that it may write, and `kill_after` milliseconds end it. */
async function relay(
  words: readonly string[],
  url: string,
  {
    limit,
    kill_after,
    replica,
  }: { limit?: number; kill_after?: number; replica?: string | undefined } = {},
): Promise<Result> {
  const command = [process.execPath, CLI, ...words];
  const limited = ["sh", "-c", `trap '' XFSZ; ulimit -f ${(limit ?? 0) * 2}; exec "$@"`, "sh"];
  const child = Bun.spawn(limit === undefined ? command : [...limited, ...command], {
    env: {
      PATH: process.env.PATH ?? "",
      DATABASE_URL: url,
      ...(replica && { BACKUP_URL: replica }),
    },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: Math.round(kill_after ?? COMMAND * 1000),
    killSignal: "SIGKILL",
  });
  const texts = [child.stdout, child.stderr].map((one) => new Response(one).text());
  const said = (await Promise.all(texts)).join("").trim();
  return { code: await child.exited, said };
}

/** A receiver of webhooks that counts what it accepts by the event's type. */
function startCounter() {
  const accepted = new Map<string, number>();
  let is_up = true;
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const { type } = (await request.json()) as { type: string };
      if (!is_up) return new Response(null, { status: 503 });
      accepted.set(type, (accepted.get(type) ?? 0) + 1);
      return new Response(null, { status: 200 });
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}/hook`,
    questions: () => accepted.get("question.created") ?? 0,
    confirmed: () => (accepted.get("channel.test") ?? 0) > 0,
    setUp(up: boolean) {
      is_up = up;
    },
    stop: () => server.stop(true),
  };
}

/** Adds finished tasks to a store until it has about {@link SIZE} MB. */
function fill(path: string, megabytes: number): void {
  const database = new Database(path);
  const rows = Math.round((megabytes * 1_000_000) / 4_600);
  database.run(
    `insert into tasks (id, key_id, account_id, title, description, status, priority, notify, source, created_at, updated_at, revision)
      with recursive c(n) as (select 1 union all select n + 1 from c where n < ?)
      select 'tsk_' || n, 'key_f', 'acc_f', 'Task ' || n, hex(randomblob(2000)), 'done', 'low', 1, 'agent', n, unixepoch() * 1000, 'r' || n from c`,
    [rows],
  );
  database.close();
}

/** The ids of all tasks in a file. */
function idsIn(path: string): Set<string> {
  const database = new Database(path, { readonly: true });
  const rows = database.query<{ id: string }, []>("select id from tasks").all();
  database.close();
  return new Set(rows.map(({ id }) => id));
}

const percentile = (values: readonly number[], part: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * part)] ?? 0;

async function waitFor(what: string, check: () => boolean, seconds = 60): Promise<void> {
  for (const until = performance.now() + seconds * 1000; !check(); await Bun.sleep(50)) {
    if (performance.now() > until) throw new Error(`waited in vain until ${what}`);
  }
}

/** One kind of store. Returns what went wrong. */
async function run(kind: "file" | "server", print: Print): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), "relay-operate-"));
  const children: Bun.Subprocess[] = [];
  const counter = startCounter();
  const wrong: string[] = [];
  const expect = (is_right: boolean, what: string) => void (is_right || wrong.push(what));
  const newServer = async (name: string, flags: readonly string[] = []) =>
    (await startSqld(join(folder, name), freePort(), children, flags)).url;
  try {
    const file = `file:${join(folder, "relay.db")}`;
    const first = await startRelay(folder, children, { env: { DATABASE_URL: file } });
    await stop(children, first.pid);
    fill(file.slice(5), kind === "file" ? SIZE : SIZE / 4);
    const grpc = `127.0.0.1:${freePort()}`;
    const url = kind === "file" ? file : await newServer("server", ["--grpc-listen-addr", grpc]);
    let replica: string | undefined;
    if (kind === "server") {
      replica = await newServer("replica", ["--primary-grpc-url", `http://${grpc}`]);
      const moved = await relay(["migrate", file, url], "");
      expect(moved.code === 0, `migrate: ${moved.said}`);
      print(`  ${moved.said.split("\n")[0]}`);
    }
    const env = { DATABASE_URL: url, OUTBOUND_PRIVATE: "127.0.0.0/8" };
    const { pid, port } = await startRelay(folder, children, { env });
    const newAgent = async () => {
      const { token } = await post<{ token: string }>(port, "/v1/accounts", {});
      const made = await post<{ secret: string }>(port, "/v1/keys", { label: "A" }, token);
      return { token, secret: made.secret };
    };
    const { secret } = await newAgent();
    // Another account, since the load fills the queue of a webhook.
    const asking = await newAgent();
    const hook = { type: "webhook", label: "CI", url: counter.url, sends: ["questions"] };
    await post(port, "/v1/channels", hook, asking.token);
    await waitFor("the webhook is tested", counter.confirmed);

    // The load.
    const acknowledged: string[] = [];
    const durations: { at: number; ms: number }[] = [];
    const failed: string[] = [];
    let over = false;
    const client = async () => {
      while (!over) {
        const since = performance.now();
        try {
          const { id } = await post<{ id: string }>(port, "/v1/tasks", { title: "T" }, secret);
          const at = performance.now();
          acknowledged.push(id);
          durations.push({ at, ms: at - since });
          const done = { status: "done" };
          const response = await fetch(`http://127.0.0.1:${port}/v1/tasks/${id}`, {
            method: "PATCH",
            headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
            body: JSON.stringify(done),
            signal: AbortSignal.timeout(ANSWER * 1000),
          });
          if (!response.ok) failed.push(`PATCH: ${response.status}`);
          await response.arrayBuffer();
          durations.push({ at: performance.now(), ms: performance.now() - at });
        } catch (error) {
          failed.push(String(error));
        }
        await Bun.sleep(20);
      }
    };
    const working = times(CLIENTS, client);
    await Bun.sleep(3_000);
    const backup = join(folder, "backups", "relay.db");
    const words = ["backup", backup, "--keep", "2"];
    let largest_log = 0;
    const watch = setInterval(() => {
      const log = `${file.slice(5)}-wal`;
      if (kind === "file" && existsSync(log)) {
        largest_log = Math.max(largest_log, statSync(log).size);
      }
    }, 50);
    const began = performance.now();
    const known = [...acknowledged];
    const made = await relay(words, url, { replica });
    const ended = performance.now();
    await Bun.sleep(2_000);
    clearInterval(watch);
    expect(made.code === 0, `backup: ${made.said}`);
    const copied = idsIn(/to (\S+)/.exec(made.said)?.[1] ?? "");
    const missing = known.filter((id) => !copied.has(id));
    expect(missing.length === 0, `${missing.length} tasks are not in the backup`);
    const part = (from: number, to: number) =>
      durations.filter(({ at }) => at >= from && at < to).map(({ ms }) => ms);
    const [quiet, beside] = [part(0, began), part(began, ended + 2_000)];
    print(`  ${made.said.replaceAll("\n", " ")}`);
    print(
      `  requests before: median ${percentile(quiet, 0.5).toFixed(1)} ms, 99 % ${percentile(quiet, 0.99).toFixed(1)} ms; during: ${percentile(beside, 0.5).toFixed(1)} and ${percentile(beside, 0.99).toFixed(1)} ms, slowest ${Math.max(...beside).toFixed(0)} ms; largest log ${(largest_log / 1e6).toFixed(0)} MB`,
    );

    // Killed and full: the earlier backup stays, and nothing else does.
    const backups = () => readdirSync(join(folder, "backups"));
    const took = ended - began;
    for (let i = 0; i < KILLS; i++) {
      await relay(words, url, { kill_after: 100 + (i / KILLS) * took, replica });
    }
    const full = await relay(words, url, { limit: 1_000, replica });
    expect(
      full.code === 3 && full.said.includes("cannot be written"),
      `a full disk: ${full.code} ${full.said}`,
    );
    for (let i = 0; i < 2; i++) {
      const next = await relay(words, url, { replica });
      expect(next.code === 0, `the next backup: ${next.said}`);
    }
    expect(
      backups().length === 2 && backups().every((one) => /^relay-\d{8}T\d{6}Z\.db$/.test(one)),
      `left behind: ${backups()}`,
    );
    over = true;
    await Promise.all(working);
    expect(failed.length === 0, `${failed.length} requests failed, such as ${failed[0]}`);

    // The backup with a question that waits; then the original sends it.
    counter.setUp(false);
    await post(port, "/v1/questions", { prompt: "Go on?", kind: "text" }, asking.secret);
    const waiting = await relay(["backup", join(folder, "waiting.db")], url);
    expect(waiting.code === 0, waiting.said);
    counter.setUp(true);
    await waitFor("the original sends", () => counter.questions() === 1, 240);
    await stop(children, pid);

    /** A server on which the command was killed; a new one if it was done before. */
    const newServerCut = async (name: string, command: (url: string) => Promise<Result>) => {
      const cut = await newServer(name);
      return (await command(cut)).code === 0 ? newServer(`${name}-again`) : cut;
    };
    const kill_after = took;
    const target =
      kind === "file"
        ? `file:${join(folder, "restored.db")}`
        : await newServerCut("restored", (to) =>
            relay(["restore", join(folder, "waiting.db")], to, { kill_after }),
          );
    const restored = await relay(["restore", join(folder, "waiting.db")], target);
    expect(restored.code === 0, `restore: ${restored.said}`);
    print(`  ${restored.said.split("\n")[0]}`);
    const twin = await startRelay(folder, children, { env: { ...env, DATABASE_URL: target } });
    const stored = await allTasks(twin.port, secret);
    const lost = acknowledged.filter((id) => !stored.has(id));
    expect(
      lost.length === 0,
      `${lost.length} of ${acknowledged.length} acknowledged tasks are lost`,
    );
    await Bun.sleep(15_000);
    expect(counter.questions() === 1, `the question was sent ${counter.questions()} times`);
    await stop(children, twin.pid);
    print(
      `  ${acknowledged.length} acknowledged tasks, ${lost.length} lost; ${failed.length} failed requests; sent again: ${counter.questions() - 1}`,
    );

    // To the other kind and back.
    const away =
      kind === "file"
        ? await newServerCut("away", (to) => relay(["migrate", target, to], "", { kill_after }))
        : `file:${join(folder, "away.db")}`;
    const back = kind === "file" ? `file:${join(folder, "back.db")}` : await newServer("back");
    for (const [from, to] of [
      [target, away],
      [away, back],
    ] as const) {
      const moved = await relay(["migrate", from, to], "");
      expect(moved.code === 0, `migrate: ${moved.said}`);
      print(`  ${moved.said.split("\n")[0]}`);
    }
    const last = await startRelay(folder, children, { env: { ...env, DATABASE_URL: back } });
    const kept = await allTasks(last.port, secret);
    expect(kept.size === stored.size, `${kept.size} of ${stored.size} tasks after two moves`);
  } catch (error) {
    wrong.push(String(error));
  } finally {
    counter.stop();
    await stopAll(children, folder);
    rmSync(folder, { recursive: true, force: true });
  }
  return wrong;
}

async function stop(children: readonly Bun.Subprocess[], pid: number): Promise<void> {
  const child = children.find((one) => one.pid === pid)!;
  child.kill("SIGTERM");
  await within(STOP, "a stop", child.exited);
}

/** The ids of all tasks of a key. */
async function allTasks(port: number, secret: string): Promise<Set<string>> {
  const found = new Set<string>();
  for (let cursor: string | null = ""; cursor !== null; ) {
    const query: string = cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`;
    const response = await fetch(`http://127.0.0.1:${port}/v1/tasks?limit=100${query}`, {
      headers: { authorization: `Bearer ${secret}` },
      signal: AbortSignal.timeout(ANSWER * 1000),
    });
    const page = (await response.json()) as { tasks: { id: string }[]; next_cursor: string | null };
    for (const { id } of page.tasks) found.add(id);
    cursor = page.next_cursor;
  }
  return found;
}

/** The backups of a server are read from a replica. */
const KINDS =
  process.env.RELAY_OPERATE_STORE === "server" ? ["server" as const] : ["file" as const];

/** Runs it on a file, or with `RELAY_OPERATE_STORE=server` on a libSQL server. Returns false if something was lost, failed or sent twice. */
export async function backups(print: Print): Promise<boolean> {
  let good = true;
  for (const kind of KINDS) {
    print(`backups, ${kind}:`);
    const wrong = await run(kind, print);
    for (const line of wrong) print(`  WRONG: ${line}`);
    good &&= wrong.length === 0;
  }
  return good;
}
