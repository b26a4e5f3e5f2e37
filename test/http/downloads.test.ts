/** The executable that a server hands out, and its checksum (§5.12.4). */

import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { RATES } from "../../src/limits.ts";
import { startTestApp } from "../support/app.ts";
import { createTestClock } from "../support/clock.ts";
import { tempFolder } from "../support/temp.ts";

const path = join(tempFolder(), "relay");
const sumOf = (text: string) => createHash("sha256").update(text).digest("hex");

test("a server hands out the executable that it runs from, with its checksum [§5.12.4]", async () => {
  writeFileSync(path, "first");
  const app = await startTestApp({ program: { path, platform: "linux-x64" } });
  const get = (name: string) => fetch(`${app.url}/downloads/${name}`);
  const file = await get("relay-linux-x64");
  expect([file.status, await file.text()]).toEqual([200, "first"]);
  expect(file.headers.get("content-type")).toBe("application/octet-stream");
  // The name that the checksum has, whatever the file is called here.
  const disposition = file.headers.get("content-disposition");
  expect(disposition).toBe('attachment; filename="relay-linux-x64"');
  expect(file.headers.get("content-length")).toBe("5");
  expect(file.headers.get("x-content-type-options")).toBe("nosniff");
  const checksum = async () => (await get("relay-linux-x64.sha256")).text();
  expect(await checksum()).toBe(`${sumOf("first")}  relay-linux-x64\n`);
  // The page names the platform to the browser.
  expect(await (await fetch(app.url)).text()).toContain('name="relay-program" content="linux-x64"');

  // An upgrade replaces the file under the running process, or removes it.
  writeFileSync(path, "second one");
  expect(await checksum()).toBe(`${sumOf("second one")}  relay-linux-x64\n`);
  rmSync(path);
  for (const name of ["relay-linux-x64", "relay-linux-x64.sha256", "relay-macos-x64", "relay"]) {
    expect([name, (await get(name)).status]).toEqual([name, 404]);
  }
});

test("a server that runs from the sources hands out nothing [§5.12.4]", async () => {
  const { url } = await startTestApp();
  expect((await fetch(`${url}/downloads/relay-linux-x64`)).status).toBe(404);
  expect(await (await fetch(url)).text()).not.toContain("relay-program");
});

test("downloads are limited for each address and for all together, but for the first two of an address [§10.6.1 downloads]", async () => {
  writeFileSync(path, "program");
  const app = await startTestApp({
    clock: createTestClock(),
    program: { path, platform: "linux-x64" },
    env: { RATE_LIMITS: "on", TRUST_PROXY: "1" },
  });
  const statusFrom = async (address: string) => {
    const headers = { "x-forwarded-for": address };
    const response = await fetch(`${app.url}/downloads/relay-linux-x64`, { headers });
    await response.arrayBuffer();
    return response.status;
  };
  const { downloads, downloads_process } = RATES;
  for (let n = 0; n < downloads.quota; n++) expect(await statusFrom("192.0.2.1")).toBe(200);
  expect(await statusFrom("192.0.2.1")).toBe(429);
  const rest = downloads_process.quota - downloads.quota;
  for (let n = 0; n < rest; n++) expect(await statusFrom(`198.51.100.${n}`)).toBe(200);
  for (const status of [200, 200, 429]) expect(await statusFrom("203.0.113.1")).toBe(status);
});
