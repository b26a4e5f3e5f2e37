/** Opens the admin page of a server that has a history. */

import type { Page } from "playwright-core";
import { ADMIN_TOKEN } from "../support/admin.ts";
import { createAdminScene } from "./admin-scene.ts";
import { openProfile, type PHONE } from "./browser.ts";

/** Charts shown when notifications are on. */
export const CHARTS = 8;

interface Options {
  readonly size?: typeof PHONE;
  readonly scheme?: "light" | "dark";
}

/** Called once at the top of a test file. */
export async function createAdminPage() {
  const { app, simulated } = await createAdminScene();
  return {
    app,
    /** Opens the page in a new profile, before sign-in. */
    async openAdmin(options: Options = {}): Promise<Page> {
      await simulated();
      const page = await (await openProfile(app.url, options)).newPage();
      await page.goto(`${app.url}/admin`);
      await page.getByLabel("Admin token").waitFor();
      return page;
    },
  };
}

export async function signIn(page: Page, token = ADMIN_TOKEN): Promise<void> {
  await page.getByLabel("Admin token").fill(token);
  await page.keyboard.press("Enter");
}

/** Opens the part for developers. */
export const develop = (page: Page) => page.getByText("For developers", { exact: true }).click();

/** The rows of the people. */
export const people = (page: Page) =>
  page.getByRole("list", { name: "People" }).getByRole("button");

export const untilLive = (page: Page) => page.locator("[data-live=true]").waitFor();

/** Acts as if the tab became visible: the page polls at once. */
export const lookAgain = (page: Page) =>
  page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
