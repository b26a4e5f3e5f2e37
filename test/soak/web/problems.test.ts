/** `/problems/<code>` in a browser: accessible, light and dark, within the narrowest screen. */

import { expect } from "bun:test";
import { ERRORS, type ErrorCode } from "../../../src/errors.ts";
import { startTestApp } from "../../support/app.ts";
import { browserTests, openPage } from "../../web/browser.ts";
import { expectNoOverflow, violations } from "../../web/page-checks.ts";

const webTest = browserTests();
const app = await startTestApp();
const SIZE = { width: 320, height: 600 };
const BACKGROUND = { light: "rgb(250, 249, 247)", dark: "rgb(20, 21, 19)" };

/**
 * Codes whose pages cover all differences but the words: the shortest and the longest text, and the line about
 * `Retry-After`.
 */
const codes = Object.keys(ERRORS) as ErrorCode[];
const by_length = codes.toSorted((a, b) => ERRORS[a].help.length - ERRORS[b].help.length);
const CHECKED = [
  by_length[0]!,
  by_length.at(-1)!,
  codes.find((code) => "retry_after" in ERRORS[code])!,
];

webTest(
  "the page of each error code is accessible, light and dark [§9.1.5]",
  async () => {
    const page = await openPage(app.url, { size: SIZE, at: "problems/not_found" });
    const found: Record<string, string[]> = {};
    for (const [code, { title }] of Object.entries(ERRORS)) {
      await page.goto(`${app.url}/problems/${code}`);
      expect(await page.locator("h1").textContent()).toBe(title);
      if (CHECKED.includes(code as ErrorCode)) found[code] = await violations(page);
      await expectNoOverflow(page);
    }
    expect(Object.keys(found).length).toBe(CHECKED.length);
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
