/** OAuth at a `PUBLIC_URL` with a path, behind a proxy that removes the path (§18.2). */

import { afterAll, describe, expect, test } from "bun:test";
import { auth, discoverOAuthMetadata } from "@modelcontextprotocol/sdk/client/auth.js";
import { startTestApp } from "../support/app.ts";
import { createUser } from "../support/cli.ts";
import { client, createPerson, type Person } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { oldEra } from "../support/mcp.ts";
import { sealedOf } from "../support/oauth.ts";
import { connectInBrowser, MemoryProvider } from "../support/oauth-client.ts";

const PATH = "/tools/relay";

/**
 * A server behind a proxy, which forwards requests below the path without it, and with `well_known` also the
 * metadata of that path.
 */
async function startBehind({ well_known }: { well_known: boolean }) {
  const seen: string[] = [];
  let target = "";
  const proxy = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch(request) {
      const { pathname, search } = new URL(request.url);
      seen.push(pathname);
      const below = pathname.startsWith(`${PATH}/`) ? pathname.slice(PATH.length) : null;
      const passed = well_known && pathname.startsWith("/.well-known/") ? pathname : null;
      const to = below ?? passed;
      if (to === null) return new Response("Another site", { status: 404 });
      const { method, headers, body } = request;
      return fetch(`${target}${to}${search}`, { method, headers, body, redirect: "manual" });
    },
  });
  afterAll(() => proxy.stop(true));
  const base = `http://localhost:${proxy.port}${PATH}`;
  const app = await startTestApp({ env: { PUBLIC_URL: `${base}/` } });
  target = app.local_url;
  return { app, base, seen, person: await createPerson(base) };
}

/** Opens an address as the browser of a person who approves. */
const openAs = (person: Person, base: string) => async (address: URL | string) => {
  const asked = await fetch(address, { redirect: "manual" });
  expect(new URL(asked.headers.get("location")!, address).href).toStartWith(`${base}/#/authorize/`);
  const request = sealedOf(asked);
  const { body } = await person.send("POST /v1/oauth/approve", { request, label: "agent" });
  await fetch(body.redirect_to);
};

describe.each([
  ["forwards only the path", false],
  ["also forwards the metadata outside the path", true],
] as const)("a proxy that %s", async (_, well_known) => {
  const { base, person, seen } = await startBehind({ well_known });

  test("an SDK client gets from the first 401 to a tool call [§18.2.1] [§18.2.2] [§18.2.3]", async () => {
    const refused = await client(base)("POST /mcp", {});
    const metadata = `${base}/.well-known/oauth-protected-resource/mcp`;
    expect(refused.headers.get("www-authenticate")).toContain(`resource_metadata="${metadata}"`);
    const described = await (await fetch(metadata)).json();
    expect(described).toMatchObject({
      resource: `${base}/mcp`,
      authorization_servers: [base],
    });
    const open = openAs(person, base);
    const agent = await connectInBrowser({ url: `${base}/mcp`, name: "New line", open });
    expect((await agent.listTools()).tools.length).toBeGreaterThan(8);
    await agent.close();
    // Every request was below the path, except for reads of the metadata.
    const outside = seen.filter((path) => !path.startsWith(`${PATH}/`));
    expect(outside.filter((path) => !path.startsWith("/.well-known/"))).toEqual([]);
  });

  test("a client of the older SDK signs in too, and renews its tokens [§18.2.2]", async () => {
    const provider = new MemoryProvider();
    const resourceMetadataUrl = new URL(`${base}/.well-known/oauth-protected-resource/mcp`);
    const sign = (more = {}) =>
      auth(provider, { serverUrl: `${base}/mcp`, resourceMetadataUrl, ...more });
    expect(await sign()).toBe("REDIRECT");
    const asked = await fetch(provider.kept.address, { redirect: "manual" });
    const approval = { request: sealedOf(asked), label: "older" };
    const { body } = await person.send("POST /v1/oauth/approve", approval);
    const answer = new URL(body.redirect_to).searchParams;
    expect(answer.get("iss")).toBe(base);
    expect(await sign({ authorizationCode: answer.get("code")! })).toBe("AUTHORIZED");
    const { access_token } = provider.kept.tokens;
    expect((await oldEra(base, access_token)("tools/list")).status).toBe(200);
    expect(await sign()).toBe("AUTHORIZED");
    expect(provider.kept.tokens.access_token).not.toBe(access_token);
  });

  test("the command line signs in there too", async () => {
    const clock = createTestClock();
    const user = createUser({
      clock,
      open(address) {
        void openAs(person, base)(address);
        return true;
      },
    });
    expect(await user.run(["login", base])).toMatchObject({ code: 0 });
    expect(await user.run(["task", "add", "Below a path"])).toMatchObject({ code: 0 });
  });
});

test("the metadata of a path are where RFC 8414 and 9728 put them, and only there [§18.2.4]", async () => {
  const { base, app } = await startBehind({ well_known: true });
  const { origin } = new URL(base);
  expect(await discoverOAuthMetadata(base)).toMatchObject({ issuer: base });
  for (const path of [
    `/.well-known/oauth-authorization-server${PATH}`,
    `/.well-known/oauth-protected-resource${PATH}`,
    `/.well-known/oauth-protected-resource${PATH}/mcp`,
    "/.well-known/openid-configuration",
  ]) {
    expect([path, (await fetch(origin + path)).status]).toEqual([path, 200]);
    // At its own address the server has no path.
    expect([path, (await fetch(app.local_url + path)).status]).toEqual([path, 404]);
  }
  const own = await client(app.local_url)("GET /.well-known/oauth-authorization-server");
  expect(own.body.issuer).toBe(app.local_url);
  const found = await client(base)("GET /.well-known/openid-configuration");
  expect(await (await fetch(found.body.jwks_uri)).json()).toEqual({ keys: [] });
  const plain = await startTestApp();
  expect((await client(plain.url)("GET /.well-known/openid-configuration")).status).toBe(404);
});
