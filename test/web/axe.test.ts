/** Accessibility: axe finds nothing on any view, light and dark, on a phone and at a desk. */

import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { startTestApp } from "../support/app.ts";
import { browserTests, DESK, expectComplaints, openPage, PHONE } from "./browser.ts";
import { settled, violations } from "./look.ts";
import { createScene, type Scene } from "./scene.ts";

const webTest = browserTests();
const app = await startTestApp();
let made: Promise<Scene> | undefined;

for (const [name, size] of Object.entries({ phone: PHONE, desk: DESK })) {
  for (const scheme of ["light", "dark"] as const) {
    webTest(
      `every view, ${scheme}, ${name}`,
      async () => {
        expectComplaints(/Failed to load resource|ERR_/);
        made ??= createScene(app.url);
        const { person, views } = await made;
        const found: Record<string, string[]> = {};
        const look = async (view: string, page: Page) => {
          await settled(page);
          found[view] = await violations(page);
        };
        const welcome = await openPage(app.url, { size, scheme });
        await look("welcome", welcome);
        await welcome.getByLabel("I have a token").fill("x");
        await welcome.keyboard.press("Enter");
        await look("welcome refused", welcome);

        const page = await openPage(app.url, { as: person, size, scheme });
        for (const [view, place] of Object.entries(views)) {
          await page.goto(`${app.url}/${place}`);
          await page.locator("h1, [role=dialog] h2").last().waitFor();
          await look(view, page);
        }
        await page.goto(`${app.url}/${views.task}`);
        await page.getByRole("dialog").getByRole("button", { name: "Edit" }).click();
        await look("edit task", page);
        await page.goto(`${app.url}/#/tasks?priority=low&status=done`);
        await look("no task", page);
        await page.goto(`${app.url}/#/tasks?status=done`);
        await look("done tasks", page);
        await page.goto(`${app.url}/${views["new-agent"]}`);
        await page.getByLabel("Name").fill("Looked at");
        await page.keyboard.press("Enter");
        await page.getByRole("button", { name: "Show QR code" }).click();
        await page.getByRole("img", { name: "QR code" }).waitFor();
        await look("key", page);
        await page.getByRole("link", { name: "Done" }).click();
        await page.getByRole("button", { name: "Delete agent" }).click();
        await page.getByRole("alertdialog").waitFor();
        await look("delete agent", page);
        await page.getByRole("button", { name: "Delete agent" }).last().click();
        await page.getByRole("heading", { name: "Agents", exact: true }).waitFor();
        await page.goto(`${app.url}/#/account`);
        await page.getByRole("button", { name: "Show account token" }).click();
        await look("token", page);
        await page.goto(`${app.url}/#/questions`);
        await page.route("**/*", (route) => route.abort());
        await page.context().setOffline(true);
        await page.getByText("Offline.").waitFor();
        await look("offline", page);
        const wrong = Object.entries(found).filter(([, list]) => list.length > 0);
        expect(wrong).toEqual([]);
        expect(Object.keys(found).length).toBe(19);
      },
      120_000,
    );
  }
}
