/** Time of a page with `page.clock` that stands still, so that what the page gives to a person does not run out on a busy machine. */

import type { Page } from "playwright-core";

/** From now on the page's date stands still, `ahead_ms` later than it is; its timers go on. */
export async function stopTime(page: Page, ahead_ms = 0): Promise<void> {
  await page.clock.setFixedTime((await page.evaluate(() => Date.now())) + ahead_ms);
}

/** The page's date goes on from where it stands. */
export async function resumeTime(page: Page): Promise<void> {
  await page.clock.setSystemTime(await page.evaluate(() => Date.now()));
}
