/** Looks at a page as it is shown: what axe finds, and whether it fits into its window. */

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

/** What axe finds wrong, by rule. The page's policy does not hold for what the browser's driver runs. */
export async function violations(page: Page): Promise<string[]> {
  // A page that only went to another view has it already.
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(`${axe.source};0`);
  const run = 'axe.run({ resultTypes: ["violations"] })';
  const { violations } = (await page.evaluate(run)) as Found;
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
  );
}

/** Until nothing is on its way. */
export async function settled(page: Page): Promise<void> {
  await until(async () => (await page.getByLabel(/^Loading/).count()) === 0);
  await page.evaluate(() => Promise.all(document.getAnimations().map((one) => one.finished)));
}

/** Nothing sticks out of the window, but for what an element around it cuts off. */
export async function fits(page: Page): Promise<void> {
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
