/** The admin page: the way in, what it shows and when, and how it looks. */

import { expect } from "bun:test";
import { mkdir } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import type { Page } from "playwright-core";
import { ADMIN, ADMIN_TOKEN, adminClient } from "../support/admin.ts";
import { startTestApp } from "../support/app.ts";
import { createPerson } from "../support/client.ts";
import { until } from "../support/until.ts";
import { exchange, expectProblem } from "../support/wire.ts";
import { createAdminScene } from "./admin-scene.ts";
import { browserTests, DESK, expectComplaints, openProfile, PHONE } from "./browser.ts";
import { fits, settled, violations } from "./look.ts";

const webTest = browserTests();

/** Where to put pictures to look at; nowhere when unset. */
const PICTURES = process.env.RELAY_TEST_PICTURES;

const { app, told } = await createAdminScene();

interface Options {
  readonly size?: typeof PHONE;
  readonly scheme?: "light" | "dark";
}

/** The page of a new profile, before anybody signed in. */
async function openAdmin(options: Options = {}): Promise<Page> {
  await told();
  const page = await (await openProfile(app.url, options)).newPage();
  await page.goto(`${app.url}/admin`);
  await page.getByLabel("Admin token").waitFor();
  return page;
}

async function signIn(page: Page, token = ADMIN_TOKEN): Promise<void> {
  await page.getByLabel("Admin token").fill(token);
  await page.keyboard.press("Enter");
}

const untilLive = (page: Page) => page.locator("[data-live=true]").waitFor();

/** As when the tab is looked at again: figures are asked for at once. */
const lookAgain = (page: Page) =>
  page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));

/** The number under this name at the top. */
const tile = (page: Page, name: string) =>
  page.getByRole("list", { name: "At a glance" }).getByRole("listitem").filter({ hasText: name });

webTest("without ADMIN_TOKEN there is no such page", async () => {
  const other = await startTestApp();
  expectProblem(await exchange(other.url, "GET", "/admin"), "unknown_path");
});

webTest("what it loads is there in every process that has an admin, and in no other", async () => {
  const html = await (await fetch(`${app.url}/admin`)).text();
  const files = [...html.matchAll(/(?:src|href)="(assets\/[^"]+)"/g)].map(([, path]) => `/${path}`);
  expect(files.length).toBe(4);
  expect(html).not.toContain("manifest");
  const peer = await startTestApp({ env: ADMIN });
  for (const path of files) expect((await exchange(peer.url, "GET", path)).status).toBe(200);
  const without = await startTestApp();
  const script = files.find((path) => path.endsWith(".js"))!;
  expectProblem(await exchange(without.url, "GET", script), "unknown_path");
});

webTest(
  "the token alone opens it, is kept by the tab alone, and is in no address or log",
  async () => {
    expectComplaints(/401/);
    const page = await openAdmin();
    await signIn(page, "not a token");
    await page.getByText("This is no token").waitFor();
    await signIn(page, (await createPerson(app.url)).token);
    await page.getByRole("alert").getByText("not valid").waitFor();
    await signIn(page, ` ${ADMIN_TOKEN} `);
    await untilLive(page);
    await page.reload();
    await untilLive(page);
    expect(await page.evaluate(() => [localStorage.length, sessionStorage.length])).toEqual([0, 1]);
    expect(page.url()).not.toContain(ADMIN_TOKEN);
    for (const line of app.lines) expect(line).not.toContain(ADMIN_TOKEN);
    const other = await page.context().newPage();
    await other.goto(`${app.url}/admin`);
    await other.getByLabel("Admin token").waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Admin token").waitFor();
    expect(await page.evaluate(() => sessionStorage.length)).toBe(0);
    await page.reload();
    await page.getByLabel("Admin token").waitFor();
  },
);

webTest("it shows what the server tells, and what changes meanwhile", async () => {
  const page = await openAdmin();
  await signIn(page);
  await untilLive(page);
  const { counts } = await adminClient(app.url).overview.query();
  await tile(page, "Keys").getByText(String(counts!.keys), { exact: true }).waitFor();
  await tile(page, "Store").getByText("up").waitFor();
  for (const name of ["Store", "Event outbox", "Pushes", "Jobs", "Process", "Accounts"]) {
    await page.getByRole("region", { name, exact: true }).waitFor();
  }
  await page.getByText("APNS_TEAM_ID is not set").waitFor();
  await page.getByRole("region", { name: "Jobs" }).getByText("expire questions").waitFor();
  const rows = page.getByRole("table").locator("tbody tr");
  expect(await rows.count()).toBe(counts!.accounts);
  // The newest stands first, and comes with the next look.
  const { account } = await createPerson(app.url);
  await page.getByRole("button", { name: "Refresh" }).click();
  await rows.first().getByText(account.id).waitFor();
  expect(await page.getByRole("table").locator("tbody").textContent()).toContain("never");
});

