/** The official conformance suite against the real server, at each revision that the suite knows. */

import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { startTestApp } from "../support/app.ts";
import { createPair } from "../support/client.ts";
import { tempFolder } from "../support/temp.ts";
import { NOT_APPLICABLE } from "./conformance.ts";

const SUITE = Bun.resolveSync("@modelcontextprotocol/conformance/dist/index.js", import.meta.dir);

interface Check {
  readonly id: string;
  readonly status: string;
}

/** Scenario -> its checks. */
async function run(revision: string): Promise<Map<string, Check[]>> {
  const app = await startTestApp();
  const { agent } = await createPair(app.url);
  // The suite cannot send Relay's credentials, so its requests go through this proxy.
  const proxy = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch(request) {
      const headers = new Headers(request.headers);
      headers.set("authorization", `Bearer ${agent.secret}`);
      return fetch(`${app.url}/mcp`, { method: request.method, headers, body: request.body });
    },
  });
  const folder = tempFolder();
  const url = `http://127.0.0.1:${proxy.port}/mcp`;
  const child = Bun.spawn(
    [process.execPath, SUITE, "server", "--url", url, "--requirements", revision, "-o", folder],
    { stdout: "ignore", stderr: "ignore" },
  );
  await child.exited;
  await proxy.stop(true);
  const found = new Map<string, Check[]>();
  for (const name of readdirSync(folder)) {
    const scenario = name.replace(/^server-/, "").replace(/-\d{4}-\d\d-\d\dT.*$/, "");
    found.set(scenario, await Bun.file(join(folder, name, "checks.json")).json());
  }
  return found;
}

/** The least number of passed scenarios and checks, so that an empty run is not a success. */
const AT_LEAST = { "2025-11-25": [30, 35], "2026-07-28": [40, 90] } as const;

const seen = new Set<string>();

for (const [revision, [scenarios, passes]] of Object.entries(AT_LEAST)) {
  test(`conformance with ${revision} fails only in the listed checks, each with a reason`, async () => {
    const found = await run(revision);
    const news: string[] = [];
    let passed = 0;
    for (const [scenario, checks] of found) {
      seen.add(scenario);
      const expected = NOT_APPLICABLE[scenario]?.checks ?? [];
      for (const { id, status } of checks) {
        if (status === "SUCCESS") passed++;
        if (status === "FAILURE" && !expected.includes(id)) news.push(`${scenario}: ${id} fails`);
      }
      const failed = checks.filter(({ status }) => status === "FAILURE").map(({ id }) => id);
      for (const id of expected) {
        const there = checks.some((check) => check.id === id);
        if (there && !failed.includes(id)) news.push(`${scenario}: ${id} passes now`);
      }
      if (expected.length > 0 && failed.length === 0) news.push(`${scenario} passes now`);
    }
    expect(news).toEqual([]);
    expect(found.size).toBeGreaterThanOrEqual(scenarios);
    expect(passed).toBeGreaterThanOrEqual(passes);
  });
}

test("every listed conformance scenario was run", () => {
  expect(Object.keys(NOT_APPLICABLE).filter((scenario) => !seen.has(scenario))).toEqual([]);
});
