/** `/problems/<code>` in a browser: axe finds nothing, light and dark, also on the narrowest screen. */

import { expect } from "bun:test";
import { ERRORS } from "../../src/errors.ts";
import { startTestApp } from "../support/app.ts";
import { browserTests, openPage } from "./browser.ts";
import { expectNoOverflow, violations } from "./page-checks.ts";

const webTest = browserTests();
const app = await startTestApp();
const SIZE = { width: 320, height: 600 };
const BACKGROUND = { light: "rgb(250, 249, 247)", dark: "rgb(20, 21, 19)" };

webTest(
  "the page of every error code, light and dark [§9.1.5]",
  async () => {
    const page = await openPage(app.url, { size: SIZE, at: "problems/not_found" });
    const found: Record<string, string[]> = {};
    for (const [code, { title }] of Object.entries(ERRORS)) {
      await page.goto(`${app.url}/problems/${code}`);
      expect(await page.locator("h1").textContent()).toBe(title);
      found[code] = await violations(page);
      await expectNoOverflow(page);
    }
    expect(Object.entries(found).filter(([, faults]) => faults.length > 0)).toEqual([]);
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      const style = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      expect(style).toBe(BACKGROUND[colorScheme]);
    }
    await page.getByRole("link").click();
    expect(page.url()).toBe(`${app.url}/docs`);
  },
  60_000,
);
