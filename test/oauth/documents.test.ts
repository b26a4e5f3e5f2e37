/** Clients that are described by a document at their own address (§18.3.4). */

import { expect, test } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { client, createPerson } from "../support/client.ts";
import { answerOf, authorize, createVerifier, requestTokens, sealedOf } from "../support/oauth.ts";
import { createTestStore } from "../support/store.ts";
import { createAuthority } from "../support/tls.ts";

const authority = await createAuthority();
let fetched = 0;
let answer = () => Response.json({});
const site = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  tls: await authority.issue(),
  fetch() {
    fetched++;
    return answer();
  },
});

/** The name server's reply for each name; a list has the replies one after the other. */
const names: Record<string, string[][]> = {};
const resolve = async (host: string) => {
  if (host === "localhost") return ["127.0.0.1"];
  const said = names[host] ?? [];
  return (said.length > 1 ? said.shift() : said[0]) ?? [];
};

const { url: database_url } = await createTestStore();
const PUBLIC_URL = "https://relay.example";
const app = await startTestApp({
  database_url,
  env: { PUBLIC_URL, OUTBOUND_PRIVATE: "127.0.0.0/8" },
  outbound: { ca: authority.ca, resolve },
});
const url = app.local_url;
const person = await createPerson(url);
const REDIRECT = "https://client.example/cb";
const client_id = `https://localhost:${site.port}/client.json`;
const GOOD = { client_id, client_name: "A web client", redirect_uris: [REDIRECT] };
const { verifier, challenge } = createVerifier();

const ask = (id = client_id, redirect_uri = REDIRECT) =>
  authorize(url, {
    response_type: "code",
    client_id: id,
    redirect_uri,
    code_challenge: challenge,
    code_challenge_method: "S256",
  });

test("client ID documents are advertised only with an https PUBLIC_URL", async () => {
  const path = "GET /.well-known/oauth-authorization-server";
  const name = "client_id_metadata_document_supported";
  expect((await client(url)(path)).body[name]).toBe(true);
  const local = await startTestApp({ database_url });
  expect((await client(local.url)(path)).body).not.toHaveProperty(name);
  const refused = await authorize(local.url, {
    response_type: "code",
    client_id,
    redirect_uri: REDIRECT,
    code_challenge: challenge,
    code_challenge_method: "S256",
  });
  expect(refused.status).toBe(400);
  // The page says why, and the way by a key.
  expect(await refused.text()).toContain("client_id is an address");
});

test("a client's document is loaded for a person who is signed in, and for nobody else [§18.3.4]", async () => {
  answer = () => Response.json(GOOD);
  const request = sealedOf(await ask());
  await client(url)("POST /v1/oauth/request", { request });
  await client(url, `mca_${"A".repeat(43)}`)("POST /v1/oauth/request", { request });
  await client(url)("POST /v1/oauth/approvals", { request });
  expect(fetched).toBe(0);
  const { body } = await person.send("POST /v1/oauth/request", { request });
  expect(body).toMatchObject({
    client_name: "A web client",
    client_host: "client.example",
    document_host: `localhost:${site.port}`,
  });
  expect(fetched).toBe(1);
  const approved = await person.send("POST /v1/oauth/approve", { request });
  expect(approved.body.key.label).toBe("A web client");
  const { code } = answerOf(approved.body.redirect_to);
  const fields = {
    grant_type: "authorization_code",
    code: code!,
    client_id,
    redirect_uri: REDIRECT,
    code_verifier: verifier,
  };
  const other = { ...fields, client_id: `${client_id}?other` };
  expect((await requestTokens(url, other)).body.error).toBe("invalid_grant");
  expect((await requestTokens(url, fields)).status).toBe(200);
});

test("a document that does not vouch for the request is refused, for approval and denial too [§18.3.4]", async () => {
  const request = sealedOf(await ask());
  const documents: Record<string, () => Response> = {
    "another client_id": () => Response.json({ ...GOOD, client_id: `${client_id}x` }),
    "other redirect URIs": () => Response.json({ ...GOOD, redirect_uris: [`${REDIRECT}2`] }),
    "no redirect URIs": () => Response.json({ client_id }),
    "a client with a secret": () =>
      Response.json({ ...GOOD, token_endpoint_auth_method: "client_secret_basic" }),
    "not JSON": () => new Response("<html>"),
    "another status": () => Response.json(GOOD, { status: 404 }),
    "a redirect": () => Response.redirect(client_id, 302),
    "more than 5 KiB": () => Response.json({ ...GOOD, padding: "x".repeat(5_120) }),
  };
  for (const [name, make] of Object.entries(documents)) {
    answer = make;
    for (const [route, more] of [
      ["request", {}],
      ["approve", { label: "x" }],
    ] as const) {
      const { status, body } = await person.send(`POST /v1/oauth/${route}`, { request, ...more });
      expect([name, route, status, Object.keys(body.fields ?? {})]).toEqual([
        name,
        route,
        422,
        ["request"],
      ]);
    }
    // The request can be denied, but redirects nowhere.
    const { status, body } = await person.send("POST /v1/oauth/deny", { request });
    expect([name, status, body]).toEqual([name, 200, { redirect_to: null }]);
  }
  expect((await person.send("GET /v1/keys")).body.keys).toHaveLength(1);
});

test("a document is not loaded from a private address, even if its name first resolves to a permitted one [§18.3.4]", async () => {
  answer = () => Response.json(GOOD);
  const before = fetched;
  const port = site.port;
  names["private.example"] = [["10.0.0.1"]];
  names["mixed.example"] = [["127.0.0.1", "192.168.0.1"]];
  names["metadata.example"] = [["169.254.169.254"]];
  // A permitted address for the first lookup, a forbidden one for the next.
  names["changing.example"] = [["127.0.0.1"], ["10.0.0.1"]];
  for (const id of [
    "https://10.0.0.1/client.json",
    "https://169.254.169.254/client.json",
    "https://[::1]/client.json",
    `https://private.example:${port}/client.json`,
    `https://mixed.example:${port}/client.json`,
    `https://metadata.example:${port}/client.json`,
  ]) {
    const request = sealedOf(await ask(id));
    const { status, body } = await person.send("POST /v1/oauth/request", { request });
    expect([id, status, body.fields]).toEqual([
      id,
      422,
      { request: "Its description is at an address that this server does not open." },
    ]);
  }
  expect(fetched).toBe(before);
  const changing = `https://changing.example:${port}/client.json`;
  const request = sealedOf(await ask(changing));
  // The certificate is not for this name either.
  for (const reason of ["could not be loaded", "an address that this server does not open"]) {
    const { body } = await person.send("POST /v1/oauth/request", { request });
    expect(body.fields.request).toContain(reason);
  }
  expect(fetched).toBe(before);
});

test("a client id that is not the address of a document is unknown [§18.3.4]", async () => {
  for (const id of [
    "http://client.example/client.json",
    "https://client.example",
    "https://client.example/",
    "https://client.example/a/../client.json",
    "https://client.example/client.json#x",
    "https://user@client.example/client.json",
  ]) {
    expect([id, (await ask(id)).status]).toEqual([id, 400]);
  }
});
