/** `/` and the files it loads: types, caching, compression, and what the document contains. */

import { expect, test } from "bun:test";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { startTestApp } from "../support/app.ts";
import { sendRaw } from "../support/raw.ts";
import { expectProblem } from "../support/wire.ts";

const app = await startTestApp();
const page = await fetch(`${app.url}/`);
const html = await page.text();
const assets = [...html.matchAll(/(?:src|href)="(assets\/[^"]+)"/g)].map(([, path]) => `/${path}`);

const TYPES: Readonly<Record<string, string>> = {
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
  png: "image/png",
  woff2: "font/woff2",
};

test("the document of `/` is revalidated each time, and has nothing inline or from elsewhere", () => {
  const told = ["content-type", "cache-control", "vary"].map((name) => page.headers.get(name));
  expect(told).toEqual(["text/html; charset=utf-8", "no-cache", "accept-encoding"]);
  expect(html).not.toMatch(/https?:|<style|style=|<script(?! type="module" src=)/);
  expect(assets.map((path) => path.replace(/^.*\./, "")).sort()).toEqual([
    "css",
    "js",
    "png",
    "svg",
    "woff2",
  ]);
});

test("the files of `/` are cached for ever, and compressed for clients that accept it", async () => {
  for (const path of assets) {
    const get = (accepted: string) =>
      fetch(app.url + path, { headers: { "accept-encoding": accepted }, decompress: false });
    const plain = await get("identity");
    const told = ["content-type", "cache-control"].map((name) => plain.headers.get(name));
    const type = TYPES[path.replace(/^.*\./, "")];
    expect(told).toEqual([type!, "public, max-age=31536000, immutable"]);
    const bytes = await plain.bytes();
    for (const [encoding, unpack] of [
      ["gzip", gunzipSync],
      ["br", brotliDecompressSync],
    ] as const) {
      const packed = await get(encoding);
      // Files that are already compressed are sent as they are.
      const as_it_is = type === "font/woff2" || type === "image/png";
      expect(packed.headers.get("content-encoding")).toBe(as_it_is ? null : encoding);
      const got = await packed.bytes();
      expect(Buffer.compare(as_it_is ? got : unpack(got), bytes)).toBe(0);
    }
  }
});

test("every font that the styles name exists", async () => {
  const style = await (await fetch(app.url + assets.find((path) => path.endsWith(".css"))!)).text();
  const fonts = [...style.matchAll(/url\(([^)]+)\)/g)].map(([, name]) => name!);
  expect(fonts.length).toBeGreaterThan(3);
  for (const name of fonts) {
    const { status, headers } = await fetch(`${app.url}/assets/${name}`);
    expect([name, status, headers.get("content-type")]).toEqual([name, 200, "font/woff2"]);
  }
});

test("an unknown file name and the path of another server are 404", async () => {
  const other = ["/assets/", "/assets", "/assets/main.js", "/assets/..%2fpackage.json", "/sw.js/"];
  for (const path of other) expectProblem(await sendRaw(app.url, "GET", path), "unknown_path");
});

test("all processes use the same file names, and PUBLIC_URL is escaped", async () => {
  const url = "https://relay.example/b'&amp;";
  const behind = await startTestApp({ env: { PUBLIC_URL: url } });
  const text = await (await fetch(`${behind.local_url}/`)).text();
  const content = "https://relay.example/b'&#38;amp;";
  expect(text.replace(`<meta name="relay-url" content="${content}">\n`, "")).toBe(html);
});
