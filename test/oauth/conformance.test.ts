/** The scenarios of the official conformance suite for authorization servers. */

import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { startTestApp } from "../support/app.ts";
import { createPerson } from "../support/client.ts";
import { register, sealedOf } from "../support/oauth.ts";
import { freePort } from "../support/sqld.ts";
import { tempFolder } from "../support/temp.ts";

const SUITE = Bun.resolveSync("@modelcontextprotocol/conformance/dist/index.js", import.meta.dir);

test("Relay passes the conformance suite as an authorization server, with a person who approves", async () => {
  // With an https PUBLIC_URL it accepts client ID documents too, also at its local address.
  const app = await startTestApp({ env: { PUBLIC_URL: "https://relay.example" } });
  const url = app.local_url;
  const person = await createPerson(url);
  const port = freePort();
  const redirect_uris = [`http://127.0.0.1:${port}/callback`];
  const client_id = await register(url, { redirect_uris });
  const folder = tempFolder();
  const child = Bun.spawn(
    [
      process.execPath,
      ...["--bun", SUITE, "authorization", "--url", url, "--client-id", client_id],
      ...["--resource", `${url}/mcp`, "-p", `${port}`, "-o", folder],
    ],
    { stdout: "pipe", stderr: "pipe" },
  );
  let said = "";
  const follow = async () => {
    let opened = 0;
    for await (const part of child.stdout.pipeThrough(new TextDecoderStream())) {
      said += part;
      const addresses = [...said.matchAll(/http\S+\/oauth\/authorize\?\S+/g)];
      for (const [address] of addresses.slice(opened)) {
        opened++;
        const asked = await fetch(address, { redirect: "manual" });
        const { body } = await person.send("POST /v1/oauth/approve", { request: sealedOf(asked) });
        await fetch(body.redirect_to);
      }
    }
  };
  const errors = new Response(child.stderr).text();
  await follow();
  await child.exited;
  const checks: { scenario: string; id: string; status: string }[] = [];
  for (const name of readdirSync(folder)) {
    const found: { id: string; status: string }[] = await Bun.file(
      join(folder, name, "checks.json"),
    ).json();
    checks.push(...found.map(({ id, status }) => ({ scenario: name, id, status })));
  }
  const failed = checks.filter(({ status }) => !["SUCCESS", "INFO", "SKIPPED"].includes(status));
  expect([failed, await errors]).toEqual([[], ""]);
  expect(
    checks
      .filter(({ status }) => status === "SUCCESS")
      .map(({ id }) => id)
      .sort(),
  ).toEqual([
    "authorization-code-grant",
    "authorization-server-metadata",
    "authorization-server-metadata-cimd",
  ]);
}, 300_000);
