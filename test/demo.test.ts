/** `bun run demo` as a real process: what it prints, how it ends, and that nothing stays behind. */

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
  /** Typed as soon as the demo asks for it. */
  readonly typed?: readonly string[];
  /** Sent when the demo waits for the answer. */
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
    await until(() => out.includes("types the answer"));
    if (signal) child.kill(signal);
    for (const line of typed ?? []) child.stdin!.write(`${line}\n`);
    child.stdin!.flush();
  }
  const code = await child.exited;
  await read;
  return { code, out, errors: await errors, left: readdirSync(temp) };
}

/** The lines of one role, which are in order; those of different roles mix as they come. */
function linesOf(role: string, out: string): string[] {
  return out
    .split("\n")
    .filter((line) => line.startsWith(`${role} `))
    .map((line) => line.slice(8));
}

/** Every event of a run that ends with `answer`. */
function eventsWith(answer: string): string[] {
  return [
    "ready",
    "task.created  in_progress",
    "key.updated",
    "task.updated  in_progress  20 %  Builds the packages",
    "task.updated  in_progress  60 %  Runs the tests",
    "question.created  pending",
    `question.updated  answered  "${answer}"`,
    "inbox.updated  1 unread",
    `task.updated  done  100 %  Released to: ${answer}`,
    "account.deleted",
  ];
}

/** The account and the key go by other names in each run. */
function withoutIds(lines: readonly string[]): string[] {
  return lines.map((line) => line.replace(/(acc|mck)_\S+/, "$1_*").replace(/\d+\.\d ms/, "* ms"));
}

describe("the demo", () => {
  test("plays by itself on a server of its own", async () => {
    const { code, out, errors, left } = await runDemo({ args: ["--yes"] });
    expect({ code, errors, left }).toEqual({ code: 0, errors: "", left: [] });
    expect(out).toMatch(/^A person and an agent at http:\/\/127\.0\.0\.1:\d+\n/);
    expect(withoutIds(linesOf("person", out))).toEqual([
      "creates an account",
      "creates a key for the agent of account acc_*",
      "opens the event stream",
      "1 Staging   2 Production   3 Nowhere",
      'answers "Staging"',
      "deletes the account",
    ]);
    expect(withoutIds(linesOf("agent", out))).toEqual([
      "starts a task with the key mck_*",
      "reports 20 %",
      "reports 60 %",
      'asks "All tests pass. Where shall I release it?" and waits',
      'has the answer "Staging", * ms after it was sent',
      "finishes the task",
    ]);
    expect(linesOf("event", out).sort()).toEqual(eventsWith("Staging").sort());
  });

  test("takes the answer from standard input, and asks again for one that is no option", async () => {
    const { code, out, left } = await runDemo({ typed: ["4", "nowhere"] });
    expect({ code, left }).toEqual({ code: 0, left: [] });
    expect(linesOf("person", out).slice(-5)).toEqual([
      "1 Staging   2 Production   3 Nowhere",
      "types the answer, 1 to 3, then Enter:",
      "types the answer, 1 to 3, then Enter:",
      'answers "Nowhere"',
      "deletes the account",
    ]);
    expect(linesOf("event", out)).toContain('question.updated  answered  "Nowhere"');
  });

  test("plays on a running server, named by flag or variable, and leaves no account on it", async () => {
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

  test("stops its server and removes its store when it is interrupted", async () => {
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

  test("ends with one line and exit code 1 when it cannot go on", async () => {
    const free = `http://127.0.0.1:${freePort()}`;
    for (const [args, says] of [
      [["--url", free], `no server answers at ${free}`],
      [["--url", "relay"], "--url must be an http(s) address"],
      [["--no"], "Unknown option '--no'; --help shows the options"],
      [[], "standard input ended without an answer; --yes answers by itself"],
    ] as const) {
      const { code, errors, left } = await runDemo({ args });
      expect({ code, errors, left }).toEqual({ code: 1, errors: `demo: ${says}\n`, left: [] });
    }
  });

  test("explains itself", async () => {
    const { code, out, errors } = await runDemo({ args: ["--help"] });
    expect({ code, errors }).toEqual({ code: 0, errors: "" });
    for (const flag of ["--url", "--yes", "--help"]) expect(out).toContain(flag);
  });
});
