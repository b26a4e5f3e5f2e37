/** Size, origin and security policy of what the page loads. */

import { expect } from "bun:test";
import { gzipSync } from "node:zlib";
import { startTestApp } from "../support/app.ts";
import { createPair } from "../support/client.ts";
import { browserTests, expectComplaints, go, openPage, openProfile, untilLive } from "./browser.ts";

const webTest = browserTests();
const app = await startTestApp();

/** Bytes of compressed script that the first load may take. */
const SCRIPT = 160 * 1024;

webTest("the first load is at most 160 KB of compressed script, all from this server", async () => {
  const { person, agent } = await createPair(app.url);
  const context = await openProfile(app.url, { as: person });
  const requests: string[] = [];
  const scripts = new Map<string, Promise<Buffer>>();
  context.on("request", (request) => requests.push(request.url()));
  context.on("response", (response) => {
    const type = response.headers()["content-type"] ?? "";
    // The service worker gets the same files from the browser's cache.
    if (type.startsWith("text/javascript") && !scripts.has(response.url())) {
      scripts.set(response.url(), response.body());
    }
  });
  const page = await context.newPage();
  await page.goto(app.url);
  await untilLive(page);
  await page.evaluate(() => navigator.serviceWorker.ready.then(() => null));
  let total = 0;
  for (const body of scripts.values()) total += gzipSync(await body).length;
  expect(total).toBeGreaterThan(50_000);
  expect(total).toBeLessThan(SCRIPT);
  for (const view of ["tasks", `agents/${agent.key.id}`, "account"]) await go(page, view);
  await page.route("**/trpc/pairings.create", async (route) => {
    const response = await route.fetch();
    const { result } = await response.json();
    const url = `${app.url}/#/pair/${"x".repeat(22)}`;
    await route.fulfill({ json: { result: { data: { ...result.data, url } } } });
  });
  await page.getByRole("button", { name: "Add a device" }).click();
  await page.getByRole("img", { name: "QR code" }).waitFor();
  expect(requests.filter((url) => new URL(url).origin !== app.url)).toEqual([]);
  expect(requests.filter((url) => url.includes(person.token))).toEqual([]);
});

webTest("the content security policy blocks foreign scripts", async () => {
  // Each violation is logged on the console.
  expectComplaints(/Content Security Policy/);
  const { person } = await createPair(app.url);
  const page = await openPage(app.url, { as: person });
  const broken = page.evaluate(
    () =>
      new Promise<string[]>((resolve) => {
        const found: string[] = [];
        document.addEventListener("securitypolicyviolation", ({ effectiveDirective }) => {
          found.push(effectiveDirective);
          if (found.length === 4) resolve(found.sort());
        });
        const script = document.createElement("script");
        script.textContent = "window.hit = 1";
        document.body.append(script);
        const style = document.createElement("style");
        style.textContent = "body { display: none }";
        document.body.append(style);
        const frame = document.createElement("iframe");
        frame.src = "/docs";
        document.body.append(frame);
        fetch("http://127.0.0.1:9/").catch(() => null);
      }),
  );
  expect(await broken).toEqual(["connect-src", "frame-src", "script-src-elem", "style-src-elem"]);
  expect(await page.evaluate(() => "hit" in window)).toBe(false);
});

webTest(
  "a page of an origin in CORS_ORIGINS may read responses, and none may embed them",
  async () => {
    expectComplaints(/CORS|ERR_|Content Security Policy/);
    const elsewhere = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: () => new Response("<p>Elsewhere", { headers: { "content-type": "text/html" } }),
    });
    try {
      const { origin } = elsewhere.url;
      const open = await startTestApp({ env: { CORS_ORIGINS: origin } });
      const { person } = await createPair(open.url);
      const page = await openPage(origin);
      const read = (url: string) =>
        page.evaluate(
          ([to, token]) =>
            fetch(`${to}/v1/account`, { headers: { authorization: `Bearer ${token}` } }).then(
              ({ status }) => status,
              () => "refused",
            ),
          [url, person.token],
        );
      expect([await read(open.url), await read(app.url)]).toEqual([200, "refused"]);
      const framed = await page.evaluate(async (url) => {
        const frame = document.createElement("iframe");
        frame.src = `${url}/`;
        document.body.append(frame);
        await new Promise((resolve) => frame.addEventListener("load", resolve));
        return frame.contentDocument === null;
      }, open.url);
      expect(framed).toBe(true);
      const frame = page.frames().find((one) => one !== page.mainFrame());
      expect(await frame!.locator("#root").count()).toBe(0);
    } finally {
      await elsewhere.stop(true);
    }
  },
);
