/** Drafts and new secrets survive reloads and navigation. */

import { expect } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { ask, createPair, createTask } from "../support/client.ts";
import { until } from "../support/until.ts";
import { browserTests, draftsIn, go, openPage, untilLive } from "./browser.ts";

const webTest = browserTests();
const app = await startTestApp();

webTest("drafts of an answer, a message and a task survive a reload", async () => {
  const { person, agent } = await createPair(app.url);
  await ask(agent.send, { prompt: "How much?", kind: "text" });
  const page = await openPage(app.url, { as: person });
  const answer = page.getByRole("textbox", { name: "Your answer" });
  const message = page.getByLabel("Message to agent");
  const title = page.getByLabel("Title");
  const inbox = `agents/${agent.key.id}/inbox`;
  await answer.fill("Twelve, or");
  await go(page, inbox);
  await message.fill("Look at the");
  await go(page, "tasks/new");
  await title.fill("Find the");
  await page.keyboard.press("Escape");
  await page.reload();
  await untilLive(page);
  await go(page, "tasks/new");
  expect(await title.inputValue()).toBe("Find the");
  await go(page, inbox);
  expect(await message.inputValue()).toBe("Look at the");
  await go(page, "questions");
  expect(await answer.inputValue()).toBe("Twelve, or");

  // A text that was sent is no longer a draft.
  await answer.press("End");
  await answer.pressSequentially(" so");
  await answer.press("Enter");
  await page.getByText("Twelve, or so").waitFor();
  await go(page, inbox);
  await page.getByRole("button", { name: "Send message" }).click();
  await page.getByText("Message sent").waitFor();
  await go(page, "tasks/new");
  await page.getByRole("button", { name: "Create task" }).click();
  await page.getByRole("dialog").getByText("Created by").waitFor();
  await until(async () => (await draftsIn(page)).length === 0);
});

webTest("a task form shows changes made elsewhere and keeps the person's own", async () => {
  const { person, agent } = await createPair(app.url);
  const { id } = await createTask(agent.send, { title: "Old", description: "Old words" });
  const page = await openPage(app.url, { as: person, at: `#/tasks/${id}` });
  const sheet = page.getByRole("dialog");
  await sheet.getByRole("button", { name: "Edit" }).click();
  await sheet.getByLabel("Title").fill("Mine");
  await agent.send(`PATCH /v1/tasks/${id}`, { title: "Theirs", description: "New words" });
  await sheet.getByText("Changed elsewhere to: Theirs").waitFor();
  expect(await sheet.getByLabel("Description").inputValue()).toBe("New words");
  // Closed by mistake: reopening continues the draft.
  await page.keyboard.press("Escape");
  await sheet.waitFor({ state: "detached" });
  await go(page, `tasks/${id}`);
  await sheet.getByRole("button", { name: "Resume editing" }).click();
  expect(await sheet.getByLabel("Title").inputValue()).toBe("Mine");
  await sheet.getByText("Changed elsewhere to: Theirs").waitFor();
  await sheet.getByRole("button", { name: "Save" }).click();
  await sheet.getByRole("button", { name: "Edit", exact: true }).waitFor();
  const { body } = await agent.send(`GET /v1/tasks/${id}`);
  expect([body.title, body.description]).toEqual(["Mine", "New words"]);
});

webTest("the token of a new account survives a reload", async () => {
  const page = await openPage(app.url);
  await page.getByRole("button", { name: "Create account" }).click();
  await page.getByRole("heading", { name: "Your account is ready" }).waitFor();
  const token = (await page.evaluate(() => localStorage.getItem("relay.token")))!;
  await page.reload();
  await untilLive(page);
  expect(await page.evaluate(() => localStorage.getItem("relay.token"))).toBe(token);
});

webTest("drafts of one account are not shown to the next account in the same tab", async () => {
  const first = await createPair(app.url);
  const { person: second } = await createPair(app.url);
  const tab = await openPage(app.url, { as: first.person, at: "#/tasks/new" });
  await tab.getByLabel("Title").fill("Private words");
  await tab.goto(`${app.url}/health`);
  const other = await tab.context().newPage();
  await other.goto(`${app.url}/#/account`);
  await other.getByRole("button", { name: "Sign out" }).click();
  await other.getByRole("alertdialog").getByRole("button", { name: "Sign out" }).click();
  await other.getByLabel("Account token").fill(second.token);
  await other.getByRole("button", { name: "Sign in" }).click();
  await untilLive(other);
  await tab.goto(`${app.url}/#/tasks/new`);
  await untilLive(tab);
  expect(await tab.getByLabel("Title").inputValue()).toBe("");
});
