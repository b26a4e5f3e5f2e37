/** A person who has no pointer: where the focus is, and presses by key. */

import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { until } from "../support/until.ts";

/** Presses by key what a person would have come to with the keyboard. */
export async function act(page: Page, role: "button" | "link", name: string): Promise<void> {
  await page.getByRole(role, { name, exact: true }).focus();
  await page.keyboard.press("Enter");
}

/** What has the focus: its tag, and its name or text. */
export const focused = (page: Page) =>
  page.evaluate(() => {
    const { activeElement: one } = document;
    return `${one?.localName}: ${one?.getAttribute("aria-label") ?? one?.textContent ?? ""}`;
  });

/** Until what has the focus is like that. */
export async function untilFocused(page: Page, wanted: RegExp): Promise<void> {
  let found = "";
  await until(async () => {
    found = await focused(page);
    return wanted.test(found);
  }).catch(() => null);
  expect(found).toMatch(wanted);
}
