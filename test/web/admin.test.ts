/** The admin page: signing in, figures and polling. */

import { expect } from "bun:test";
import { gzipSync } from "node:zlib";
import type { Page } from "playwright-core";
import { ADMIN, ADMIN_TOKEN, adminClient } from "../support/admin.ts";
import { startTestApp } from "../support/app.ts";
import { createPerson } from "../support/client.ts";
import { until } from "../support/until.ts";
import { exchange, expectProblem } from "../support/wire.ts";
import { createAdminPage, develop, people, signIn, untilLive } from "./admin-page.ts";
import { browserTests, expectComplaints, openProfile } from "./browser.ts";

const webTest = browserTests();

const { app, openAdmin } = await createAdminPage();

/** The summary tile of this name. */
const tile = (page: Page, name: string) =>
  page.getByRole("list", { name: "Summary" }).getByRole("listitem").filter({ hasText: name });

webTest("the admin page does not exist without ADMIN_TOKEN", async () => {
  const other = await startTestApp();
  expectProblem(await exchange(other.url, "GET", "/admin"), "unknown_path");
});

webTest(
  "the admin page's assets exist in every process with ADMIN_TOKEN, and in no other",
  async () => {
    const html = await (await fetch(`${app.url}/admin`)).text();
    const files = [...html.matchAll(/(?:src|href)="(assets\/[^"]+)"/g)].map(
      ([, path]) => `/${path}`,
    );
    expect(files.length).toBe(4);
    expect(html).not.toContain("manifest");
    const peer = await startTestApp({ env: ADMIN });
    for (const path of files) expect((await exchange(peer.url, "GET", path)).status).toBe(200);
    const without = await startTestApp();
    const script = files.find((path) => path.endsWith(".js"))!;
    expectProblem(await exchange(without.url, "GET", script), "unknown_path");
  },
);

webTest(
  "only the token opens the admin page; it is kept in the tab, and never in addresses or logs",
  async () => {
    expectComplaints(/401/);
    const page = await openAdmin();
    await signIn(page, "not a token");
    await page.getByText("This isn't a token").waitFor();
    await signIn(page, (await createPerson(app.url)).token);
    await page.getByRole("alert").getByText("isn't valid").waitFor();
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

webTest("the admin page shows the server's figures and their changes", async () => {
  const page = await openAdmin();
  await signIn(page);
  await untilLive(page);
  // What is not configured has a sign of its own, also for screen readers.
  const checks = page.getByRole("list", { name: "Checks" }).getByRole("listitem");
  await checks.getByText("No automatic backups are configured: set BACKUP_DIR").waitFor();
  const signs = await checks.evaluateAll((rows) =>
    rows.map((row) => [row.textContent, row.querySelector("svg")!.classList.value] as const),
  );
  expect(signs.find(([text]) => text.includes("No automatic backups"))).toEqual([
    expect.stringMatching(/^Note: /),
    expect.stringMatching(/lucide-circle-minus .*text-faint/),
  ]);
  expect(signs.find(([text]) => text.includes("The database answers"))).toEqual([
    expect.stringMatching(/^Well: /),
    expect.stringMatching(/lucide-circle-check .*text-ok/),
  ]);
  await develop(page);
  const { counts } = await adminClient(app.url).overview.query();
  await tile(page, "Keys").getByText(String(counts!.keys), { exact: true }).waitFor();
  await tile(page, "Store").getByText("Up").waitFor();
  for (const name of ["Store", "Event outbox", "Notifications", "Jobs", "Process", "People"]) {
    await page.getByRole("region", { name, exact: true }).waitFor();
  }
  const pushes = page.getByRole("region", { name: "Notifications" });
  const { lanes, outcomes, failures } = await adminClient(app.url).pushes.query();
  await pushes.getByText(`ok ${lanes[0]!.counts.ok}`).waitFor();
  await pushes.getByRole("listitem").getByText(`sent${outcomes!.sent}`).waitFor();
  const shown = pushes.getByRole("list", { name: "Latest failures" }).getByRole("listitem");
  expect(await shown.count()).toBe(Math.min(5, failures!.length));
  expect(await shown.first().textContent()).toStartWith("task: refused, PayloadEmpty");
  await pushes
    .getByRole("heading", { name: "The last deliveries of questions (up to 500)" })
    .waitFor();
  await page.getByRole("region", { name: "Jobs" }).getByText("expire questions").waitFor();
  expect(await people(page).count()).toBe(counts!.accounts);
  // The part stays open, and stays closed once it is closed.
  await page.reload();
  await page.getByRole("region", { name: "Jobs" }).waitFor();
  await develop(page);
  await page.getByRole("region", { name: "Jobs" }).waitFor({ state: "detached" });
  // The element tells that it is closed only after it is.
  await until(
    async () =>
      !(await page.evaluate(() => Object.keys(localStorage).join())).includes("admin-developers"),
  );
  await page.reload();
  await untilLive(page);
  expect(await page.getByRole("region", { name: "Jobs" }).count()).toBe(0);
});

webTest(
  "the admin page's first load is at most 100 KB of compressed script, all from this server",
  async () => {
    const context = await openProfile(app.url);
    const requests: string[] = [];
    const scripts: Promise<Buffer>[] = [];
    context.on("request", (request) => requests.push(request.url()));
    context.on("response", (response) => {
      if (response.headers()["content-type"]?.startsWith("text/javascript")) {
        const body = response.body();
        // A body that arrives after the count is cut off when the page closes.
        body.catch(() => {});
        scripts.push(body);
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

webTest(
  "signing in, signing out and the last list page of people never lose the focus",
  async () => {
    const crowd = await startTestApp({ env: ADMIN });
    for (let i = 0; i < 30; i++) await createPerson(crowd.url);
    const page = await (await openProfile(crowd.url)).newPage();
    await page.goto(`${crowd.url}/admin`);
    const focused = () =>
      page.evaluate(() => {
        const { tagName = "", ariaLabel, textContent } = document.activeElement ?? {};
        return `${tagName} ${ariaLabel ?? textContent}`;
      });
    await signIn(page);
    await untilLive(page);
    expect(await focused()).toBe("H1 Relay admin");
    await page.getByRole("button", { name: "Show more" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Show more" }).waitFor({ state: "detached" });
    expect(await people(page).count()).toBe(30);
    expect(await focused()).toBe("H2 People");
    await page.getByRole("button", { name: "Sign out" }).press("Enter");
    await page.getByLabel("Admin token").waitFor();
    expect(await focused()).toBe("H1 Relay admin");
  },
);

webTest("the admin page does not poll while it is hidden", async () => {
  const page = await (await openProfile(app.url)).newPage();
  await page.clock.install();
  await page.goto(`${app.url}/admin`);
  await signIn(page);
  await untilLive(page);
  await page.evaluate(() => {
    Object.defineProperty(document, "hidden", { value: true, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  });
  // A poll that had begun before sends its requests.
  await page.clock.runFor(1_000);
  let asked = 0;
  page.on("request", () => asked++);
  await page.clock.runFor(60_000);
  expect(asked).toBe(0);
  await page.evaluate(() => {
    Object.defineProperty(document, "hidden", { value: false, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  });
  await until(() => asked > 0);
});
