/** `/problems/<code>`: a page for every code in the table of errors. */

import { expect, test } from "bun:test";
import { ERRORS, type ErrorCode } from "../../src/errors.ts";
import { startTestApp } from "../support/app.ts";

const app = await startTestApp();
const codes = Object.keys(ERRORS) as ErrorCode[];
const read = async (path: string) => {
  const response = await fetch(app.url + path);
  return { response, text: await response.text() };
};

test("every error code has a page with its title, status, clause and what to do [§9.1.5]", async () => {
  const texts = new Set<string>();
  for (const code of codes) {
    const { response, text } = await read(`/problems/${code}`);
    const { title, status, clause, help } = ERRORS[code];
    expect([code, response.status]).toEqual([code, 200]);
    expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
    for (const part of [code, title, `${status}`, `${clause} of`, help])
      expect(text).toContain(part);
    expect(text.includes("Retry-After</code>")).toBe("retry_after" in ERRORS[code]);
    texts.add(help);
  }
  expect(texts.size).toBe(codes.length);
});

test("the type of an error links to its page [§9.1.5]", async () => {
  const { text } = await read("/v1/account");
  const { type, title } = JSON.parse(text);
  expect((await read(type)).text).toContain(title);
});

test("the page of an unknown code is 404 unknown_path, and only GET and HEAD are allowed [§9.1.5]", async () => {
  for (const path of [
    "nope",
    "Not_found",
    "not_found/",
    "__proto__",
    "style.css",
    "%00",
    "%3Cb%3E",
  ]) {
    const { response, text } = await read(`/problems/${path}`);
    expect([path, response.status, JSON.parse(text).code]).toEqual([path, 404, "unknown_path"]);
    expect(text).not.toContain("<b>");
  }
  const head = await fetch(`${app.url}/problems/internal`, { method: "HEAD" });
  expect([head.status, await head.text()]).toEqual([200, ""]);
  expect((await fetch(`${app.url}/problems/internal`, { method: "POST" })).status).toBe(405);
});

test("the page of an error runs no script and loads only its own style", async () => {
  const { response, text } = await read("/problems/not_found");
  const policy = response.headers.get("content-security-policy") ?? "";
  expect(policy).toStartWith("default-src 'none'; style-src 'self'; img-src 'self' data:;");
  expect(text).not.toMatch(/https?:|<script|<style|style=/);
  const [, name] = /href="(style-[^"]+)"/.exec(text)!;
  const style = await fetch(`${app.url}/problems/${name}`);
  expect(style.headers.get("content-type")).toBe("text/css; charset=utf-8");
  expect(style.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
  expect(await style.text()).toContain("prefers-color-scheme:dark");
});
