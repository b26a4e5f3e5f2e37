/** Recovery codes on the page. */

import { expect } from "bun:test";
import type { Page } from "playwright-core";

const FORM = /^([0-9A-Z]{4}-){7}[0-9A-Z]{4}$/;

/** The code that the page shows. */
export async function codeOn(page: Page): Promise<string> {
  const code = (await page.locator("code").textContent())!;
  expect(code).toMatch(FORM);
  return code;
}

export const button = (page: Page, name: string | RegExp) => page.getByRole("button", { name });
export const field = (page: Page) => page.getByLabel("Recovery code or account token");
