/** A server that lost its data: clients that registered before are told, and register again (§18.5.6). */

import { expect, test } from "bun:test";
import { join } from "node:path";
import {
  Client,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from "@modelcontextprotocol/client";
import { startTestApp } from "../support/app.ts";
import { createUser } from "../support/cli.ts";
import { createPerson, type Person } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import {
  authorize,
  connectClient,
  createVerifier,
  obtainCode,
  postForm,
  REDIRECT,
  refresh,
  requestTokens,
  sealedOf,
} from "../support/oauth.ts";
import { MemoryProvider } from "../support/oauth-client.ts";

const before = await startTestApp();
const after = await startTestApp();
const person = await createPerson(before.url);

const basic = (user: string) => ({
  authorization: `Basic ${Buffer.from(`${encodeURIComponent(user)}:`).toString("base64")}`,
});

test("a client_id that the store did not sign is invalid_client, for codes, refreshes and revocations [§18.5.6]", async () => {
  const { tokens, client_id } = await connectClient(before.url, person);
  const { fields } = await obtainCode(before.url, person);
  const token = `${after.url}/oauth/token`;
  const refreshing = { grant_type: "refresh_token", refresh_token: tokens.refresh_token };
  const revoking = { token: tokens.refresh_token };
  const cut = `${client_id.slice(0, -6)}AAAAAA`;
  for (const [url, sent, headers, challenge] of [
    [token, fields, {}, null],
    [token, { ...refreshing, client_id }, {}, null],
    [token, { ...refreshing, client_id: cut }, {}, null],
    [token, { ...refreshing, client_id: "x".repeat(3_000) }, {}, null],
    [`${after.url}/oauth/revoke`, { ...revoking, client_id }, {}, null],
    [token, refreshing, basic(client_id), 'Basic realm="Relay"'],
    [token, { ...refreshing, client_id }, basic(client_id), 'Basic realm="Relay"'],
    [`${after.url}/oauth/revoke`, revoking, basic(client_id), 'Basic realm="Relay"'],
  ] as const) {
    const answer = await postForm(url, sent as Record<string, string>, headers);
    expect([answer.status, answer.body]).toEqual([
      401,
      { error: "invalid_client", error_description: expect.any(String) },
    ]);
    expect(answer.headers.get("www-authenticate")).toBe(challenge);
    expect(answer.headers.get("cache-control")).toBe("no-store");
  }
  // The store that signed it still knows it.
  const kept = await postForm(`${before.url}/oauth/token`, refreshing, basic(client_id));
  expect(kept.status).toBe(200);
});

test("a known client with a code or token that has ended still gets invalid_grant [§18.5.6] [§18.1.3]", async () => {
  const { client_id, fields } = await obtainCode(before.url, person);
  for (const answer of [
    await requestTokens(before.url, { ...fields, code: "mcc_unknown" }),
    await refresh(before.url, "mcr_unknown", { client_id }),
    await refresh(before.url, "mcr_unknown", { client_id: "https://client.example/client.json" }),
    // A client that sent no client_id cannot be told that it is unknown.
    await refresh(after.url, "mcr_unknown"),
  ]) {
    expect([answer.status, answer.body.error]).toEqual([400, "invalid_grant"]);
  }
});

test("the page for an unknown client says what to do, for each program [§18.4.5]", async () => {
  const { client_id } = await obtainCode(before.url, person);
  const asked = {
    response_type: "code",
    client_id,
    redirect_uri: REDIRECT,
    code_challenge: createVerifier().challenge,
    code_challenge_method: "S256",
  };
  const response = await authorize(after.url, asked);
  const html = await response.text();
  expect([response.status, response.headers.get("location")]).toEqual([400, null]);
  for (const name of ["Claude Code", "Codex", "Gemini CLI", "Cursor", "VS Code", "mcp-remote"]) {
    expect(html).toContain(`<dt>${name}</dt>`);
  }
  expect(html).not.toContain(client_id.slice(0, 20));
  // A program that tries the request first reads the reason.
  const address = `${after.url}/oauth/authorize?${new URLSearchParams(asked)}`;
  for (const [accept, status, type] of [
    ["application/json", 401, "application/json"],
    ["text/html,application/xhtml+xml,*/*;q=0.8", 400, "text/html; charset=utf-8"],
    ["*/*", 400, "text/html; charset=utf-8"],
  ] as const) {
    const tried = await fetch(address, { redirect: "manual", headers: { accept } });
    expect([tried.status, tried.headers.get("content-type")]).toEqual([status, type]);
    if (status === 401) expect(await tried.json()).toMatchObject({ error: "invalid_client" });
  }
});

/** Connects as programs do; `open` is the person's browser. */
async function connect(url: string, provider: MemoryProvider, { send }: Pick<Person, "send">) {
  const attempt = async () => {
    const client = new Client({ name: "agent", version: "1.0.0" });
    const authProvider = provider as never;
    const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { authProvider });
    const error = await client.connect(transport).then(
      () => null,
      (thrown: unknown) => thrown,
    );
    return { client, transport, error };
  };
  const first = await attempt();
  if (first.error === null) return first.client;
  if (!(first.error instanceof UnauthorizedError)) throw first.error;
  const request = sealedOf(await fetch(provider.kept.address, { redirect: "manual" }));
  const { body } = await send("POST /v1/oauth/approve", { request, label: "agent" });
  await first.transport.finishAuth(new URL(body.redirect_to).searchParams as never);
  const second = await attempt();
  if (second.error !== null) throw second.error;
  return second.client;
}

test("after the data was lost, a client of the SDK signs in again by itself [§18.5.6]", async () => {
  /** Forgets what the SDK says is invalid. */
  class Forgetful extends MemoryProvider {
    invalidateCredentials(scope: string) {
      if (scope === "all" || scope === "client") this.kept.client = undefined;
      if (scope === "all" || scope === "tokens") this.kept.tokens = undefined;
    }
  }
  const provider = new Forgetful();
  await (await connect(before.url, provider, person)).close();
  const old = provider.kept.client.client_id;
  // The same program at the same address: all that it learned about the server stays true except the port.
  provider.kept.discovery = undefined;
  const client = await connect(after.url, provider, await createPerson(after.url));
  expect((await client.listTools()).tools.length).toBeGreaterThan(5);
  expect(provider.kept.client.client_id).not.toBe(old);
  await client.close();
});

test("after the data was lost, relay says to sign in again, and signs out [§18.5.6]", async () => {
  const user = createUser({
    clock: createTestClock(),
    open: (address) => {
      void (async () => {
        const request = sealedOf(await fetch(address, { redirect: "manual" }));
        const { body } = await person.send("POST /v1/oauth/approve", { request, label: "cli" });
        await fetch(body.redirect_to);
      })();
      return true;
    },
  });
  expect((await user.run(["login", before.url])).code).toBe(0);
  const file = join(user.home, ".config/relay/access.json");
  const kept = await Bun.file(file).json();
  await Bun.write(file, JSON.stringify({ ...kept, url: after.url }));
  const refused = await user.run(["task", "list"]);
  expect([refused.code === 0, refused.err]).toEqual([
    false,
    expect.stringContaining("relay login"),
  ]);
  expect((await user.run(["logout"])).err).toBe(`Signed out of ${after.url}\n`);
});
