/** Which test files run on both stores: found from what each one imports, but for a short list. */

import { dirname, join, relative, resolve } from "node:path";
import { Glob, Transpiler } from "bun";

const ROOT = resolve(import.meta.dir, "../..");

/** The one file that reads `RELAY_TEST_STORE`: a test that does not reach it is the same on every store. */
const STORE = "test/support/store.ts";
/** Tests that are unsteady by nature, since they kill processes or cut connections at random. */
const SOAK = "test/soak/";
/** Its tests are about a page in a real browser, to which all stores are alike. */
const BROWSER = "test/web/browser.ts";

/**
 * Start a server, but are about what it does before a request reaches the store, about its clients, or
 * about push services. Every statement of Relay that they run is also run by a file that is on both stores.
 */
export const ON_ONE_STORE: readonly string[] = [
  "test/api/account-creations.test.ts",
  "test/api/account-token.test.ts",
  "test/api/activity-waits.test.ts",
  "test/api/clocks.test.ts",
  "test/api/messages.test.ts",
  "test/api/older-records.test.ts",
  "test/api/open-pages.test.ts",
  "test/api/repeated-creation.test.ts",
  "test/api/request-id.test.ts",
  "test/api/richer-questions.test.ts",
  "test/cli/ask.test.ts",
  "test/cli/doctor.test.ts",
  "test/cli/hook.test.ts",
  "test/cli/login.test.ts",
  "test/cli/run.test.ts",
  "test/cli/work.test.ts",
  "test/client/errors.test.ts",
  "test/client/events.test.ts",
  "test/client/node.test.ts",
  "test/client/routes.test.ts",
  "test/client/waits.test.ts",
  "test/demo.test.ts",
  "test/environment-proxy.test.ts",
  "test/guards/readme.test.ts",
  "test/http/admin.test.ts",
  "test/http/answer-size.test.ts",
  "test/http/bad-fields.test.ts",
  "test/http/bad-input.test.ts",
  "test/http/bad-query.test.ts",
  "test/http/body-budget.test.ts",
  "test/http/cors.test.ts",
  "test/http/credentials.test.ts",
  "test/http/descriptors.test.ts",
  "test/http/docs.test.ts",
  "test/http/exhausted.test.ts",
  "test/http/json-bounds.test.ts",
  "test/http/large-requests.test.ts",
  "test/http/openapi.test.ts",
  "test/http/order.test.ts",
  "test/http/pages.test.ts",
  "test/http/paths.test.ts",
  "test/http/pipelining.test.ts",
  "test/http/problems.test.ts",
  "test/http/rate-limits.test.ts",
  "test/http/request-form.test.ts",
  "test/http/security.test.ts",
  "test/http/tls.test.ts",
  "test/http/trpc-bad-input.test.ts",
  "test/http/trpc-client.test.ts",
  "test/http/trpc-idempotency.test.ts",
  "test/http/unsent-answers.test.ts",
  "test/lifecycle.test.ts",
  "test/mcp/activity.test.ts",
  "test/mcp/approve-join.test.ts",
  "test/mcp/clients.test.ts",
  "test/mcp/conformance.test.ts",
  "test/mcp/endpoint.test.ts",
  "test/mcp/inbox.test.ts",
  "test/mcp/inspector.test.ts",
  "test/mcp/limits.test.ts",
  "test/mcp/reach.test.ts",
  "test/mcp/refusals.test.ts",
  "test/mcp/rounds.test.ts",
  "test/mcp/tools.test.ts",
  "test/mcp/words.test.ts",
  "test/notify/activities.test.ts",
  "test/notify/admin.test.ts",
  "test/notify/answers.test.ts",
  "test/notify/batch-settler.test.ts",
  "test/notify/channels.test.ts",
  "test/notify/clocks.test.ts",
  "test/notify/coalescing.test.ts",
  "test/notify/faults.test.ts",
  "test/notify/holds.test.ts",
  "test/notify/lanes.test.ts",
  "test/notify/late-alerts.test.ts",
  "test/notify/later-news.test.ts",
  "test/notify/moves.test.ts",
  "test/notify/ntfy-faults.test.ts",
  "test/notify/ntfy.test.ts",
  "test/notify/other-channel.test.ts",
  "test/notify/payloads.test.ts",
  "test/notify/permission-payloads.test.ts",
  "test/notify/setup.test.ts",
  "test/notify/web-push.test.ts",
  "test/notify/webhook-deliveries.test.ts",
  "test/oauth/clients.test.ts",
  "test/oauth/conformance.test.ts",
  "test/oauth/documents.test.ts",
  "test/oauth/ends.test.ts",
  "test/oauth/flow.test.ts",
  "test/oauth/limits.test.ts",
  "test/oauth/requests.test.ts",
  "test/outbound/proxy.test.ts",
  "test/start-message.test.ts",
];

export interface Plan {
  /** Files that run on each store. */
  readonly both: readonly string[];
  /** Files that run once, on the embedded store if on any. */
  readonly once: readonly string[];
  /** Files with a real browser: once too. */
  readonly pages: readonly string[];
}

/** Reads every test file but those of {@link readSoak}. Paths are relative to the project's folder and sorted. */
export async function readPlan(): Promise<Plan> {
  const reach = createReach();
  const both: string[] = [];
  const once: string[] = [];
  const pages: string[] = [];
  const files = await Array.fromAsync(new Glob("test/**/*.test.ts").scan(ROOT));
  for (const file of files.filter((path) => !path.startsWith(SOAK)).sort()) {
    const reached = await reach(file);
    if (reached.has(BROWSER)) pages.push(file);
    else if (reached.has(STORE) && !ON_ONE_STORE.includes(file)) both.push(file);
    else once.push(file);
  }
  return { both, once, pages };
}

/** The files of `bun run soak`, which is no part of the suite: kills and chaos, sorted. */
export async function readSoak(): Promise<string[]> {
  const files = await Array.fromAsync(new Glob(`${SOAK}*.test.ts`).scan(ROOT));
  return files.sort();
}

/** Gives the files under `test` that a file imports, directly or not, itself included; types do not count. */
function createReach() {
  const transpiler = new Transpiler({ loader: "ts" });
  const read = new Map<string, Promise<string[]>>();
  const importsOf = async (file: string): Promise<string[]> => {
    const text = await Bun.file(join(ROOT, file)).text();
    return transpiler
      .scanImports(text)
      .filter(({ path }) => path.startsWith("."))
      .map(({ path }) => relative(ROOT, resolve(ROOT, dirname(file), path)))
      .filter((path) => path.startsWith("test/") && path.endsWith(".ts"));
  };
  return async (start: string): Promise<ReadonlySet<string>> => {
    const seen = new Set([start]);
    // A set can grow while it is iterated: what is added is visited too.
    for (const file of seen) {
      if (!read.has(file)) read.set(file, importsOf(file));
      for (const next of (await read.get(file))!) seen.add(next);
    }
    return seen;
  };
}
