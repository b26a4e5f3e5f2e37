/** Toasts: they lead to what they are about, cover no control, and do not tell of what is in view. */

import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { startTestApp } from "../support/app.ts";
import { ask, createPair, createTask } from "../support/client.ts";
import { until } from "../support/until.ts";
import { browserTests, DESK, go, openProfile, PHONE, untilLive } from "./browser.ts";
import { expectNoOverflow, violations } from "./page-checks.ts";

const webTest = browserTests();
const app = await startTestApp();

/** Folder for screenshots to look at; none when unset. */
const PICTURES = process.env.RELAY_TEST_PICTURES;

const toastOf = (page: Page, text: RegExp) => page.getByRole("status").getByText(text);

/** The names of the controls that a toast lies over. */
const covered = (page: Page, text: RegExp): Promise<string[]> =>
  toastOf(page, text).evaluate((toast) => {
    const own = toast.getBoundingClientRect();
    const controls = document.querySelectorAll("a[href], button, input, textarea, select");
    return [...controls]
      .filter((one) => {
        if (one === toast) return false;
        const { left, right, top, bottom } = one.getBoundingClientRect();
        return left < own.right && right > own.left && top < own.bottom && bottom > own.top;
      })
      .map((one) => one.textContent || one.getAttribute("aria-label") || one.tagName);
  });

/** True once others than screen readers see it. */
const isShown = (page: Page, text: RegExp): Promise<boolean> =>
  toastOf(page, text).evaluateAll((all) =>
    all.some((one) => one.getBoundingClientRect().height > 10),
  );

for (const [where, size] of [
  ["phone", PHONE],
  ["desk", DESK],
] as const) {
  webTest(`on a ${where}, a toast covers no control and leads to its question`, async () => {
    const { person, agent } = await createPair(app.url);
    for (let i = 0; i < 3; i++) await createTask(agent.send, { title: `Task ${i}` });
    const touch = where === "phone" ? ({ touch: true } as const) : {};
    const page = await (await openProfile(app.url, { as: person, size, ...touch })).newPage();
    await page.clock.install();
    // A view whose lower half is full of controls.
    await page.goto(`${app.url}/#/account`);
    await untilLive(page);
    await page.getByRole("button", { name: "Delete account" }).waitFor();
    // From now on, time advances only with these frames, however slow the machine is.
    await page.clock.pauseAt(Date.now() + 10_000);
    const soon = (done: () => Promise<boolean>) =>
      until(async () => {
        await page.clock.runFor(50);
        return done();
      });
    await page.evaluate(() => window.scrollTo(0, document.body.scrollHeight));
    const asks = /has a question/;
    const first = await ask(agent.send, { prompt: "One?" });
    await soon(() => isShown(page, asks));
    expect(await covered(page, asks)).toEqual([]);
    await page.mouse.wheel(0, -400);
    await soon(async () => (await covered(page, asks)).length === 0);
    await expectNoOverflow(page);
    if (PICTURES) await page.screenshot({ path: `${PICTURES}/toast-${where}.png` });
    // By touch on the phone. On the desk it stays while it has the focus, and is used by key.
    if (where === "phone") await toastOf(page, asks).tap();
    else {
      await toastOf(page, asks).focus();
      await page.clock.runFor(10_000);
      expect(await isShown(page, asks)).toBe(true);
      await page.keyboard.press("Enter");
    }
    await page.waitForURL(`**/#/questions/${first.id}`);
    await soon(() => page.getByRole("article", { name: "One?" }).isVisible());
    await soon(async () => (await toastOf(page, asks).count()) === 0);
    // A tap that comes too soon is refused.
    await page.clock.runFor(1_000);

    // Its outcome is in view there: only screen readers are told.
    await page.getByRole("button", { name: "Yes", exact: true }).click();
    const sent = /^Answer sent$/;
    await soon(async () => (await toastOf(page, sent).count()) === 1);
    await page.clock.runFor(1_000);
    expect(await isShown(page, sent)).toBe(false);
    // A view that does not show a question says so.
    await go(page, "agents");
    await ask(agent.send, { prompt: "Two?" });
    await soon(() => isShown(page, asks));
    await page.clock.resume();
    expect(await violations(page)).toEqual([]);
  });
}
