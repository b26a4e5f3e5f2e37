/** Deleting a task: the confirmation applies to one task, and late responses do not navigate. */

import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { startTestApp } from "../support/app.ts";
import { createPair, createTask } from "../support/client.ts";
import { browserTests, expectComplaints, go, openPage } from "./browser.ts";
import { drawn } from "./page-checks.ts";

const webTest = browserTests();
const app = await startTestApp();

const sheet = (page: Page) => page.getByRole("dialog");
const confirmation = (page: Page) => page.getByRole("alertdialog");
const confirm = (page: Page) => confirmation(page).getByRole("button", { name: "Delete task" });
const hashOf = (page: Page) => new URL(page.url()).hash;

async function askAbout(page: Page, title: string): Promise<void> {
  await page.getByRole("link", { name: title }).click();
  await sheet(page).getByRole("button", { name: "Delete" }).click();
  await confirmation(page)
    .getByRole("heading", { name: `Delete ${title}?` })
    .waitFor();
}

/** Holds back requests of this procedure; the result releases them or fails them. */
async function hold(page: Page, procedure: string): Promise<(how?: "fail") => void> {
  let release: (how?: "fail") => void = () => {};
  const held = new Promise<"fail" | undefined>((resolve) => {
    release = resolve;
  });
  await page.route(`**/trpc/${procedure}`, async (route) => {
    if ((await held) === "fail") await route.abort();
    else await route.continue();
  });
  return release;
}

/** An account with two tasks, and a page with some history. */
async function open() {
  const { person, agent } = await createPair(app.url);
  const first = await createTask(agent.send, { title: "First" });
  await createTask(agent.send, { title: "Second" });
  const page = await openPage(app.url, { as: person, at: "#/account" });
  await go(page, "agents");
  await go(page, "tasks");
  const left = async (): Promise<string[]> =>
    (await agent.send("GET /v1/tasks")).body.tasks.map(({ title }: { title: string }) => title);
  return { agent, first, page, left };
}

webTest(
  "the delete confirmation closes with its task and does not apply to the next task",
  async () => {
    const { agent, first, page, left } = await open();
    await askAbout(page, "First");
    await agent.send(`DELETE /v1/tasks/${first.id}`);
    await confirmation(page).waitFor({ state: "detached" });
    await sheet(page).getByText("Task not found").waitFor();
    await page.keyboard.press("Escape");
    await sheet(page).waitFor({ state: "detached" });
    await page.getByRole("link", { name: "Second" }).click();
    await sheet(page).getByRole("button", { name: "Delete" }).waitFor();
    expect(await confirmation(page).count()).toBe(0);
    expect(await left()).toEqual(["Second"]);
  },
);

webTest("going back closes the delete confirmation with its task", async () => {
  const { page, left } = await open();
  await askAbout(page, "First");
  await page.goBack();
  await confirmation(page).waitFor({ state: "detached" });
  await sheet(page).waitFor({ state: "detached" });
  await page.goForward();
  await sheet(page).getByRole("button", { name: "Delete" }).waitFor();
  expect(await confirmation(page).count()).toBe(0);
  expect(await left()).toHaveLength(2);
});

webTest(
  "the delete confirmation stays while the task is being deleted, and shows a failure",
  async () => {
    expectComplaints(/Failed to load resource/);
    const { page, left } = await open();
    const release = await hold(page, "tasks.delete");
    await askAbout(page, "First");
    await confirm(page).click();
    await page.keyboard.press("Escape");
    expect(await confirmation(page).getByRole("button", { name: "Cancel" }).isDisabled()).toBe(
      true,
    );
    release("fail");
    await confirmation(page).getByRole("alert").waitFor();
    await page.keyboard.press("Escape");
    await confirmation(page).waitFor({ state: "detached" });
    expect(hashOf(page)).toStartWith("#/tasks/");
    await page.unroute("**/trpc/tasks.delete");
    // The confirmation can be opened again.
    await sheet(page).getByRole("button", { name: "Delete" }).click();
    await confirmation(page).waitFor();
    expect(await confirmation(page).getByRole("alert").count()).toBe(0);
    await confirm(page).click();
    await page.getByText("Task deleted").waitFor();
    await sheet(page).waitFor({ state: "detached" });
    expect(hashOf(page)).toBe("#/tasks");
    expect(await left()).toEqual(["Second"]);
  },
);

webTest("a late response to a deletion does not navigate", async () => {
  const { page } = await open();
  const release = await hold(page, "tasks.delete");
  await askAbout(page, "First");
  await confirm(page).click();
  await page.goBack();
  await sheet(page).waitFor({ state: "detached" });
  await page.getByRole("link", { name: "Second" }).click();
  await sheet(page).getByRole("button", { name: "Delete" }).waitFor();
  const hash = hashOf(page);
  release();
  await page.getByText("Task deleted").waitFor();
  await drawn(page);
  expect(hashOf(page)).toBe(hash);
});

webTest("a deletion that fails after its sheet was closed shows a toast", async () => {
  expectComplaints(/Failed to load resource/);
  const { page } = await open();
  const release = await hold(page, "tasks.delete");
  await askAbout(page, "First");
  await confirm(page).click();
  await page.goBack();
  await sheet(page).waitFor({ state: "detached" });
  release("fail");
  await page.getByText(/^Delete task: Couldn't reach the server/).waitFor();
  await page.getByRole("link", { name: "First" }).waitFor();
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
