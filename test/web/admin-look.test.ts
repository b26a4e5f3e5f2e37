/** The charts of the admin page, and how it looks: sizes, light and dark, what axe finds. */

import { expect } from "bun:test";
import { mkdir } from "node:fs/promises";
import { adminClient } from "../support/admin.ts";
import { createPerson } from "../support/client.ts";
import { openStream } from "../support/stream.ts";
import { CHARTS, createAdminPage, lookAgain, signIn, untilLive } from "./admin-page.ts";
import { browserTests, DESK, expectComplaints, PHONE } from "./browser.ts";
import { fits, settled, violations } from "./look.ts";

const webTest = browserTests();

/** Where to put pictures to look at; nowhere when unset. */
const PICTURES = process.env.RELAY_TEST_PICTURES;

const { app, openAdmin } = await createAdminPage();

webTest("a chart can be gone through by keys and by pointer", async () => {
  const page = await openAdmin();
  await signIn(page);
  const slider = page.getByRole("slider", { name: "Requests a minute, minute by minute" });
  await slider.waitFor();
  expect(await page.getByRole("slider").count()).toBe(CHARTS);
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
  // A line has a point for each minute: of what happens in one, for each that is over.
  for (const [title, points] of [
    ["Requests a minute", 179],
    ["Open", 180],
  ] as const) {
    const figure = page.getByRole("figure").filter({ hasText: title });
    const path = await figure.locator("path.stroke-accent").first().getAttribute("d");
    expect([title, path!.match(/[ML]/g)!.length]).toEqual([title, points]);
  }
});

webTest(
  "what is open now stands at the end of its chart, and outbox and pushes have one",
  async () => {
    const page = await openAdmin();
    await signIn(page);
    await untilLive(page);
    const figure = (title: string) => page.getByRole("figure").filter({ hasText: title });
    const said = (title: string) =>
      page
        .getByRole("slider", { name: `${title}, minute by minute` })
        .getAttribute("aria-valuetext");
    const before = Number(/streams (\d+)/.exec((await said("Open"))!)![1]);
    const person = await createPerson(app.url);
    const stream = await openStream(app.url, person.token);
    await lookAgain(page);
    await figure("Open")
      .getByText(String(before + 1), { exact: true })
      .waitFor();
    expect(await said("Open")).toMatch(`streams ${before + 1}, waits 0`);
    stream.close();
    const { minutes } = await adminClient(app.url).series.query();
    const last = minutes.at(-2)!;
    expect(await said("Pushes a minute")).toEndWith(
      `accepted ${last.pushes_accepted}, other answers ${last.pushes_failed}, waiting ${last.pushes_queued}`,
    );
    expect(minutes.some((minute) => minute.pushes_failed > 0)).toBe(true);
    expect(await said("Event outbox")).toEndWith(`kept ${minutes.at(-1)!.outbox_events}`);
    expect(await said("Store")).toMatch(/one small read [\d.]+ ms$/);
    expect(await said("Processor")).toMatch(/busy [\d.]+ %$/);
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

webTest("at 320 pixels, also with letters further apart, nothing sticks out", async () => {
  const page = await openAdmin({ size: { width: 320, height: 256 } });
  await signIn(page);
  await untilLive(page);
  await page.getByRole("table").waitFor();
  await settled(page);
  await fits(page);
  // WCAG 1.4.12; a sheet of the driver, since the page's policy refuses one in the document.
  await page.evaluate(() => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(
      "* { line-height: 1.5 !important; letter-spacing: 0.12em !important; word-spacing: 0.16em !important }",
    );
    document.adoptedStyleSheets = [sheet];
  });
  await fits(page);
});

webTest("bars and their swatches are seen where the system chooses the colours", async () => {
  const page = await openAdmin();
  await signIn(page);
  await untilLive(page);
  await page.getByRole("table").waitFor();
  const colours = () =>
    page
      .locator("figure .bg-ok, figure .bg-accent, figure .bg-danger, [data-live] .bg-ok")
      .evaluateAll((all) => all.map((one) => getComputedStyle(one).backgroundColor));
  expect((await colours()).length).toBeGreaterThan(15);
  // How many there are can change from one look to the next; what they are coloured with cannot.
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