webTest("a chart can be gone through by keys and by pointer", async () => {
  const page = await openAdmin();
  await signIn(page);
  const slider = page.getByRole("slider", { name: "Requests a minute, minute by minute" });
  await slider.waitFor();
  expect(await page.getByRole("slider").count()).toBe(4);
  const { minutes } = await adminClient(app.url).series.query();
  expect(minutes.length).toBe(180);
  const at = (minute: (typeof minutes)[number]) =>
    new Intl.DateTimeFormat("en", { hour: "2-digit", minute: "2-digit", hour12: false }).format(
      minute.at * 1000,
    );
  await slider.focus();
  for (const [key, i] of [
    ["Home", 0],
    ["ArrowRight", 1],
    ["ArrowRight", 2],
  ] as const) {
    await page.keyboard.press(key);
    const { requests, client_errors, server_errors } = minutes[i]!;
    const said = `${at(minutes[i]!)}: all ${requests}, 4xx ${client_errors}, 5xx ${server_errors}`;
    expect(await slider.getAttribute("aria-valuetext")).toBe(said);
  }
  await page.getByText(at(minutes[2]!), { exact: true }).first().waitFor();
  const box = (await slider.boundingBox())!;
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  const middle = new RegExp(`^${at(minutes[90]!)}|^${at(minutes[89]!)}`);
  expect(await slider.getAttribute("aria-valuetext")).toMatch(middle);
  // A line has a point for each minute.
  const figure = page.getByRole("figure").filter({ hasText: "Requests a minute" });
  const path = await figure.locator("path.stroke-accent").getAttribute("d");
  expect(path!.match(/[ML]/g)!.length).toBe(180);
});

webTest("what was told stays when the server goes away, and is live when it is back", async () => {
  expectComplaints(/Failed to load resource|ERR_/);
  const page = await openAdmin();
  await signIn(page);
  await untilLive(page);
  await page.route("**/admin/trpc/**", (route) => route.abort());
  await lookAgain(page);
  await page.getByRole("alert").getByText("cannot be reached").waitFor();
  await page.getByText("As it was").waitFor();
  expect(await page.getByRole("slider").count()).toBe(4);
  await page.unroute("**/admin/trpc/**");
  await lookAgain(page);
  await untilLive(page);
  expect(await page.getByRole("alert").count()).toBe(0);
});

webTest("a token that is refused later signs the tab out", async () => {
  expectComplaints(/401/);
  const page = await openAdmin();
  await signIn(page);
  await untilLive(page);
  await page.route("**/admin/trpc/**", (route) =>
    route.continue({ headers: { ...route.request().headers(), authorization: "Bearer other" } }),
  );
  await lookAgain(page);
  await page.getByText("does not take this tab's token any more").waitFor();
  expect(await page.evaluate(() => sessionStorage.length)).toBe(0);
});

webTest("it says when several processes answer in turn", async () => {
  const page = await openAdmin();
  await signIn(page);
  await untilLive(page);
  expect(await page.getByText("processes in turn").count()).toBe(0);
  await page.route("**/admin/trpc/**", async (route) => {
    const response = await route.fetch();
    const body = (await response.text()).replace(/"pid":\d+/, '"pid":4242');
    await route.fulfill({ response, body });
  });
  await lookAgain(page);
  await page.getByText("The answers come from 2 processes in turn").waitFor();
});

webTest(
  "the first load takes at most 100 KB of compressed script, all from this server",
  async () => {
    const context = await openProfile(app.url);
    const requests: string[] = [];
    const scripts: Promise<Buffer>[] = [];
    context.on("request", (request) => requests.push(request.url()));
    context.on("response", (response) => {
      if (response.headers()["content-type"]?.startsWith("text/javascript")) {
        scripts.push(response.body());
      }
    });
    const page = await context.newPage();
    await page.goto(`${app.url}/admin`);
    await signIn(page);
    await untilLive(page);
    let total = 0;
    for (const body of scripts) total += gzipSync(await body).length;
    expect(total).toBeGreaterThan(30_000);
    expect(total).toBeLessThan(100 * 1024);
    expect(requests.filter((url) => !url.startsWith(`${app.url}/`))).toEqual([]);
  },
);

for (const [name, size] of Object.entries({ phone: PHONE, desk: DESK })) {
  for (const scheme of ["light", "dark"] as const) {
    webTest(
      `axe finds nothing, and nothing sticks out: ${scheme}, ${name}`,
      async () => {
        expectComplaints(/Failed to load resource|ERR_/);
        const page = await openAdmin({ size, scheme });
        const found: Record<string, string[]> = {};
        const look = async (view: string) => {
          await settled(page);
          found[view] = await violations(page);
          await fits(page);
          if (!PICTURES) return;
          await mkdir(PICTURES, { recursive: true });
          const path = `${PICTURES}/admin-${view}-${name}-${scheme}.png`;
          await page.screenshot({ path, fullPage: view === "whole" });
        };
        await look("sign-in");
        await signIn(page, "x");
        await page.getByRole("alert").waitFor();
        await look("refused");
        await signIn(page);
        await untilLive(page);
        await page.getByRole("table").waitFor();
        await look("dashboard");
        await look("whole");
        await page.getByRole("slider").first().focus();
        await page.keyboard.press("Home");
        await look("minute");
        await page.route("**/admin/trpc/**", (route) => route.abort());
        await lookAgain(page);
        await page.getByRole("alert").waitFor();
        await look("away");
        expect(Object.entries(found).filter(([, list]) => list.length > 0)).toEqual([]);
      },
      60_000,
    );
  }
}

webTest("it asks no more while nobody looks at it", async () => {
  const page = await openAdmin();
  await signIn(page);
  await untilLive(page);
  let asked = 0;
  page.on("request", () => asked++);
  await page.evaluate(() => {
    Object.defineProperty(document, "hidden", { value: true, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  });
  await page.waitForTimeout(50);
  expect(asked).toBe(0);
  await page.evaluate(() => {
    Object.defineProperty(document, "hidden", { value: false, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  });
  await until(() => asked > 0);
});
