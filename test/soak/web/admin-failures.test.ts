/** The admin page beside a server that is new, restarts, hangs or is one of several. */

import { expect } from "bun:test";
import { ADMIN } from "../../support/admin.ts";
import { startTestApp } from "../../support/app.ts";
import { createTestClock } from "../../support/clock.ts";
import { tempFolder } from "../../support/temp.ts";
import {
  CHARTS,
  createAdminPage,
  develop,
  lookAgain,
  signIn,
  untilLive,
} from "../../web/admin-page.ts";
import { browserTests, expectComplaints, openProfile } from "../../web/browser.ts";

const webTest = browserTests();

const { app, openAdmin } = await createAdminPage();

webTest(
  "the admin page shows a new server's first values as dots, and names features that are off",
  async () => {
    // No minute passes, or there would be two values.
    const clock = createTestClock();
    await clock.advance(60 - (clock.now() % 60));
    const young = await startTestApp({ env: { ...ADMIN, BACKUP_DIR: tempFolder() }, clock });
    const page = await (await openProfile(young.url)).newPage();
    await page.goto(`${young.url}/admin`);
    await signIn(page);
    await untilLive(page);
    await develop(page);
    await page.getByText(/^Not configured: apns\b/).waitFor();
    await page.getByText("The first backup will be made soon.").waitFor();
    await clock.advance(5);
    await young.backups.settled();
    await lookAgain(page);
    const backup = page.getByRole("listitem").filter({ hasText: "The last backup is good (" });
    await backup.getByRole("button", { name: /just now|ago/ }).waitFor();
    await page.getByText("Nobody has an account yet. Invite somebody, or yourself.").waitFor();
    expect(await page.getByRole("slider").count()).toBe(CHARTS - 1);
    const memory = page.getByRole("figure").filter({ hasText: "Memory" });
    const [line, dot] = await memory
      .locator("g.stroke-accent path")
      .evaluateAll((paths) => paths.map((path) => path.getBoundingClientRect()));
    expect([line!.width, dot!.width >= 0]).toEqual([0, true]);
    expect(await memory.locator("g.stroke-accent path").last().getAttribute("d")).toMatch(
      /^M[^M]+h0/,
    );
  },
);

webTest("admin figures stay while the server is down and are live again afterwards", async () => {
  expectComplaints(/Failed to load resource|ERR_/);
  const page = await openAdmin();
  await signIn(page);
  await untilLive(page);
  await develop(page);
  await page.getByRole("slider").first().waitFor();
  await page.route("**/admin/trpc/**", (route) => route.abort());
  await lookAgain(page);
  await page.getByRole("alert").getByText("Can't reach the server").waitFor();
  await page.getByText("Last updated").waitFor();
  expect(await page.getByRole("slider").count()).toBe(CHARTS);
  await page.unroute("**/admin/trpc/**");
  await lookAgain(page);
  await untilLive(page);
  expect(await page.getByRole("alert").count()).toBe(0);
});

webTest("an unresponsive server is soon no longer shown as live on the admin page", async () => {
  expectComplaints(/Failed to load resource|ERR_/);
  const context = await openProfile(app.url);
  const page = await context.newPage();
  await page.clock.install();
  await page.goto(`${app.url}/admin`);
  await signIn(page);
  await untilLive(page);
  await page.route("**/admin/trpc/**", () => {});
  await lookAgain(page);
  await page.clock.fastForward(7_000);
  expect(await page.getByRole("alert").count()).toBe(0);
  await page.clock.fastForward(1_500);
  await page.getByRole("alert").getByText("Can't reach the server").waitFor();
  await page.getByText("Last updated").waitFor();
  await page.unroute("**/admin/trpc/**");
  await lookAgain(page);
  await untilLive(page);
});

webTest("an admin token that is refused is kept, and works again once it is accepted", async () => {
  expectComplaints(/401/);
  const page = await openAdmin();
  await signIn(page);
  await untilLive(page);
  await page.route("**/admin/trpc/**", (route) =>
    route.continue({ headers: { ...route.request().headers(), authorization: "Bearer other" } }),
  );
  await lookAgain(page);
  await page.getByRole("alert").getByText("doesn't accept this tab's token").waitFor();
  expect(await page.evaluate(() => sessionStorage.getItem("relay.admin"))).toMatch(/./);
  await page.unroute("**/admin/trpc/**");
  await lookAgain(page);
  await page.getByRole("alert").waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("Admin token").waitFor();
  expect(await page.evaluate(() => sessionStorage.length)).toBe(0);
});

webTest(
  "the admin page warns when several processes respond in turn, and not after a restart",
  async () => {
    const page = await openAdmin();
    await signIn(page);
    await untilLive(page);
    await develop(page);
    let answering = "";
    let polls = 0;
    await page.route("**/admin/trpc/**", async (route) => {
      const response = await route.fetch();
      // In containers every process may have pid 1.
      const body = (await response.text())
        .replace(/"started_at":/, `$&1${answering}`)
        .replace(/"version":"[^"]+","bun"/, `"version":"0.0.${polls}","bun"`);
      await route.fulfill({ response, body });
    });
    const pollFrom = async (who: string) => {
      answering = who;
      polls++;
      await lookAgain(page);
      await page.getByText(`0.0.${polls}, Bun`).waitFor();
    };
    const notice = page.getByText("processes answer in turn");
    for (const who of ["1", "2", "2", "3"]) await pollFrom(who);
    expect(await notice.count()).toBe(0);
    await pollFrom("2");
    expect(await notice.textContent()).toStartWith("2 processes answer in turn");
    // A minute after the last change, a single process is left.
    for (let i = 0; i < 12; i++) await pollFrom("2");
    await notice.waitFor({ state: "detached" });
  },
);
