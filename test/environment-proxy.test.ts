/** Proxies from the environment: bypassed for this machine, and used for distant servers. */

import { afterAll, beforeEach, expect, test } from "bun:test";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { fileURLToPath } from "node:url";
import { proxyOptions } from "../src/loopback.ts";
import { startProcess } from "./support/process.ts";
import { startSqld } from "./support/sqld.ts";
import { tempFolder } from "./support/temp.ts";

const CLI = fileURLToPath(new URL("../src/cli/main.ts", import.meta.url));

/** First lines of the requests that reached the proxy, which refuses all of them. */
const asked: string[] = [];
const proxy = createServer((socket) => {
  socket.on("error", () => {});
  socket.once("data", (data) => {
    asked.push(data.toString().split(" HTTP/")[0]!);
    socket.end("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  });
});
await new Promise<void>((ready) => proxy.listen(0, "127.0.0.1", ready));
afterAll(() => proxy.close());
const at = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
const names = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"].flatMap((n) => [n, n.toLowerCase()]);
const env = Object.fromEntries(names.map((name) => [name, at]));
beforeEach(() => {
  asked.length = 0;
});

/** Runs `relay health`; returns its exit code. */
async function health(more: Record<string, string>, ...words: string[]): Promise<number> {
  const child = Bun.spawn([process.execPath, CLI, "health", ...words], {
    env: { PATH: process.env.PATH!, HOME: tempFolder(), ...env, ...more },
    stdout: "ignore",
    stderr: "ignore",
  });
  return child.exited;
}

test("a libSQL server of this machine and the health check bypass the proxy", async () => {
  const sqld = await startSqld();
  for (const url of [sqld.url, sqld.url.replace("127.0.0.1", "localhost")]) {
    const relay = await startProcess({ ...env, DATABASE_URL: url });
    const { port } = new URL(relay.url);
    expect(await health({ PORT: port })).toBe(0);
    for (const host of ["localhost", "0.0.0.0"]) {
      expect(await health({}, `http://${host}:${port}`)).toBe(0);
    }
    relay.kill();
    await relay.exited;
  }
  expect(asked).toEqual([]);
});

test("a distant server is reached through the proxy, unless NO_PROXY names it", async () => {
  expect(await health({}, "http://relay.example:1234")).toBe(1);
  expect(asked).toEqual(["GET http://relay.example:1234/health"]);
  expect(await health({ NO_PROXY: "127.0.0.9" }, "http://127.0.0.9:9")).toBe(1);
  expect(asked.length).toBe(1);
});

test("this machine and names without a dot bypass the proxy", () => {
  const near = ["localhost", "app.localhost", "127.1", "0.0.0.0", "[::1]", "[::]", "sqld"];
  for (const host of [...near, "[::ffff:127.0.0.1]"]) {
    expect([host, proxyOptions(`http://${host}:8080/v3`)]).toEqual([
      host,
      { proxy: false } as RequestInit,
    ]);
  }
  for (const host of ["relay.example", "10.0.0.1", "[fd00::1]", "[::ffff:10.0.0.1]", "nas.local"]) {
    expect([host, proxyOptions(`https://${host}/`)]).toEqual([host, {}]);
  }
  expect(proxyOptions("no address")).toEqual({});
});
