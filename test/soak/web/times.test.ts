/** Times in the page: relative, with the exact time on request, in the format of the browser's locale. */

import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { startTestApp } from "../../support/app.ts";
import { createPair, createTask } from "../../support/client.ts";
import { createTestClock } from "../../support/clock.ts";
import { browserTests, expectComplaints, go, openPage, PHONE } from "../../web/browser.ts";
import { expectNoOverflow, violations } from "../../web/page-checks.ts";

const webTest = browserTests();
const clock = createTestClock();
const app = await startTestApp({ clock });

/** How many days older the account is than the task. */
const AGE = 10;
clock.shiftWall(-AGE * 86_400);
const { person, agent } = await createPair(app.url);
clock.shiftWall(AGE * 86_400);
const task = await createTask(agent.send, { title: "One" });
const made_at = new Date((Math.floor(clock.now()) - AGE * 86_400) * 1000);
const day = (locale: string) =>
  new Intl.DateTimeFormat(locale, { dateStyle: "medium" }).format(made_at);
/** The date of the account's sign-ins, which is earlier than the other dates. */
const accountAge = (page: Page, name: string) =>
  page.locator("dl").getByRole("button", { name, exact: true });

for (const locale of ["de-DE", "en-GB", "ja-JP"]) {
  webTest(`dates and clock times use the browser's locale: ${locale}`, async () => {
    const page = await openPage(app.url, { as: person, at: "#/account", locale });
    const created = accountAge(page, day(locale));
    await created.focus();
    const exact = await page.getByRole("tooltip").textContent();
    const form = new Intl.DateTimeFormat(locale, { dateStyle: "full", timeStyle: "medium" });
    expect(exact).toStartWith(form.format(made_at).slice(0, 12));
    expect(await created.evaluate((one) => one.getAttribute("aria-describedby"))).not.toBeNull();
    // Preloading may still be under way.
    expectComplaints(/Failed to load resource/);
    await page.context().setOffline(true);
    const clock_of = locale === "en-GB" || locale === "de-DE" ? /\d\d:\d\d\./ : /\d{1,2}:\d\d\./;
    await page.getByText(/^Offline\. Last updated/).waitFor();
    const banner = await page.getByText(/^Offline\./).textContent();
    expect(banner).toMatch(clock_of);
    expect(banner).not.toMatch(/AM|PM/);
  });
}

webTest("the exact time shows on focus, hover and tap, and hides again", async () => {
  const page = await openPage(app.url, { as: person, at: `#/tasks/${task.id}` });
  const time = page.getByRole("dialog").getByRole("button", { name: "just now" }).first();
  const tip = page.getByRole("tooltip");
  await time.focus();
  await tip.waitFor();
  expect(await tip.textContent()).toContain(String(new Date().getFullYear()));
  expect(await violations(page)).toEqual([]);
  // Escape closes the tooltip first, then the dialog.
  await page.keyboard.press("Escape");
  await tip.waitFor({ state: "detached" });
  expect(await page.getByRole("dialog").count()).toBe(1);
  await time.hover();
  await tip.waitFor();
  await page.mouse.move(0, 0);
  await tip.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Close" }).focus();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
});

webTest("on a phone a tap shows the exact time inside the window", async () => {
  const page = await openPage(app.url, { as: person, size: PHONE, touch: true, at: "#/account" });
  const created = accountAge(page, day("en-US"));
  const tip = page.getByRole("tooltip");
  await created.tap();
  await tip.waitFor();
  const box = (await tip.boundingBox())!;
  expect(box.x).toBeGreaterThanOrEqual(0);
  expect(box.x + box.width).toBeLessThanOrEqual(PHONE.width);
  await expectNoOverflow(page);
  await page.getByRole("heading", { name: "Token" }).tap();
  await tip.waitFor({ state: "detached" });
  // In a list of links the row itself leads to its times.
  await go(page, "tasks");
  expect(await page.locator("li time, a time").first().getAttribute("title")).toContain("20");
});
