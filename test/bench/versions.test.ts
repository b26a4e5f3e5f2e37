/** What `bun run bench:compare` measures, and when it fails. */

import { expect, test } from "bun:test";
import { fileURLToPath } from "node:url";
import { compareVersions, type Measure, parseCommand } from "../../bench/versions.ts";

const BENCH = fileURLToPath(new URL("../../bench/versions.ts", import.meta.url));

const measure = (name: string): Measure => ({ name, store: "file", open: async () => null });

/** A server whose rate in each turn is given; a turn that is shorter than a second is a warm-up. */
function sideOf(rate: (turn: number) => number) {
  let turns = 0;
  return {
    pids: [],
    async run(seconds: number) {
      const count = seconds < 1 ? 1 : rate(turns++);
      return { count, seconds, ms: [1, 2, 3] };
    },
    close() {},
    turns: () => turns,
  };
}

/** Compares rates of this version with a steady 1,000 of the other. */
async function compareRates(...rates: ((turn: number) => number)[]) {
  const sides = rates.map((rate) => [sideOf(rate), sideOf(() => 1_000)] as const);
  const measures = rates.map((_, i) => measure(`m${i}`));
  let text = "";
  const code = await compareVersions(
    measures,
    async (one) => sides[measures.indexOf(one)]!,
    (more) => {
      text += more;
    },
  );
  return { code, text, turns: sides.map((pair) => pair.map((side) => side.turns())) };
}

test("nearly equal rates pass after five turns each", async () => {
  const { code, text, turns } = await compareRates(() => 950);
  expect(code).toBe(0);
  expect(turns).toEqual([[5, 5]]);
  expect(text).toMatch(/per second +950 +1,000 +0\.95 +0\.95 to 0\.95\n/);
  expect(text).toEndWith("No rate is under 0.9.\n");
});

test("a rate that stays under 0.9 of the other version's fails, once 15 turns confirm it", async () => {
  const { code, text, turns } = await compareRates(
    () => 1_000,
    () => 890,
  );
  expect(code).toBe(1);
  expect(turns).toEqual([
    [5, 5],
    [15, 15],
  ]);
  expect(text).toEndWith("Under 0.9: m1\n");
});

test("slow turns that do not come again do not fail", async () => {
  const { code, turns } = await compareRates((turn) => (turn < 4 ? 300 : 1_000));
  expect(code).toBe(0);
  expect(turns).toEqual([[15, 15]]);
});

test("a rate that varies around 0.9 is decided by the median of 30 turns", async () => {
  const low = await compareRates((turn) => (turn % 3 === 0 ? 1_000 : 850));
  expect([low.code, low.turns]).toEqual([1, [[30, 30]]]);
  const high = await compareRates((turn) => (turn % 3 === 0 ? 850 : 1_000));
  expect([high.code, high.turns]).toEqual([0, [[30, 30]]]);
});

test("what one of the versions cannot do is left out", async () => {
  let text = "";
  const code = await compareVersions(
    [measure("creates-target-file")],
    async () => null,
    (more) => {
      text += more;
    },
  );
  expect(code).toBe(0);
  expect(text).toContain("creates-target-file: left out");
});

test("a name selects the measures that have all its parts", () => {
  const selected = (...names: string[]) => {
    const command = parseCommand(["HEAD", ...names]);
    return typeof command === "string" ? command : command.measures.map(({ name }) => name);
  };
  expect(selected("reads")).toEqual(["reads-file", "reads-server"]);
  expect(selected("lists-64-file")).toEqual(["lists-key-64-file", "lists-accounts-64-file"]);
  expect(selected("server", "reads")).toHaveLength(selected("server").length + 1);
  expect(selected()).toHaveLength(2 * selected("file").length);
});

test("arguments that name nothing are refused with the usage, before anything starts", async () => {
  const run = async (...args: string[]) => {
    const child = Bun.spawn([process.execPath, BENCH, ...args], { stdout: "pipe", stderr: "pipe" });
    const [out, error] = await Promise.all([child.stdout.text(), child.stderr.text()]);
    expect(out).toBe("");
    expect(error).toContain("usage: bun run bench:compare <commit> [name …]");
    return { code: await child.exited, error };
  };
  expect((await run()).code).toBe(2);
  const [commit, name] = await Promise.all([run("no-such-commit"), run("HEAD", "reads", "nope")]);
  expect(commit.code).toBe(2);
  expect(commit.error).toStartWith("no-such-commit is no commit of this clone.\n");
  expect(name.code).toBe(2);
  expect(name.error).toStartWith("No measure is named nope.\n");
});
