/** Size, origin and security policy of what the page loads. */

import { expect } from "bun:test";
import { gzipSync } from "node:zlib";
import { startTestApp } from "../support/app.ts";
import { ask, createPair } from "../support/client.ts";
import { until } from "../support/until.ts";
import {
  browserTests,
  expectComplaints,
  go,
  openPage,
  openProfile,
  press,
  untilLive,
} from "./browser.ts";

const webTest = browserTests({ worker: true });
const app = await startTestApp();

/** Bytes of compressed script that the first load may take. */
const SCRIPT = 150 * 1024;

webTest("a question can be answered after at most 150 KiB of compressed script", async () => {
  expectComplaints(/ERR_FAILED|Failed to fetch/);
  const { person, agent } = await createPair(app.url);
  await ask(agent.send, { prompt: "Soon?" });
  const context = await openProfile(app.url, { as: person, serviceWorkers: "block" });
  const page = await context.newPage();
  const document = await (await fetch(app.url)).text();
  const scripts: Promise<Buffer>[] = [];
  page.on("response", (response) => {
    const type = response.headers()["content-type"] ?? "";
    if (!type.startsWith("text/javascript")) return;
    const body = response.body();
    // A body that arrives after the count is cut off when the page closes.
    body.catch(() => {});
    scripts.push(body);
  });
  let refused = 0;
  // What is preloaded is not needed: the page works without it.
  await page.route("**/assets/*.js", (route) => {
    const { pathname } = new URL(route.request().url());
    if (document.includes(pathname.slice(1))) return route.fallback();
    refused++;
    return route.abort();
  });
  await page.goto(app.url);
  await press(page.getByRole("button", { name: "Yes" }));
  await page.getByText("All caught up").waitFor();
  await until(() => refused > 0);
  let total = 0;
  for (const body of scripts) total += gzipSync(await body).length;
  expect(total).toBeGreaterThan(50_000);
  expect(total).toBeLessThan(SCRIPT);
});

webTest("other views are preloaded, and open when the server is gone", async () => {
  expectComplaints(/ERR_|Failed to load resource/);
  const { person, agent } = await createPair(app.url);
  // No service worker, as over plain http.
  const page = await openPage(app.url, { as: person, serviceWorkers: "block" });
  const ahead = ["tasks", "agents", "agent", "account", "consent", "search", "channel-settings"];
  await until(async () => {
    const loaded = await page.evaluate(() =>
      performance.getEntriesByType("resource").map(({ name }) => name),
    );
    return ahead.every((view) => loaded.some((name) => name.includes(`/${view}-`)));
  });
  await page.route("**/*", (route) => route.abort());
  await page.context().setOffline(true);
  for (const [at, heading] of [
    ["tasks", "Tasks"],
    ["agents", "Agents"],
    [`agents/${agent.key.id}`, agent.key.label],
    ["account", "Account"],
  ] as const) {
    await go(page, at);
    await page.getByRole("heading", { name: heading, exact: true, level: 1 }).waitFor();
  }
});

webTest(
  "everything that the page loads is from this server, without the token in an address",
  async () => {
    const { person, agent } = await createPair(app.url);
    const context = await openProfile(app.url, { as: person });
    const requests: string[] = [];
    context.on("request", (request) => requests.push(request.url()));
    const page = await context.newPage();
    await page.goto(app.url);
    await untilLive(page);
    await page.evaluate(() => navigator.serviceWorker.ready.then(() => null));
    for (const view of ["tasks", `agents/${agent.key.id}`, "account"]) await go(page, view);
    await page.route("**/trpc/pairings.create", async (route) => {
      const response = await route.fetch();
      const { result } = await response.json();
      const url = `${app.url}/#/pair/${"x".repeat(22)}`;
      await route.fulfill({ json: { result: { data: { ...result.data, url } } } });
    });
    await page.getByRole("button", { name: "Add a device" }).click();
    await page.getByRole("img", { name: "QR code" }).waitFor();
    expect(requests.length).toBeGreaterThan(5);
    expect(requests.filter((url) => new URL(url).origin !== app.url)).toEqual([]);
    expect(requests.filter((url) => url.includes(person.token))).toEqual([]);
  },
);

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
