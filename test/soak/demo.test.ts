/** `bun run demo` with typed answers, on a running server, and ended by a signal. */

import { describe, expect, test } from "bun:test";
import { linesOf, runDemo } from "../support/demo.ts";
import { startProcess } from "../support/process.ts";
import { createTestStore } from "../support/store.ts";

describe("demo", () => {
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
});
