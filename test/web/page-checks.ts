/** Checks of a rendered page: accessibility and overflow. */

import { expect } from "bun:test";
import axe from "axe-core";
import type { Page } from "playwright-core";
import { until } from "../support/until.ts";

interface Found {
  readonly violations: readonly {
    readonly id: string;
    readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
  }[];
}

/** Violations found by axe. The page's policy does not apply to scripts of the driver. */
export async function violations(page: Page): Promise<string[]> {
  // Still loaded after navigation within the page.
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(`${axe.source};0`);
  const run = 'axe.run({ resultTypes: ["violations"] })';
  const { violations } = (await page.evaluate(run)) as Found;
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
  );
}

/** Waits for loading and animations to finish. */
export async function untilSettled(page: Page): Promise<void> {
  await until(async () => (await page.getByLabel(/^Loading/).count()) === 0);
  await page.evaluate(() => Promise.all(document.getAnimations().map((one) => one.finished)));
}

/** Expects that no element overflows the window, unless an ancestor clips it. */
export async function expectNoOverflow(page: Page): Promise<void> {
  const wide = await page.evaluate(() => {
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
  expect(wide).toEqual([]);
  expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
}
