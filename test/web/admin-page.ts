/** The admin page in a browser: a server with a story, and the ways in. */

import type { Page } from "playwright-core";
import { ADMIN_TOKEN } from "../support/admin.ts";
import { createAdminScene } from "./admin-scene.ts";
import { openProfile, type PHONE } from "./browser.ts";

/** Charts over time of a server that sends pushes. */
export const CHARTS = 8;

interface Options {
  readonly size?: typeof PHONE;
  readonly scheme?: "light" | "dark";
}

/** Called once at the top of a file. */
export async function createAdminPage() {
  const { app, told } = await createAdminScene();
  return {
    app,
    /** The page of a new profile, before anybody signed in. */
    async openAdmin(options: Options = {}): Promise<Page> {
      await told();
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

export const untilLive = (page: Page) => page.locator("[data-live=true]").waitFor();

/** As when the tab is looked at again: figures are asked for at once. */
export const lookAgain = (page: Page) =>
  page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
