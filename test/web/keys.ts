/** Keyboard use: presses, and where the focus is. */

import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { until } from "../support/until.ts";

/** Focuses a control and presses Enter. */
export async function act(page: Page, role: "button" | "link", name: string): Promise<void> {
  await page.getByRole(role, { name, exact: true }).press("Enter");
}

/**
 * Focuses a button of the open dialog and presses Enter. A dialog takes the focus a moment after it
 * opens, and until then another element could get the key press, so this waits for it.
 */
export async function actInDialog(page: Page, button: string): Promise<void> {
  const dialog = page.locator("[role$=dialog]:focus-within");
  await dialog.getByRole("button", { name: button, exact: true }).press("Enter");
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
