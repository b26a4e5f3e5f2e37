/** Kills the process that listens for replies, round after round, while people answer. */

import { expect } from "bun:test";
import { ADMIN, metricsOf } from "./admin.ts";
import { client } from "./client.ts";
import { sampleOf } from "./exposition.ts";
import { startNtfy, tap } from "./ntfy.ts";
import { type RelayProcess, startProcess } from "./process.ts";
import { createRepliesPerson } from "./replies.ts";
import { createTestStore } from "./store.ts";
import { until } from "./until.ts";

/** Questions that are answered in each round. */
const ASKED = 4;

interface Options {
  readonly rounds: number;
  readonly random: () => number;
}

/**
 * Two processes on one store; in each round the one that listens is killed at a random moment while buttons are tapped.
 * Throws unless every answer arrives, once, with a lease's time. Returns the seconds until the last answer of each round.
 */
export async function killReplyReaders({ rounds, random }: Options) {
  const { url } = await createTestStore();
  const env = { DATABASE_URL: url, OUTBOUND_PRIVATE: "127.0.0.0/8", ...ADMIN };
  const apps: RelayProcess[] = [await startProcess(env), await startProcess(env)];
  const ntfy = await startNtfy();
  const { person, agent } = await createRepliesPerson(apps[0]!.url, ntfy);
  /** Connections that the process has, by its own figures. */
  const listens = async (app: RelayProcess) =>
    sampleOf((await metricsOf(app.url)).all, "relay_listener_connections", { channel: "ntfy" }) ??
    0;
  const seconds: number[] = [];
  let most = 0;
  for (let round = 0; round < rounds; round++) {
    await until(() => ntfy.listening().length === 1);
    const holds = await Promise.all(apps.map(listens));
    const victim = holds.indexOf(1);
    const alive = apps[1 - victim]!;
    const asks = client(alive.url, agent.secret);
    const ids = await Promise.all(
      Array.from({ length: ASKED }, async (_, i) => {
        const given = { prompt: `${round} ${i}` };
        return (await asks("POST /v1/questions", given)).body.id as string;
      }),
    );
    const shown = await until(() => {
      const found = ids.map((id) => ntfy.published.find(({ sequence_id }) => sequence_id === id));
      return found.every((one) => one !== undefined) && found;
    });
    const kill = Bun.sleep(random() * 40).then(() => apps[victim]!.kill("SIGKILL"));
    for (const one of shown) {
      expect(await tap(one, "Yes")).toBe(200);
      await Bun.sleep(random() * 20);
    }
    await kill;
    const from = performance.now();
    const read = client(alive.url, person.token);
    for (const id of ids) {
      await until(async () => {
        most = Math.max(most, ntfy.listening().length);
        return (await read(`GET /v1/questions/${id}`)).body.status === "answered";
      });
    }
    seconds.push(Math.round((performance.now() - from) / 100) / 10);
    const { items } = (await asks("GET /v1/inbox")).body;
    expect(items.map(({ question }: any) => question.prompt).sort()).toEqual(
      ids.map((_, i) => `${round} ${i}`),
    );
    apps[victim] = await startProcess(env);
    ntfy.take();
  }
  // Two processes never listened at once: a killed one's connection closes with it.
  expect(most).toBeLessThanOrEqual(1);
  expect(ntfy.faults).toEqual([]);
  return seconds;
}
