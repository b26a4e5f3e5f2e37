/** One run of chaos over one kind of store. Runs in the test runner; the environment has its options (chaos.ts). */

import { expect, test } from "bun:test";
import { createAgent } from "../../test/support/client.ts";
import { seeded } from "../../test/support/random.ts";
import {
  commandAgent,
  mcpAgent,
  type Owner,
  racingAgent,
  reachingAgent,
  restAgent,
} from "./agents.ts";
import { checkInboxes, checkQuestions, checkStreams, checkTasks } from "./check.ts";
import { checkDeliveries, checkProcesses, type ReachedOwner, settleDown } from "./check-effects.ts";
import { type FaultKind, injectAll, planOf, possibleFaults } from "./faults.ts";
import { createModel } from "./model.ts";
import { startObserver } from "./observer.ts";
import {
  answerAll,
  flood,
  followStream,
  liveAndLeave,
  readInbox,
  writeMessages,
} from "./people.ts";
import { type StoreKind, startServers } from "./servers.ts";
import { createAccount, startStandIns } from "./stand-ins.ts";
import { createWorld } from "./world.ts";

const env = process.env;
const KIND = (env.RELAY_CHAOS_STORE ?? "file") as StoreKind;
const SECONDS = Number(env.RELAY_CHAOS_SECONDS ?? 30);
const PROCESSES = Number(env.RELAY_CHAOS_PROCESSES ?? 2);
/** Names of the only faults to inject, separated by commas; all that are possible when absent. */
const ONLY = env.RELAY_CHAOS_FAULTS?.split(",").filter(Boolean) as FaultKind[] | undefined;
/** Accounts that work, and accounts that every channel reaches. */
const [WORKING, REACHED] = [2, 2];
/** Milliseconds between two questions of an account that is reached: its webhook takes 60 messages a minute. */
const PACE = 4_000;
const LANES = 4;
/** Acknowledged changes a second that a run must have, whatever the faults. */
const LEAST_RATE = 2;

const print = (line: string) => process.stdout.write(`${line}\n`);
/** Says where it is, with RELAY_CHAOS_VERBOSE. */
const phase = (name: string) => {
  if (env.RELAY_CHAOS_VERBOSE)
    process.stderr.write(`${performance.now().toFixed(0)} ms: ${name}\n`);
};
const listed = (counts: ReadonlyMap<string, number>) =>
  [...counts]
    .toSorted(([a], [b]) => a.localeCompare(b))
    .map(([name, n]) => `${n} ${name}`)
    .join(", ");

