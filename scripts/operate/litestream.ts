/**
 * Continuous replication of the file by Litestream, as docs/operating/backups.md describes it: clients create tasks while Relay is
 * killed and stopped and Litestream is killed. What Litestream restores must have every acknowledged task.
 */

import { mkdirSync, mkdtempSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { post, startRelay, stopAll, times } from "../../bench/process.ts";
import { within } from "../../bench/within.ts";
import { blocksOf } from "./document.ts";
import { run } from "./run.ts";

/** Addresses in the recipe that become those of this run. */
const STORE = "/var/lib/relay/relay.db";
const REPLICA = "/mnt/replica/relay";

const CLIENTS = 4;
/** Milliseconds between two tasks of a client: a key may have 10,000. */
const PAUSE = 20;
/** Milliseconds of each phase, and what Litestream gets to copy the rest. */
const PHASE = 5_000;
const REST = 4_000;
/** Seconds for a stop, and for a request. */
const STOP = 60;
const ANSWER = 30;

/** The configuration that the document prints, with the paths of this run. */
function recipe(store: string, replica: string): string {
  const [found = ""] = blocksOf("backups", "Continuous replication", "yaml");
  return found.replaceAll(STORE, store).replaceAll(REPLICA, replica);
}

/** Creates tasks until `over`, and returns the ids of those that were acknowledged. */
function createTasks(port: () => number, secret: string) {
  const acknowledged = new Set<string>();
  let over = false;
  const working = times(CLIENTS, async () => {
    while (!over) {
      const made = await post<{ id: string }>(port(), "/v1/tasks", { title: "x" }, secret).catch(
        () => null,
      );
      if (made) acknowledged.add(made.id);
      await Bun.sleep(PAUSE);
    }
  });
  return {
    acknowledged,
    async stop() {
      over = true;
      await Promise.all(working);
    },
  };
}

/** Prints what was found. Returns false if an acknowledged task is missing. */
export async function litestream(print: (line: string) => void): Promise<boolean> {
  const program = process.env.LITESTREAM ?? Bun.which("litestream");
  if (!program) {
    print("Litestream: not tried, since it is not installed (LITESTREAM names its program)");
    return true;
  }
  const folder = mkdtempSync(join(tmpdir(), "relay-operate-"));
  const children: Bun.Subprocess[] = [];
  const relays: Bun.Subprocess[] = [];
  try {
    const store = join(folder, "relay.db");
    const replica = join(folder, "replica");
    const config = join(folder, "litestream.yml");
    mkdirSync(replica);
    writeFileSync(config, recipe(store, replica));
    const log = Bun.file(join(folder, "litestream.log"));
    const replicate = () => {
      const child = Bun.spawn([program, "replicate", "-config", config], {
        stdio: ["ignore", log, log],
      });
      children.push(child);
      return child;
    };
    const serve = () => startRelay(folder, relays);
    let relay = await serve();
    let copying = replicate();
    const { token } = await post<{ token: string }>(relay.port, "/v1/accounts", {});
    const { secret } = await post<{ secret: string }>(
      relay.port,
      "/v1/keys",
      { label: "A" },
      token,
    );
    const tasks = createTasks(() => relay.port, secret);
    await Bun.sleep(PHASE);
    // Relay dies, and is started again.
    relays.at(-1)!.kill("SIGKILL");
    await relays.at(-1)!.exited;
    relay = await serve();
    await Bun.sleep(PHASE);
    // Litestream dies while Relay writes on, and is started again.
    copying.kill("SIGKILL");
    await copying.exited;
    await Bun.sleep(PHASE);
    copying = replicate();
    await Bun.sleep(PHASE);
    // An upgrade: Relay stops, which empties the log as far as Litestream lets it.
    const since = performance.now();
    relays.at(-1)!.kill("SIGTERM");
    await within(STOP, "a stop", relays.at(-1)!.exited);
    const stop_took = (performance.now() - since) / 1000;
    relay = await serve();
    await Bun.sleep(PHASE);
    await tasks.stop();
    await Bun.sleep(REST);
    const wal = statSync(`${store}-wal`).size;
    // The machine is lost: nothing else is copied.
    copying.kill("SIGKILL");
    relays.at(-1)!.kill("SIGKILL");
    await Promise.all([copying.exited, relays.at(-1)!.exited]);

    const restored = join(folder, "restored");
    mkdirSync(restored);
    const target = join(restored, "relay.db");
    const { code, text } = await run([program, "restore", "-config", config, "-o", target, store]);
    if (code !== 0) throw new Error(`litestream restore: ${text}`);
    const other = await startRelay(restored, children, {
      env: { DATABASE_URL: `file:${target}` },
    });
    const found = new Set<string>();
    for (let cursor = ""; ; ) {
      const path = `/v1/tasks?limit=100${cursor && `&cursor=${cursor}`}`;
      const answer = await fetch(`http://127.0.0.1:${other.port}${path}`, {
        headers: { authorization: `Bearer ${secret}` },
        signal: AbortSignal.timeout(ANSWER * 1000),
      });
      const page = (await answer.json()) as { tasks: { id: string }[]; next_cursor: string | null };
      for (const { id } of page.tasks) found.add(id);
      if (!page.next_cursor) break;
      cursor = encodeURIComponent(page.next_cursor);
    }
    const missing = [...tasks.acknowledged].filter((id) => !found.has(id));
    print(
      `Litestream: ${missing.length} of ${tasks.acknowledged.size} acknowledged tasks are missing in what it restored; log of ${(wal / 1e6).toFixed(1)} MB; stop of ${stop_took.toFixed(1)} s`,
    );
    if (missing.length > 0) print(await log.text());
    return missing.length === 0;
  } finally {
    await stopAll([...relays, ...children], folder);
  }
}
