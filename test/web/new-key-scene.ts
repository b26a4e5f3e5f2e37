/** A new agent whose key is shown, for tests of what the page keeps. */

import { expect } from "bun:test";
import type { BrowserContext, Page } from "playwright-core";

export const shown = (page: Page) => page.getByRole("heading", { name: "Copy the key now" });

/** Creates an agent in the page, and returns its key. */
export async function createInPage(url: string, page: Page): Promise<string> {
  await page.goto(`${url}/#/agents/new`);
  await page.getByLabel("Name").fill("Laptop");
  await page.getByLabel("Name").press("Enter");
  await shown(page).waitFor();
  const secret = (await page.locator("code").first().textContent())!;
  expect(secret).toMatch(/^mck_[\w-]{43}$/);
  return secret;
}

/** Everything that the page has stored, in this tab and in the browser. */
export const stored = (page: Page) =>
  page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]));

/** A tab with the session storage of another one, like the browser's own Duplicate command. */
export async function duplicate(url: string, context: BrowserContext, tab: Page): Promise<Page> {
  const kept = await tab.evaluate(() => ({ ...sessionStorage }));
  const copy = await context.newPage();
  await copy.goto(`${url}/health`);
  await copy.evaluate((items) => {
    for (const [name, value] of Object.entries(items)) sessionStorage.setItem(name, value);
  }, kept);
  return copy;
}
