/** `bun run demo` as a real process: its output, its exit, and its clean-up. */

import { describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { startProcess } from "./support/process.ts";
import { freePort } from "./support/sqld.ts";
import { createTestStore } from "./support/store.ts";
import { tempFolder } from "./support/temp.ts";
import { until } from "./support/until.ts";

const DEMO = fileURLToPath(new URL("../scripts/demo.ts", import.meta.url));

interface Run {
  readonly args?: readonly string[];
  readonly env?: Record<string, string>;
  /** Lines typed once the demo asks for the answer. */
  readonly typed?: readonly string[];
  /** Sent once the demo asks for the answer. */
  readonly signal?: NodeJS.Signals;
}

async function runDemo({ args = [], env = {}, typed, signal }: Run) {
  const temp = tempFolder();
  const child = Bun.spawn([process.execPath, DEMO, ...args], {
    env: { PATH: process.env.PATH ?? "", TMPDIR: temp, ...env },
    stdin: typed || signal ? "pipe" : "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const errors = child.stderr.text();
  let out = "";
  const decoder = new TextDecoder();
  const read = (async () => {
    for await (const chunk of child.stdout) out += decoder.decode(chunk, { stream: true });
  })();
  if (typed || signal) {
    await until(() => out.includes("type the answer"));
    if (signal) child.kill(signal);
    for (const line of typed ?? []) child.stdin!.write(`${line}\n`);
    child.stdin!.flush();
  }
  const code = await child.exited;
  await read;
  return { code, out, errors: await errors, left: readdirSync(temp) };
}

/** The lines of one role, in order; lines of different roles interleave freely. */
function linesOf(role: string, out: string): string[] {
  return out
    .split("\n")
    .filter((line) => line.startsWith(`${role} `))
    .map((line) => line.slice(8));
}

/** Every event of a run with this answer. */
function eventsWith(answer: string): string[] {
  return [
    "ready",
    "task.created  in_progress",
    "key.updated",
    "task.updated  in_progress  20%  Building the packages",
    "task.updated  in_progress  60%  Running the tests",
    "question.created  pending",
    `question.updated  answered  "${answer}"`,
    "inbox.updated  1 unread",
    `task.updated  done  100%  Released to: ${answer}`,
    "account.deleted",
  ];
}

/** Ids and durations differ in each run. */
function withoutIds(lines: readonly string[]): string[] {
  return lines.map((line) => line.replace(/(acc|mck)_\S+/, "$1_*").replace(/\d+\.\d ms/, "* ms"));
}

describe("demo", () => {
  test("--yes runs unattended on a server of its own", async () => {
    const { code, out, errors, left } = await runDemo({ args: ["--yes"] });
    expect({ code, errors, left }).toEqual({ code: 0, errors: "", left: [] });
    expect(out).toMatch(/^A person and an agent at http:\/\/127\.0\.0\.1:\d+\n/);
    expect(withoutIds(linesOf("person", out))).toEqual([
      "creates an account",
      "creates a key for an agent in account acc_*",
      "opens the event stream",
      "1 Staging   2 Production   3 Nowhere",
      'answers "Staging"',
      "deletes the account",
    ]);
    expect(withoutIds(linesOf("agent", out))).toEqual([
      "starts a task with the key mck_*",
      "reports 20%",
      "reports 60%",
      'asks "All tests pass. Where should I release it?" and waits',
      'gets the answer "Staging" * ms after it was sent',
      "finishes the task",
    ]);
    expect(linesOf("event", out).sort()).toEqual(eventsWith("Staging").sort());
  });

  test("reads the answer from standard input and asks again after an invalid one", async () => {
    const { code, out, left } = await runDemo({ typed: ["4", "nowhere"] });
    expect({ code, left }).toEqual({ code: 0, left: [] });
    expect(linesOf("person", out).slice(-5)).toEqual([
      "1 Staging   2 Production   3 Nowhere",
      "type the answer, 1 to 3, then Enter:",
      "type the answer, 1 to 3, then Enter:",
      'answers "Nowhere"',
      "deletes the account",
    ]);
    expect(linesOf("event", out)).toContain('question.updated  answered  "Nowhere"');
  });

  test("uses the running server of --url or RELAY_URL and deletes its account there", async () => {
    const server = await startProcess({ DATABASE_URL: (await createTestStore()).url });
    for (const run of [
      { args: ["--yes", "--url", `${server.url}/`] },
      { args: ["--yes"], env: { RELAY_URL: server.url } },
    ]) {
      const { code, out, left } = await runDemo(run);
      expect({ code, left }).toEqual({ code: 0, left: [] });
      expect(out).toStartWith(`A person and an agent at ${server.url}\n`);
      expect(linesOf("event", out).at(-1)).toBe("account.deleted");
    }
  });

  test("SIGINT and SIGTERM stop its server and remove its store", async () => {
    for (const [signal, expected] of [
      ["SIGINT", 130],
      ["SIGTERM", 143],
    ] as const) {
      const { code, out, errors, left } = await runDemo({ signal });
      expect({ code, errors, left }).toEqual({ code: expected, errors: "", left: [] });
      const url = /at (http\S+)/.exec(out)![1]!;
      expect(await fetch(url).catch(() => "refused")).toBe("refused");
    }
  });

  test("fails with one line and exit code 1", async () => {
    const free = `http://127.0.0.1:${freePort()}`;
    for (const [args, says] of [
      [["--url", free], "no response from the server"],
      [["--url", "relay"], "--url must be an http(s) address"],
      [["--no"], "Unknown option '--no'; --help shows the options"],
      [[], "standard input ended without an answer; use --yes to answer automatically"],
    ] as const) {
      const { code, errors, left } = await runDemo({ args });
      expect({ code, errors, left }).toEqual({ code: 1, errors: `demo: ${says}\n`, left: [] });
    }
  });

  test("--help lists the options", async () => {
    const { code, out, errors } = await runDemo({ args: ["--help"] });
    expect({ code, errors }).toEqual({ code: 0, errors: "" });
    for (const flag of ["--url", "--yes", "--help"]) expect(out).toContain(flag);
  });
});
