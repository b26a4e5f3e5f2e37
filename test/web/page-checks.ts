/** Checks of a rendered page: accessibility and overflow. */

import { expect } from "bun:test";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { until } from "../support/until.ts";

/** Text of a script that defines `axe`. */
const AXE = await Bun.file(fileURLToPath(import.meta.resolve("axe-core/axe.min.js"))).text();

interface AxeResult {
  readonly violations: readonly {
    readonly id: string;
    readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
  }[];
}

/**
 * Violations found by axe: every rule in the light scheme, and only contrast in the dark one, since the
 * schemes differ only in colours. `part` is a selector that limits the check. The page's policy does
 * not apply to scripts of the driver.
 */
export async function violations(page: Page, part = "html"): Promise<string[]> {
  // Still loaded after navigation within the page.
  if (!(await page.evaluate("'axe' in window"))) {
    await page.evaluate(`${AXE};0`);
    // Otherwise every element would begin a transition when the scheme changes.
    await page.evaluate(() => {
      const sheet = new CSSStyleSheet();
      sheet.replaceSync("*, ::before, ::after { transition: none !important }");
      document.adoptedStyleSheets = [sheet];
    });
  }
  const found = await runAxe(page, part, { resultTypes: ["violations"] });
  await page.emulateMedia({ colorScheme: "dark" });
  // A script may follow the scheme too, in the next frame.
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))));
  const dark = await runAxe(page, part, {
    resultTypes: ["violations"],
    runOnly: ["color-contrast"],
  });
  await page.emulateMedia({ colorScheme: "light" });
  return [...found, ...dark.map((text) => `dark: ${text}`)];
}

async function runAxe(page: Page, part: string, options: object): Promise<string[]> {
  const input = `${JSON.stringify(part)}, ${JSON.stringify(options)}`;
  // The list of passed checks is long, and stays in the page.
  const found = `axe.run(${input}).then(({ violations }) => ({ violations }))`;
  const { violations } = (await page.evaluate(found)) as AxeResult;
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
  );
}

/** Waits for loading and animations to finish. */
export async function untilSettled(page: Page): Promise<void> {
  await until(async () => (await page.getByLabel(/^Loading/).count()) === 0);
  await untilStill(page);
}

/** Waits for animations to finish. */
async function untilStill(page: Page): Promise<void> {
  // An animation cancelled because its element left rejects; another may have begun meanwhile.
  await until(() =>
    page.evaluate(async () => {
      const running = document.getAnimations();
      await Promise.allSettled(running.map((one) => one.finished));
      return running.length === 0;
    }),
  );
}

/** Expects that no element overflows the window, unless an ancestor clips it. One that moves away may, until it has gone. */
export async function expectNoOverflow(page: Page): Promise<void> {
  let wide: string[] = [];
  await until(async () => {
    wide = await overflowing(page);
    return wide.length === 0;
  }).catch(() => {});
  expect(wide).toEqual([]);
  expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
}

/** The elements that overflow the window now. */
const overflowing = (page: Page) =>
  page.evaluate(() => {
    const shows = (one: Element): { left: number; right: number } => {
      let { left, right } = one.getBoundingClientRect();
      for (let around = one.parentElement; around; around = around.parentElement) {
        if (getComputedStyle(around).overflowX === "visible") continue;
        const box = around.getBoundingClientRect();
        left = Math.max(left, box.left);
        right = Math.min(right, box.right);
      }
      return { left, right };
    };
    return [...document.querySelectorAll("body *:not(.sr-only, option)")]
      .filter((one) => {
        const { left, right } = shows(one);
        return right > left && (right > innerWidth + 1 || left < -1);
      })
      .map((one) => one.outerHTML.slice(0, 120));
  });

/** Waits for two frames: by then the page shows what it has received, and has moved the focus. */
export const drawn = (page: Page) =>
  page.evaluate(
    () => new Promise<void>((go) => requestAnimationFrame(() => requestAnimationFrame(() => go()))),
  );
