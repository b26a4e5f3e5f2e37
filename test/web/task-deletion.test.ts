/** Deleting a task in the page: of the task that is asked about, once, and nobody is moved by it late. */

import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { startTestApp } from "../support/app.ts";
import { createPair, createTask } from "../support/client.ts";
import { browserTests, expectComplaints, go, openPage } from "./browser.ts";

const webTest = browserTests();
const app = await startTestApp();

const sheet = (page: Page) => page.getByRole("dialog");
const question = (page: Page) => page.getByRole("alertdialog");
const confirm = (page: Page) => question(page).getByRole("button", { name: "Delete task" });
const placeOf = (page: Page) => new URL(page.url()).hash;

async function askAbout(page: Page, title: string): Promise<void> {
  await page.getByRole("link", { name: title }).click();
  await sheet(page).getByRole("button", { name: "Delete" }).click();
  await question(page)
    .getByRole("heading", { name: `Delete ${title}?` })
    .waitFor();
}

/** Holds back what the page asks of this procedure; the result lets it go, or has it fail. */
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

/** An account with two tasks, and what was visited before their list. */
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

webTest("the question goes with its task, and is not asked of the next one", async () => {
  const { agent, first, page, left } = await open();
  await askAbout(page, "First");
  await agent.send(`DELETE /v1/tasks/${first.id}`);
  await question(page).waitFor({ state: "detached" });
  await sheet(page).getByText("not any more").waitFor();
  await page.keyboard.press("Escape");
  await sheet(page).waitFor({ state: "detached" });
  await page.getByRole("link", { name: "Second" }).click();
  await sheet(page).getByRole("button", { name: "Delete" }).waitFor();
  expect(await question(page).count()).toBe(0);
  expect(await left()).toEqual(["Second"]);
});

webTest("back closes the question with its task", async () => {
  const { page, left } = await open();
  await askAbout(page, "First");
  await page.goBack();
  await question(page).waitFor({ state: "detached" });
  await sheet(page).waitFor({ state: "detached" });
  await page.goForward();
  await sheet(page).getByRole("button", { name: "Delete" }).waitFor();
  expect(await question(page).count()).toBe(0);
  expect(await left()).toHaveLength(2);
});

webTest("the question stays while the task is being deleted, and for why it was not", async () => {
  expectComplaints(/Failed to load resource/);
  const { page, left } = await open();
  const release = await hold(page, "tasks.delete");
  await askAbout(page, "First");
  await confirm(page).click();
  await page.keyboard.press("Escape");
  expect(await question(page).getByRole("button", { name: "Keep" }).isDisabled()).toBe(true);
  release("fail");
  await question(page).getByRole("alert").waitFor();
  await page.keyboard.press("Escape");
  await question(page).waitFor({ state: "detached" });
  expect(placeOf(page)).toStartWith("#/tasks/");
  await page.unroute("**/trpc/tasks.delete");
  // The next time it is a new question.
  await sheet(page).getByRole("button", { name: "Delete" }).click();
  await question(page).waitFor();
  expect(await question(page).getByRole("alert").count()).toBe(0);
  await confirm(page).click();
  await page.getByText("Task deleted").waitFor();
  await sheet(page).waitFor({ state: "detached" });
  expect(placeOf(page)).toBe("#/tasks");
  expect(await left()).toEqual(["Second"]);
});

webTest("an answer that comes late moves nobody", async () => {
  const { page } = await open();
  const release = await hold(page, "tasks.delete");
  await askAbout(page, "First");
  await confirm(page).click();
  await page.goBack();
  await sheet(page).waitFor({ state: "detached" });
  await page.getByRole("link", { name: "Second" }).click();
  await sheet(page).getByRole("button", { name: "Delete" }).waitFor();
  const place = placeOf(page);
  release();
  await page.getByText("Task deleted").waitFor();
  await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 100)));
  expect(placeOf(page)).toBe(place);
});

webTest("a deletion that fails after its sheet was left is told", async () => {
  expectComplaints(/Failed to load resource/);
  const { page } = await open();
  const release = await hold(page, "tasks.delete");
  await askAbout(page, "First");
  await confirm(page).click();
  await page.goBack();
  await sheet(page).waitFor({ state: "detached" });
  release("fail");
  await page.getByText(/^Delete task: The server cannot be reached/).waitFor();
  await page.getByRole("link", { name: "First" }).waitFor();
});

webTest("closing twice goes back once", async () => {
  const { page } = await open();
  await page.getByRole("link", { name: "First" }).click();
  await sheet(page).waitFor();
  // The page itself presses: no test could be as quick.
  await sheet(page)
    .getByRole("button", { name: "Close" })
    .evaluate((button: HTMLElement) => {
      button.click();
      button.click();
    });
  await sheet(page).waitFor({ state: "detached" });
  await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 100)));
  expect(placeOf(page)).toBe("#/tasks");
  await page.getByRole("link", { name: "First" }).click();
  await sheet(page).getByRole("button", { name: "Close" }).dblclick();
  await sheet(page).waitFor({ state: "detached" });
  await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 100)));
  expect(placeOf(page)).toBe("#/tasks");
});
