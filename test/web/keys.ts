/** Keyboard use: presses, and where the focus is. */

import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { until } from "../support/until.ts";

/** Focuses a control and presses Enter. */
export async function act(page: Page, role: "button" | "link", name: string): Promise<void> {
  await page.getByRole(role, { name, exact: true }).press("Enter");
}

/** A dialog takes the focus a moment after it opens, and until then another element gets the key presses. */
const dialog = (page: Page) => page.locator("[role$=dialog]:focus-within");

/** Waits until the open dialog has the focus. */
export const untilInDialog = (page: Page): Promise<void> => dialog(page).waitFor();

/** Focuses a button of the open dialog, once it has the focus, and presses Enter. */
export async function actInDialog(page: Page, button: string): Promise<void> {
  await dialog(page).getByRole("button", { name: button, exact: true }).press("Enter");
}

/** The focused element: its tag, and its label or text. */
export const focused = (page: Page) =>
  page.evaluate(() => {
    const { activeElement: one } = document;
    return `${one?.localName}: ${one?.getAttribute("aria-label") ?? one?.textContent ?? ""}`;
  });

/** Waits until the focused element matches. */
export async function untilFocused(page: Page, wanted: RegExp): Promise<void> {
  let found = "";
  await until(async () => {
    found = await focused(page);
    return wanted.test(found);
  }).catch(() => null);
  expect(found).toMatch(wanted);
}