test(
  "the store and every client agree after chaos",
  seeded(`chaos ${KIND}`, async (random) => {
    const model = createModel();
    const services = await startStandIns();
    const servers = await startServers({
      kind: KIND,
      processes: PROCESSES,
      random,
      fault: model.contradict,
      env: {
        ...services.env,
        RATE_LIMITS: "on",
        TRUST_PROXY: "1",
        DRAIN_SECONDS: "0",
        LOG_LEVEL: "warn",
      },
    });
    phase("started");
    const world = createWorld({ servers, services, model, random });
    const { url } = servers.slots[0]!.app!;
    const observer = await startObserver(servers.direct_url);

    phase("observing");
    const owners: Owner[] = [];
    for (let i = 0; i < WORKING; i++) {
      const person = await createAccount(url);
      for (const kind of ["rest", "rest 2", "mcp", "cli", "racer"]) {
        const agent = await createAgent(url, person, kind);
        owners.push({ person, agent, name: `${KIND} ${i} ${kind}` });
      }
    }
    const reached: ReachedOwner[] = [];
    for (let i = 0; i < REACHED; i++) {
      const person = await createAccount(url);
      const agent = await createAgent(url, person, "reached");
      const to = await services.reach(url, person, agent);
      reached.push({ person, agent, name: `${KIND} reached ${i}`, reached: to });
    }
    const flooder = await createAccount(url);
    const flooding = await createAgent(url, flooder, "flood");

    const of = (kind: string) => owners.filter(({ agent }) => agent.key.label.startsWith(kind));
    const people = new Set(owners.map(({ person }) => person));
    let agents_over = false;
    let readers_over = false;
    const agents = [
      ...of("rest").map((one) => restAgent(world, one)),
      ...of(env.NOMCP ? "none" : "mcp").map((one) => mcpAgent(world, one)),
      ...of(env.NOCLI ? "none" : "cli").map((one) => commandAgent(world, one)),
      ...of(env.NORACE ? "none" : "racer").map((one) => racingAgent(world, one)),
      ...of("rest").map((one) => writeMessages(world, one)),
      ...reached.map((one) => reachingAgent(world, one, PACE)),
      env.NOFLOOD ? null : flood(world, { person: flooder, agent: flooding, name: KIND }, LANES),
    ];
    const answering = [
      ...[...people].map((person) => answerAll(world, person, null, () => agents_over)),
      ...reached.map((one) => answerAll(world, one.person, one.reached, () => agents_over)),
    ];
    const readers = [
      ...owners.map(({ agent }) => readInbox(world, agent, () => readers_over)),
      ...[...people, ...people].map((person) => followStream(world, person, () => readers_over)),
    ];

    phase("set up");
    const kinds = ONLY ?? possibleFaults(world);
    const plan = planOf({ kinds, processes: PROCESSES, seconds: SECONDS, random });
    let left = 0;
    const injected = await injectAll(world, plan, () => liveAndLeave(world, left++));
    phase("calm");
    world.beCalm();
    world.stopping = true;
    await Promise.all(agents);
    agents_over = true;
    await Promise.all(answering);
    phase("agents over");
    const settled = await settleDown(world, observer);
    // The last events and items arrive.
    await Bun.sleep(3_000);
    readers_over = true;
    await Promise.all(readers);
    await observer.stop();

    phase("readers over");
    const checked = { model, observer };
    await checkTasks(checked);
    await checkQuestions(checked);
    await checkInboxes(checked);
    checkStreams(checked);
    let deliveries = 0;
    for (const one of reached) deliveries += await checkDeliveries(world, observer, one);
    await checkProcesses(world, observer, owners[0]!);
    for (const fault of services.faults()) {
      // A clock that is ahead makes tokens that Apple refuses.
      if (injected.has("move clock") && fault.startsWith("InvalidProviderToken")) continue;
      model.contradict("services", fault);
    }
    phase("checked");
    await observer.close();
    await servers.stop();

    phase("stopped");
    const { acknowledged, refused, unknown } = model.fates;
    const cuts = servers.slots.reduce(
      (sum, { link, store_link }) => sum + link.cuts() + (store_link?.cuts() ?? 0),
      0,
    );
    print(`${KIND}, ${PROCESSES} processes: faults: ${listed(injected)}; ${cuts} connections cut`);
    const impossible = ["fill disk", "move clock"].filter(
      (kind) => !possibleFaults(world).includes(kind as FaultKind),
    );
    if (impossible.length > 0) print(`not possible on this machine: ${impossible.join(", ")}`);
    print(`clients: ${listed(model.actions)}`);
    print(
      `${model.streams.length} streams, ${observer.events.length} events, ${deliveries} deliveries; calm after ${settled.toFixed(0)} s`,
    );
    const lacking = kinds.filter((kind) => !injected.has(kind));
    const [first] = model.contradictions;
    if (first) {
      print(`CONTRADICTION of ${first.entity}: ${first.text}`);
      for (const line of model.historyOf(first.entity).slice(-60)) print(`  ${line}`);
      const others = model.contradictions.slice(1);
      if (others.length > 0) print(`and ${others.length} more:`);
      for (const { entity, text } of others.slice(0, 15)) print(`  ${entity}: ${text}`);
      print("faults:");
      for (const line of model.historyOf("faults").slice(-80)) print(`  ${line}`);
    } else {
      print(
        `${KIND}: ${acknowledged} acknowledged, 0 lost, 0 twice; ${refused} refused, ${unknown} unknown`,
      );
    }
    expect(model.contradictions.length).toBe(0);
    // A run that injected too little, or did too little, has shown nothing.
    if (!ONLY) expect(lacking).toEqual([]);
    expect(acknowledged).toBeGreaterThan(LEAST_RATE * SECONDS);
  }),
  (SECONDS + 420) * 1000,
);
