/** The sheet of a task that is deleted or closed. */

import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { startTestApp } from "../../support/app.ts";
import { createPair, createTask } from "../../support/client.ts";
import { browserTests, expectComplaints, go, openPage } from "../../web/browser.ts";

const webTest = browserTests();
const app = await startTestApp();

const sheet = (page: Page) => page.getByRole("dialog");
const hashOf = (page: Page) => new URL(page.url()).hash;

/** An account with two tasks, and a page with some history. */
async function open() {
  const { person, agent } = await createPair(app.url);
  const first = await createTask(agent.send, { title: "First" });
  await createTask(agent.send, { title: "Second" });
  const page = await openPage(app.url, { as: person, at: "#/account" });
  await go(page, "agents");
  await go(page, "tasks");
  return { agent, first, page };
}

webTest("the sheet of a task that its agent deletes says so, and the next one opens", async () => {
  // The page may ask for the history of the task when it is gone.
  expectComplaints(/404/);
  const { agent, first, page } = await open();
  await page.getByRole("link", { name: "First" }).click();
  await sheet(page).getByRole("button", { name: "Delete" }).waitFor();
  await agent.send(`DELETE /v1/tasks/${first.id}`);
  await sheet(page).getByText("Task not found").waitFor();
  await page.keyboard.press("Escape");
  await sheet(page).waitFor({ state: "detached" });
  await page.getByRole("link", { name: "Second" }).click();
  await sheet(page).getByRole("button", { name: "Delete" }).waitFor();
});

webTest("deleting a task closes its sheet and leaves the address of the list", async () => {
  const { page } = await open();
  await page.getByRole("link", { name: "First" }).click();
  await sheet(page).getByRole("button", { name: "Delete" }).click();
  await sheet(page).waitFor({ state: "detached" });
  expect(hashOf(page)).toBe("#/tasks");
  await page.goBack();
  await page.waitForFunction(() => location.hash === "#/agents");
});

webTest("closing a task's sheet twice goes back once", async () => {
  const { page } = await open();
  await page.getByRole("link", { name: "First" }).click();
  await sheet(page).waitFor();
  // The page itself clicks, faster than a test could.
  await sheet(page)
    .getByRole("button", { name: "Close" })
    .evaluate((button: HTMLElement) => {
      button.click();
      button.click();
    });
  await sheet(page).waitFor({ state: "detached" });
  await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 100)));
  expect(hashOf(page)).toBe("#/tasks");
  await page.getByRole("link", { name: "First" }).click();
  await sheet(page).getByRole("button", { name: "Close" }).dblclick();
  await sheet(page).waitFor({ state: "detached" });
  await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 100)));
  expect(hashOf(page)).toBe("#/tasks");
});
