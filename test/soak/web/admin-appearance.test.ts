/** Charts and appearance of the admin page: sizes, colour schemes, accessibility. */

import { expect } from "bun:test";
import { adminClient } from "../../support/admin.ts";
import { createPerson } from "../../support/client.ts";
import { openStream } from "../../support/stream.ts";
import {
  CHARTS,
  createAdminPage,
  develop,
  lookAgain,
  people,
  signIn,
  untilLive,
} from "../../web/admin-page.ts";
import { browserTests, DESK, expectComplaints, PHONE } from "../../web/browser.ts";
import { expectNoOverflow, untilSettled, violations } from "../../web/page-checks.ts";

const webTest = browserTests();

const { app, openAdmin } = await createAdminPage();

webTest("the keyboard and the pointer select minutes of an admin chart", async () => {
  const page = await openAdmin();
  await signIn(page);
  await develop(page);
  const slider = page.getByRole("slider", { name: "Requests per minute by minute" });
  await slider.waitFor();
  expect(await page.getByRole("slider").count()).toBe(CHARTS);
  const { minutes } = await adminClient(app.url).series.query();
  expect(minutes.length).toBe(180);
  const at = (minute: (typeof minutes)[number]) =>
    new Intl.DateTimeFormat("en-US", { timeStyle: "short" }).format(minute.at * 1000);
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
  // Gauges have a point for each minute; rates only for each complete one.
  for (const [title, points] of [
    ["Requests per minute", 179],
    ["Open", 180],
  ] as const) {
    const figure = page.getByRole("figure").filter({ hasText: title });
    const path = await figure.locator("g.stroke-accent path").first().getAttribute("d");
    expect([title, path!.match(/[ML]/g)!.length]).toEqual([title, points]);
  }
});

webTest(
  "charts of open streams and waits end with the current values; outbox and deliveries have charts",
  async () => {
    const page = await openAdmin();
    await signIn(page);
    await untilLive(page);
    await develop(page);
    await page.getByRole("slider").first().waitFor();
    const figure = (title: string) => page.getByRole("figure").filter({ hasText: title });
    const said = (title: string) =>
      page.getByRole("slider", { name: `${title} by minute` }).getAttribute("aria-valuetext");
    const before = Number(/streams (\d+)/.exec((await said("Open streams and waits"))!)![1]);
    const person = await createPerson(app.url);
    const stream = await openStream(app.url, person.token);
    await lookAgain(page);
    await figure("Open")
      .getByText(String(before + 1), { exact: true })
      .waitFor();
    expect(await said("Open streams and waits")).toMatch(`streams ${before + 1}, waits 0`);
    stream.close();
    const { minutes } = await adminClient(app.url).series.query();
    const last = minutes.at(-2)!;
    expect(await said("Notifications per minute")).toEndWith(
      `accepted ${last.pushes_accepted}, failed ${last.pushes_failed}, queued ${last.pushes_queued}`,
    );
    expect(minutes.some((minute) => minute.pushes_failed > 0)).toBe(true);
    expect(await said("Event outbox")).toEndWith(`events ${minutes.at(-1)!.outbox_events}`);
    expect(await said("Store latency")).toMatch(/read [\d.]+ ms$/);
    expect(await said("CPU")).toMatch(/busy [\d.]+%$/);
  },
);

for (const [name, size] of Object.entries({ phone: PHONE, desk: DESK })) {
  webTest(
    `axe finds no violations on the admin page, light and dark, and nothing overflows: ${name}`,
    async () => {
      expectComplaints(/Failed to load resource|ERR_/);
      const page = await openAdmin({ size });
      const found: Record<string, string[]> = {};
      const check = async (view: string, part?: string) => {
        await untilSettled(page);
        found[view] = await violations(page, part);
        await expectNoOverflow(page);
      };
      await check("sign-in");
      await signIn(page, "x");
      await page.getByRole("alert").waitFor();
      await check("refused");
      await signIn(page);
      await untilLive(page);
      await people(page).first().waitFor();
      await check("people");
      await develop(page);
      await page.getByRole("slider").first().waitFor();
      await check("dashboard");
      await people(page).first().click();
      await page.getByRole("dialog").waitFor();
      await check("person", "[role=dialog]");
      await page.getByRole("button", { name: "Make code" }).click();
      await page.getByText(/Expires in/).waitFor();
      await check("pairing code", "[role=dialog]");
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
      await page.getByRole("slider").first().focus();
      await page.keyboard.press("Home");
      await check("minute", "figure");
      await page.route("**/admin/trpc/**", (route) => route.abort());
      await lookAgain(page);
      await page.getByRole("alert").waitFor();
      await check("away");
      expect(Object.entries(found).filter(([, list]) => list.length > 0)).toEqual([]);
    },
    120_000,
  );
}

webTest(
  "nothing on the admin page overflows at 320 pixels, even with wider letter spacing",
  async () => {
    const page = await openAdmin({ size: { width: 320, height: 256 } });
    await signIn(page);
    await untilLive(page);
    await develop(page);
    await page.getByRole("slider").first().waitFor();
    await people(page).first().waitFor();
    await untilSettled(page);
    await expectNoOverflow(page);
    // WCAG 1.4.12. Set through the driver, since the page's policy refuses inline styles.
    await page.evaluate(() => {
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(
        "* { line-height: 1.5 !important; letter-spacing: 0.12em !important; word-spacing: 0.16em !important }",
      );
      document.adoptedStyleSheets = [sheet];
    });
    await expectNoOverflow(page);
  },
);

webTest("bars and swatches of the admin page stay visible in forced-colors mode", async () => {
  const page = await openAdmin();
  await signIn(page);
  await untilLive(page);
  await develop(page);
  await page.getByRole("slider").first().waitFor();
  const colours = () =>
    page
      .locator("figure .bg-ok, figure .bg-accent, figure .bg-danger, [data-live] .bg-ok")
      .evaluateAll((all) => all.map((one) => getComputedStyle(one).backgroundColor));
  expect((await colours()).length).toBeGreaterThan(15);
  // The number of bars may change between two reads; their colours may not.
  const own = await page.evaluate(() =>
    ["--ok", "--accent", "--danger", "--edge"].map((name) => {
      const probe = document.createElement("i");
      probe.style.background = `var(${name})`;
      document.body.append(probe);
      const { backgroundColor } = getComputedStyle(probe);
      probe.remove();
      return backgroundColor;
    }),
  );
  await page.emulateMedia({ forcedColors: "active" });
  const now = await colours();
  expect(now.length).toBeGreaterThan(15);
  expect(now.filter((colour) => !own.includes(colour))).toEqual([]);
});
