/** Copying where browsers have no clipboard API: over plain http from another machine. */

import { expect } from "bun:test";
import type { BrowserContext } from "playwright-core";
import { startTestApp } from "../../support/app.ts";
import { createPerson } from "../../support/client.ts";
import { browserTests, openProfile, untilLive } from "../../web/browser.ts";

const webTest = browserTests();
const app = await startTestApp();

/** A page without the API; with `refuses`, without the older command too. */
async function openBare(context: BrowserContext, refuses: boolean) {
  const page = await context.newPage();
  await page.addInitScript((no_command) => {
    Object.defineProperty(Navigator.prototype, "clipboard", { value: undefined });
    if (no_command) document.execCommand = () => false;
  }, refuses);
  await page.goto(`${app.url}/#/account`);
  await untilLive(page);
  return page;
}

const selected = () => getSelection()?.toString() ?? "";

webTest("without the clipboard API, the copy button uses the older command", async () => {
  const person = await createPerson(app.url);
  const context = await openProfile(app.url, { as: person });
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const page = await openBare(context, false);
  const button = page.getByRole("button", { name: "Copy account token" });
  await button.click();
  await page.getByText("Copied").waitFor();
  // The focus stays, the token stays hidden, and nothing is left in the page.
  expect(await button.evaluate((one) => one === document.activeElement)).toBe(true);
  expect(await page.content()).not.toContain(person.token);
  expect(await page.evaluate(selected)).toBe("");
  const reader = await context.newPage();
  await reader.goto(`${app.url}/health`);
  await reader.bringToFront();
  expect(await reader.evaluate(() => navigator.clipboard.readText())).toBe(person.token);
});

webTest("where the browser refuses to copy, the text is shown and selected", async () => {
  const person = await createPerson(app.url);
  const page = await openBare(await openProfile(app.url, { as: person }), true);
  await page.getByRole("button", { name: "Copy account token" }).click();
  await page.getByText("The text is selected").waitFor();
  expect(await page.evaluate(selected)).toBe(person.token);
});
