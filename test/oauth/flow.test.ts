/** Authorization from the first 401 to a tool call, request by request (§18). */

import { expect, test } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { client, createPerson } from "../support/client.ts";
import { oldEra } from "../support/mcp.ts";
import { answerOf, connectClient, obtainCode, REDIRECT, requestTokens } from "../support/oauth.ts";

const app = await startTestApp();
const { url } = app;
const person = await createPerson(url);

test("a 401 of /mcp leads to the metadata, which have the address of the request [§18.2.1] [§18.2.2] [§18.2.3]", async () => {
  for (const base of [url, url.replace("127.0.0.1", "localhost")]) {
    const refused = await client(base)("POST /mcp", {});
    expect([refused.status, refused.headers.get("www-authenticate")]).toEqual([
      401,
      `Bearer resource_metadata="${base}/.well-known/oauth-protected-resource/mcp", scope="agent"`,
    ]);
    const resource = await client(base)("GET /.well-known/oauth-protected-resource/mcp");
    expect(resource.body).toEqual({
      resource: `${base}/mcp`,
      authorization_servers: [base],
      scopes_supported: ["agent"],
      resource_name: "Relay",
    });
    expect(resource.headers.get("cache-control")).toBe("no-store");
    const server = await client(base)("GET /.well-known/oauth-authorization-server");
    expect(server.body).toMatchObject({ issuer: base, token_endpoint: `${base}/oauth/token` });
  }
});

test("an approval gives a code, the code gives tokens, and the access token opens /mcp as the key [§18.5.2]", async () => {
  const flow = await obtainCode(url, person);
  expect(answerOf(flow.approved.redirect_to)).toEqual({
    code: flow.code,
    state: "the-state",
    iss: url,
  });
  expect(flow.approved.redirect_to).toStartWith(`${REDIRECT}?`);
  const { status, headers, body } = await requestTokens(url, flow.fields);
  expect(status).toBe(200);
  expect([headers.get("cache-control"), headers.get("pragma")]).toEqual(["no-store", "no-cache"]);
  expect(body).toEqual({
    access_token: expect.stringMatching(/^mco_[\w-]{43}$/),
    token_type: "Bearer",
    expires_in: 86_400,
    refresh_token: expect.stringMatching(/^mcr_[\w-]{65}$/),
    scope: "agent",
  });
  const listed = await oldEra(url, body.access_token)("tools/list");
  expect(listed.body.result.tools.length).toBeGreaterThan(8);
  const send = client(url, body.access_token);
  const { body: task } = await send("POST /v1/tasks", { title: "by a client" });
  expect(task.key_id).toBe(flow.key.id);
  expect((await send("GET /v1/account")).status).toBe(403);
  const { body: listing } = await person.send(`GET /v1/keys/${flow.key.id}/grants`);
  expect(listing.grants).toMatchObject([{ client_name: "Test client", client_host: null }]);
});

test("a refresh gives new tokens", async () => {
  const { tokens } = await connectClient(url, person);
  const { status, body } = await requestTokens(url, {
    grant_type: "refresh_token",
    refresh_token: tokens.refresh_token,
  });
  expect(status).toBe(200);
  expect((await client(url, body.access_token)("GET /v1/tasks")).status).toBe(200);
});
