/** Editing a task while others change it. */

import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { startTestApp } from "../../support/app.ts";
import { createPair, createTask } from "../../support/client.ts";
import { until } from "../../support/until.ts";
import { browserTests, draftsIn, openPage } from "../../web/browser.ts";

const webTest = browserTests();
const app = await startTestApp();

const sheet = (page: Page) => page.getByRole("dialog");

/** A task whose form is open. */
async function open() {
  const { person, agent } = await createPair(app.url);
  const { id } = await createTask(agent.send, { title: "Old", description: "Words" });
  const page = await openPage(app.url, { as: person, at: `#/tasks/${id}` });
  await sheet(page).getByRole("button", { name: "Edit" }).click();
  await sheet(page).getByLabel("Title").waitFor();
  const path = `/v1/tasks/${id}` as const;
  return { agent, id, path, page };
}

webTest("the task form shows values changed elsewhere beside the person's own", async () => {
  const { agent, path, page } = await open();
  await sheet(page).getByLabel("Status", { exact: true }).selectOption("in_progress");
  await sheet(page).getByLabel("Priority").selectOption("low");
  await sheet(page).getByLabel("Notify").click();
  await agent.send(`PATCH ${path}`, { status: "done", priority: "urgent" });
  await sheet(page).getByText("Changed elsewhere to: Done").waitFor();
  await sheet(page).getByText("Changed elsewhere to: Urgent").waitFor();
  // The original value can still be chosen.
  await sheet(page).getByLabel("Status", { exact: true }).selectOption("todo");
  await sheet(page).getByText("Changed elsewhere to: Done").waitFor();
  // A value that equals the current one is no longer the person's change.
  await sheet(page).getByLabel("Priority").selectOption("urgent");
  await sheet(page).getByText("Changed elsewhere to: Urgent").waitFor({ state: "detached" });
  await agent.send(`PATCH ${path}`, { priority: "high" });
  const chosen = sheet(page).getByLabel("Priority").locator("option:checked");
  await until(async () => (await chosen.textContent()) === "High");
  await sheet(page).getByRole("button", { name: "Save" }).click();
  await sheet(page).getByRole("button", { name: "Edit", exact: true }).waitFor();
  const { body } = await agent.send(`GET ${path}`);
  expect(body).toMatchObject({ status: "todo", priority: "high", notify: false });
});

webTest("a task field that is reset counts as untouched", async () => {
  const { agent, path, page } = await open();
  const title = sheet(page).getByLabel("Title");
  await title.fill("Old and more");
  await title.fill("Old");
  expect(await draftsIn(page)).toEqual([]);
  await agent.send(`PATCH ${path}`, { title: "Theirs" });
  await until(async () => (await title.inputValue()) === "Theirs");
  await sheet(page).getByLabel("Status note").fill("Mine");
  await sheet(page).getByRole("button", { name: "Save" }).click();
  await sheet(page).getByRole("button", { name: "Edit", exact: true }).waitFor();
  const { body } = await agent.send(`GET ${path}`);
  expect([body.title, body.status_note]).toEqual(["Theirs", "Mine"]);
});
