/** Visits every view of the person's page, and checks its accessibility, light and dark. */

import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { startTestApp } from "../support/app.ts";
import { pair } from "../support/client.ts";
import { expectComplaints, openPage, type PHONE } from "./browser.ts";
import { untilSettled, violations } from "./page-checks.ts";
import { createScene } from "./scene.ts";

/** Expects that axe finds no violation in any view of a window of this size. */
export async function checkEveryView(size: typeof PHONE): Promise<void> {
  expectComplaints(/Failed to load resource|ERR_/);
  const app = await startTestApp();
  const { person, views } = await createScene(app.url);
  const found: Record<string, string[]> = {};
  const check = async (view: string, page: Page) => {
    await untilSettled(page);
    found[view] = await violations(page);
  };
  const welcome = await openPage(app.url, { size });
  await check("welcome", welcome);
  await welcome.getByLabel("Account token").fill("x");
  await welcome.keyboard.press("Enter");
  await check("welcome refused", welcome);
  await welcome.goto(`${app.url}/#/pair/ABCD-2345`);
  await welcome.getByRole("button", { name: "Back" }).waitFor();
  await check("pairing link that is over", welcome);
  const pairing = await person.send("POST /v1/pairings", {});
  await welcome.goto(`${app.url}/#/pair/${pairing.body.code}`);
  await welcome.getByText("Link made by").waitFor();
  await check("pairing link", welcome);

  const page = await openPage(app.url, { as: person, size });
  for (const [view, address] of Object.entries(views)) {
    await page.goto(`${app.url}/${address}`);
    await page.locator("h1, [role=dialog] h2").filter({ visible: true }).last().waitFor();
    await check(view, page);
  }
  await page.goto(`${app.url}/${views.task}`);
  await page.getByRole("dialog").getByRole("button", { name: "Edit" }).click();
  await check("edit task", page);
  await page.goto(`${app.url}/#/tasks?priority=low&status=done`);
  await check("no task", page);
  await page.goto(`${app.url}/#/tasks?status=done`);
  await check("done tasks", page);
  await page.goto(`${app.url}/${views["new-agent"]}`);
  await page.getByLabel("Name").fill("Looked at");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Show QR code" }).click();
  await page.getByRole("img", { name: "QR code" }).waitFor();
  await check("key", page);
  await page.getByRole("link", { name: "Done" }).click();
  await page.getByRole("link", { name: "Key", exact: true }).click();
  await page.getByRole("button", { name: "Delete agent" }).click();
  await page.getByRole("heading", { name: "Agents", exact: true }).waitFor();
  await page.getByRole("button", { name: "Undo" }).waitFor();
  await check("delete agent", page);
  await page.goto(`${app.url}/#/account`);
  await page.getByRole("button", { name: "Show account token" }).click();
  await check("token", page);
  await page
    .getByRole("button", { name: /^Rename/ })
    .first()
    .click();
  await check("rename sign-in", page);
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Sign out", exact: true }).click();
  await page.getByRole("switch", { name: "Keep the token valid" }).waitFor();
  await check("sign out of the last", page);
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Add a device" }).click();
  await page.getByText("Waiting for the device").waitFor();
  await check("add a device", page);
  const joined = await pair(app.url, person, "Safari on iPhone");
  await page.getByText("Safari on iPhone signed in").waitFor();
  await check("device joined", page);
  await page.keyboard.press("Escape");
  const second = await pair(app.url, person, "Firefox on Android");
  await page.getByText("signed in to your account").waitFor();
  await check("new sign-in", page);
  for (const { session } of [joined, second]) {
    await person.send(`DELETE /v1/sessions/${session.id}`);
  }
  await page.goto(`${app.url}/#/pair/ABCD-2345`);
  await page.getByText("You're already signed in").waitFor();
  await check("link while signed in", page);
  await page.getByRole("button", { name: "Stay signed in" }).click();
  await page.goto(`${app.url}/#/questions`);
  await page.route("**/*", (route) => route.abort());
  await page.context().setOffline(true);
  await page.getByText(/^Offline\./).waitFor();
  await check("offline", page);
  const wrong = Object.entries(found).filter(([, list]) => list.length > 0);
  expect(wrong).toEqual([]);
  expect(Object.keys(found).length).toBe(32);
}
