/** `bun run demo` as a real process; `test/soak/demo.test.ts` types answers, and ends it by signals. */

import { describe, expect, test } from "bun:test";
import { linesOf, runDemo } from "./support/demo.ts";
import { freePort } from "./support/sqld.ts";

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
