/** The files of `/docs`; test/web/docs.test.ts shows the page in a browser. */

import { expect, test } from "bun:test";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { startTestApp } from "../support/app.ts";
import { runShell } from "../support/documents.ts";
import { sendRaw } from "../support/raw.ts";
import { expectProblem } from "../support/wire.ts";

const app = await startTestApp();
const page = await fetch(`${app.url}/docs`);
const html = await page.text();
const assets = [...html.matchAll(/(?:src|href)="(docs\/[^"]+)"/g)].map(([, path]) => `/${path}`);

test("the docs page allows only scripts and styles of its own server, and none inline", () => {
  const { headers } = page;
  expect([page.status, headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
  expect(headers.get("cache-control")).toBe("no-cache");
  const policy = headers.get("content-security-policy") ?? "";
  expect(policy).toStartWith("default-src 'none'; script-src 'self'; style-src 'self';");
  expect(policy).not.toContain("unsafe");
  expect(html).not.toMatch(/https?:|<style|style=|<script(?! src=)/);
  expect(assets.length).toBe(4);
});

test("assets of the docs page have their type, are cached for ever, and are compressed where accepted", async () => {
  for (const path of assets) {
    const type = path.endsWith(".css") ? "text/css" : "text/javascript";
    const plain = await fetch(app.url + path, { headers: { "accept-encoding": "identity" } });
    const text = await plain.text();
    expect([plain.status, plain.headers.get("content-type")]).toEqual([
      200,
      `${type}; charset=utf-8`,
    ]);
    expect(plain.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    expect([plain.headers.get("vary"), plain.headers.get("content-encoding")]).toEqual([
      "accept-encoding",
      null,
    ]);
    for (const [accepted, encoding, unpack] of [
      ["gzip, deflate", "gzip", gunzipSync],
      ["gzip, br;q=0", "gzip", gunzipSync],
      ["gzip, deflate, br", "br", brotliDecompressSync],
    ] as const) {
      const packed = await fetch(app.url + path, {
        headers: { "accept-encoding": accepted },
        decompress: false,
      });
      expect([accepted, packed.headers.get("content-encoding")]).toEqual([accepted, encoding]);
      expect(unpack(await packed.bytes()).toString()).toBe(text);
    }
    const refused = await fetch(app.url + path, { headers: { "accept-encoding": "gzip;q=0" } });
    expect(refused.headers.get("content-encoding")).toBeNull();
    await refused.text();
  }
});

test("the docs page allows only GET and HEAD, and another name is not a route", async () => {
  for (const path of assets) {
    const { status, text, headers } = await sendRaw(app.url, "HEAD", path);
    expect([status, text, headers.get("cache-control")?.slice(0, 6)]).toEqual([200, "", "public"]);
    for (const method of ["POST", "PUT", "DELETE", "OPTIONS"]) {
      const answer = await sendRaw(app.url, method, path);
      expectProblem(answer, "method_not_allowed");
      expect(answer.headers.get("allow")).toBe("GET, HEAD");
    }
  }
  for (const path of ["/docs/", "/docs/swagger-ui-bundle.js", "/docs/..%2fpackage.json"]) {
    expectProblem(await sendRaw(app.url, "GET", path), "unknown_path");
  }
});

/** The lines of the introduction, as the page's script completes them. */
const lines = [...html.matchAll(/<pre><code>(.*?)<\/code><\/pre>/gs)].map(([, code]) =>
  code!
    .replace(/&#(\d+);/g, (_, sign) => String.fromCharCode(Number(sign)))
    .replaceAll("$RELAY", app.url),
);

test.if(Bun.which("curl") !== null)(
  "the five lines of the docs page's introduction end with an answered question",
  async () => {
    expect(lines).toHaveLength(5);
    using shell = runShell([...lines, "wait"].join("\n"), app.url);
    expect(await shell.ended).toBe(0);
    // Of the call that answers, and of the one that waits.
    expect(shell.output().match(/"status":"answered","answer":"Yes"/g)).toHaveLength(2);
  },
);
