/**
 * `bun run chaos --seed 7 --minutes 3 --store both --processes 3`: clients of every kind keep a model of what they were
 * told, while the plan that the seed makes kills, freezes, cuts, fills and deletes. Afterwards the model, the store and
 * the stand-ins must agree. Prints what was injected and `N acknowledged, 0 lost, 0 twice`, or the first
 * contradiction with its history, and exits with 1. `--mutations` shows that three faults in the code are each found.
 */

import { randomInt } from "node:crypto";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { MUTATIONS, mutatedTree } from "./chaos/mutations.ts";
import { buildExecutable, inTestRunner } from "./in-runner.ts";
import { createPlace } from "./place.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: String(randomInt(2 ** 31)) },
    minutes: { type: "string", default: "3" },
    store: { type: "string", default: "both" },
    processes: { type: "string", default: "3" },
    mutations: { type: "boolean", default: false },
  },
});
const minutes = Number(values.minutes);
const processes = Number(values.processes);
const kinds = values.store === "both" ? ["file", "server"] : [values.store];
if (
  !(minutes > 0) ||
  ![1, 2, 3].includes(processes) ||
  !kinds.every((kind) => ["file", "server"].includes(kind))
) {
  throw new Error("usage: --seed 7 --minutes 3 --store file|server|both --processes 1..3");
}

const print = (line: string) => process.stdout.write(`${line}\n`);
/** Minutes in which a run that is calm must have settled and been checked. */
const CHECKS = 8;

const place = createPlace("relay-chaos");
const { folder } = place;

interface RunOptions {
  readonly store: string;
  readonly seconds: number;
  readonly processes: number;
  readonly executable?: string;
  readonly faults?: readonly string[];
  readonly tree?: string;
}

const run = ({ store, seconds, processes, executable, faults, tree }: RunOptions) =>
  inTestRunner("bench/chaos/run.ts", {
    place,
    minutes: seconds / 60 + CHECKS,
    mounts: true,
    quiet: tree !== undefined,
    ...(tree && { tree }),
    env: {
      RELAY_TEST_SEED: values.seed,
      RELAY_CHAOS_STORE: store,
      RELAY_CHAOS_SECONDS: String(seconds),
      RELAY_CHAOS_PROCESSES: String(processes),
      ...(executable && { RELAY_TEST_EXECUTABLE: executable }),
      ...(faults && { RELAY_CHAOS_FAULTS: faults.join() }),
    },
  });

/** The contradiction that a run reported; undefined without one. */
const contradictionOf = (out: string) => /^CONTRADICTION.*$/m.exec(out)?.[0];

/** Each fault in a copy of the code must be found, and the copy without one must not be. */
async function findMutations(): Promise<void> {
  for (const mutation of MUTATIONS) {
    const tree = mutatedTree(join(folder, mutation.name.replaceAll(" ", "-")), mutation);
    const { store, seconds, faults } = mutation;
    const { code, out, errors } = await run({ store, seconds, processes: 2, faults, tree });
    const found = contradictionOf(out);
    if (mutation.is_fault ? found === undefined : code !== 0) {
      print(`${mutation.name}: ${mutation.is_fault ? "NOT FOUND" : "fails"}\n${out}${errors}`);
      process.exitCode = 1;
    } else print(`${mutation.name}: ${found ?? "agrees, as it must"}`);
  }
}

print(`seed ${values.seed}`);
try {
  if (values.mutations) await findMutations();
  else {
    const executable = join(folder, "relay");
    await buildExecutable(executable);
    for (const store of kinds) {
      const seconds = (minutes * 60) / kinds.length;
      const { code, errors } = await run({ store, seconds, processes, executable });
      if (code === 0) continue;
      print(errors.split("\n").slice(0, 60).join("\n"));
      print(`failed: bun run chaos --seed ${values.seed} --minutes ${minutes} --store ${store}`);
      process.exitCode = 1;
    }
  }
} finally {
  await place.end();
}
