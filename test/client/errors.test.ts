/** What the client throws when a request fails. */

import { expect, test } from "bun:test";
import { createClient } from "../../src/client/client.ts";
import { RelayError } from "../../src/client/error.ts";
import { startTestApp } from "../support/app.ts";
import { createPair } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { freePort } from "../support/sqld.ts";
import { until } from "../support/until.ts";

const app = await startTestApp();

/** A server that is not Relay. */
function serve(fetch: () => Response | Promise<Response>) {
  return Bun.serve({ hostname: "127.0.0.1", port: 0, fetch });
}

async function errorOf(work: Promise<unknown>): Promise<RelayError> {
  const error = await work.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(RelayError);
  return error as RelayError;
}

test("a problem becomes an error with its code, status, fields and detail [§9.1.3]", async () => {
  const { agent } = await createPair(app.url);
  const client = createClient({ url: app.url, credential: agent.secret });
  expect(await errorOf(client.tasks.create({ title: "" }))).toMatchObject({
    code: "invalid_fields",
    status: 422,
    fields: { title: expect.any(String) },
    retry_after: null,
    message: "Invalid fields: title.",
    is_transient: false,
  });
  expect(await errorOf(client.accounts.get())).toMatchObject({ code: "forbidden", status: 403 });
  expect(await errorOf(client.tasks.get("none"))).toMatchObject({ code: "not_found", fields: {} });
});

test("a rate limit error has the seconds of Retry-After [§10.6.2]", async () => {
  const limited = await startTestApp({ clock: createTestClock(), env: { RATE_LIMITS: "on" } });
  const client = createClient({ url: limited.url });
  for (let i = 0; i < 20; i++) await client.attest.challenge();
  const error = await errorOf(client.attest.challenge());
  expect(error).toMatchObject({ code: "rate_limited", status: 429, is_transient: true });
  expect(error.retry_after).toBeGreaterThan(0);
});

test("a response that is not from Relay is unexpected_response", async () => {
  using proxy = serve(() => new Response("<h1>Bad gateway</h1>", { status: 502 }));
  using portal = serve(() => new Response("<h1>Log in</h1>"));
  const url = (of: typeof proxy) => `http://127.0.0.1:${of.port}`;
  const from = (of: typeof proxy) => errorOf(createClient({ url: url(of) }).accounts.get());
  const code = "unexpected_response";
  expect(await from(proxy)).toMatchObject({ code, status: 502, is_transient: true });
  expect(await from(portal)).toMatchObject({ code, status: 200, is_transient: false });
});

test("a failed connection is no_response", async () => {
  const client = createClient({ url: `http://127.0.0.1:${freePort()}` });
  const error = await errorOf(client.health());
  expect(error).toMatchObject({ code: "no_response", status: null, is_transient: true });
});

test("a server that does not respond in time is no_response", async () => {
  const asked = Promise.withResolvers<void>();
  using silent = serve(() => {
    asked.resolve();
    return new Promise<Response>(() => {});
  });
  const timers = { ...createTestClock(), jitter: () => 0 };
  const client = createClient({ url: `http://127.0.0.1:${silent.port}`, timers });
  const failed = errorOf(client.accounts.get());
  await asked.promise;
  await timers.advance(15);
  expect(await failed).toMatchObject({ code: "no_response", status: null });
  expect(timers.pending()).toBe(0);
});

test("an aborted signal rejects the request with its reason", async () => {
  const { agent } = await createPair(app.url);
  const client = createClient({ url: app.url, credential: agent.secret });
  const ended = new AbortController();
  const { signal } = ended;
  const reading = client.inbox.read({ wait: 50 }, { signal }).catch((error: unknown) => error);
  const reason = new Error("enough");
  await until(() => app.waits.count() === 1);
  ended.abort(reason);
  expect(await reading).toBe(reason);
  expect(await client.agents.list({ signal }).catch((error: unknown) => error)).toBe(reason);
});
