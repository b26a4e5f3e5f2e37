/** Responses that arrive after the person has moved on. */

import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { startTestApp } from "../../support/app.ts";
import { client, createPair, createPerson, createTask } from "../../support/client.ts";
import { until } from "../../support/until.ts";
import { browserTests, expectComplaints, go, openPage, untilLive } from "../../web/browser.ts";
import { drawn } from "../../web/page-checks.ts";

const webTest = browserTests();
const app = await startTestApp();

/** Holds back the responses of this procedure until they are released. */
async function hold(page: Page, procedure: string): Promise<() => void> {
  const held = Promise.withResolvers<void>();
  await page.route(`**/trpc/${procedure}`, async (route) => {
    const response = await route.fetch();
    await held.promise;
    await route.fulfill({ response });
  });
  return held.resolve;
}

webTest("a key created while the person navigates away is not lost", async () => {
  // The account view may ask with the token that is being replaced, and the page for an agent that was just deleted.
  expectComplaints(/401|404/);
  const person = await createPerson(app.url);
  const page = await openPage(app.url, { as: person, at: "#/agents/new" });
  const release = await hold(page, "keys.create");
  await page.getByLabel("Name").fill("Laptop");
  await page.getByRole("button", { name: "Create agent" }).click();
  await page.getByRole("link", { name: "Account" }).click();
  release();
  await page.getByRole("status").getByText("The key for Laptop is shown only once").waitFor();
  // A replaced token continues the session.
  await page.getByRole("button", { name: "Replace token" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Replace" }).click();
  await page.getByText("Token replaced").waitFor();
  await page.getByRole("link", { name: "Show key" }).click();
  await page.getByRole("heading", { name: "Copy the key now" }).waitFor();
  expect(await page.locator("code").first().textContent()).toMatch(/^mck_[\w-]{43}$/);
  await page.getByRole("link", { name: "Done" }).click();
  await page.getByRole("link", { name: "View tasks" }).waitFor();
  expect(await page.getByText("shown only once").count()).toBe(0);
});

webTest("sending keeps text typed meanwhile and does not navigate", async () => {
  const { person, agent } = await createPair(app.url);
  const page = await openPage(app.url, { as: person, at: `#/agents/${agent.key.id}/inbox` });
  const message = page.getByLabel("Message to agent");
  const release = await hold(page, "messages.send");
  await message.fill("First");
  await page.getByRole("button", { name: "Send message" }).click();
  await message.fill("Second");
  release();
  await page.getByText("Message sent").waitFor();
  expect(await message.inputValue()).toBe("Second");

  await go(page, "tasks/new");
  const made = await hold(page, "tasks.create");
  await page.getByLabel("Title").fill("Late");
  await page.getByRole("button", { name: "Create task" }).click();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await go(page, "account");
  made();
  await page.getByText("Task created").waitFor();
  expect(new URL(page.url()).hash).toBe("#/account");
});

webTest("a late response does not touch a form that was opened after the request", async () => {
  const { person, agent } = await createPair(app.url);
  const { id } = await createTask(agent.send, { title: "Old" });
  const page = await openPage(app.url, { as: person, at: `#/agents/${agent.key.id}/inbox` });
  const message = page.getByLabel("Message to agent");
  const sheet = page.getByRole("dialog");

  // A sent message is removed from its draft, even if another form is open by then.
  const sent = await hold(page, "messages.send");
  await message.fill("First");
  await page.getByRole("button", { name: "Send message" }).click();
  await go(page, "tasks");
  await go(page, `agents/${agent.key.id}/inbox`);
  expect(await message.inputValue()).toBe("First");
  sent();
  await page.getByText("Message sent").waitFor();
  await until(async () => (await message.inputValue()) === "");

  // A new task.
  const made = await hold(page, "tasks.create");
  await go(page, "tasks/new");
  await sheet.getByLabel("Title").fill("One");
  await sheet.getByRole("button", { name: "Create task" }).click();
  // Changes would be lost while the form is being sent, so it is locked.
  await sheet.getByLabel("Priority").selectOption("urgent");
  expect(await sheet.getByLabel("Priority").inputValue()).toBe("medium");
  await page.keyboard.press("Escape");
  await sheet.waitFor({ state: "detached" });
  await go(page, "tasks/new");
  await sheet.getByLabel("Title").fill("Two");
  made();
  await page.getByText("Task created").waitFor();
  expect(await sheet.getByLabel("Title").inputValue()).toBe("Two");
  await page.reload();
  await untilLive(page);
  expect(await sheet.getByLabel("Title").inputValue()).toBe("Two");

  // An edited task.
  const saved = await hold(page, "tasks.update");
  await page.goto(`${app.url}/#/tasks/${id}`);
  await sheet.getByRole("button", { name: "Edit" }).click();
  await sheet.getByLabel("Status note").fill("Mine");
  await sheet.getByRole("button", { name: "Save" }).click();
  await page.keyboard.press("Escape");
  await sheet.waitFor({ state: "detached" });
  await go(page, `tasks/${id}`);
  await sheet.getByRole("button", { name: "Resume editing" }).click();
  await sheet.getByLabel("Description").fill("Not yet saved");
  const answered = page.waitForResponse("**/trpc/tasks.update");
  saved();
  await (await answered).finished();
  await drawn(page);
  expect(await sheet.getByLabel("Description").inputValue()).toBe("Not yet saved");

  // A renamed agent.
  const renamed = await hold(page, "keys.update");
  await page.goto(`${app.url}/#/agents/${agent.key.id}`);
  await page.getByRole("button", { name: "Rename" }).click();
  await page.getByLabel("Name").fill("First");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Rename" }).click();
  await page.getByLabel("Name").fill("Second");
  renamed();
  await page.waitForFunction(() => document.querySelector("input")?.value === "Second");
  await until(async () => (await person.send("GET /v1/keys")).body.keys[0].label === "First");
  await drawn(page);
  expect(await page.getByLabel("Name").inputValue()).toBe("Second");
});

webTest("two keys created over a slow connection are shown one after the other", async () => {
  // The account view may ask with the token that is being replaced, and the page for an agent that was just deleted.
  expectComplaints(/401|404/);
  const person = await createPerson(app.url);
  const page = await openPage(app.url, { as: person, at: "#/agents/new" });
  const release = await hold(page, "keys.create");
  for (const name of ["One", "Two"]) {
    await page.getByLabel("Name").fill(name);
    await page.getByRole("button", { name: "Create agent" }).click();
    await go(page, "tasks");
    await go(page, "agents/new");
  }
  // Replacing the token does not lose them either.
  await go(page, "account");
  await page.getByRole("button", { name: "Replace token" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Replace" }).click();
  await page.getByText("Token replaced").waitFor();
  release();
  await page.getByText("The key for One is shown only once").waitFor();
  await page.getByRole("link", { name: "Show key" }).click();
  await page.getByRole("heading", { name: "Copy the key now" }).waitFor();
  await page.getByRole("link", { name: "Done" }).click();
  await page.getByText("The key for Two is shown only once").waitFor();
  // Deleting its agent drops the secret.
  const token = await page.evaluate(() => localStorage.getItem("relay.token"));
  const send = client(app.url, token!);
  const { keys } = (await send("GET /v1/keys")).body;
  const two = keys.find(({ label }: { label: string }) => label === "Two");
  await send(`DELETE /v1/keys/${two.id}`);
  await page.getByText("is shown only once").waitFor({ state: "detached" });
  await page.reload();
  await untilLive(page);
});
