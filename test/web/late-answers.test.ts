/** The server's answers come late, when the person is elsewhere or at something new. */

import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { startTestApp } from "../support/app.ts";
import { client, createPair, createPerson, createTask } from "../support/client.ts";
import { until } from "../support/until.ts";
import { browserTests, go, openPage, untilLive } from "./browser.ts";

const webTest = browserTests();
const app = await startTestApp();

/** Holds back the answers of this procedure until they are released. */
async function hold(page: Page, procedure: string): Promise<() => void> {
  const held = Promise.withResolvers<void>();
  await page.route(`**/trpc/${procedure}`, async (route) => {
    const response = await route.fetch();
    await held.promise;
    await route.fulfill({ response });
  });
  return held.resolve;
}

webTest("a key that is made while the person is elsewhere is not lost", async () => {
  const person = await createPerson(app.url);
  const page = await openPage(app.url, { as: person, at: "#/agents/new" });
  const release = await hold(page, "keys.create");
  await page.getByLabel("Name").fill("Laptop");
  await page.getByRole("button", { name: "Create key" }).click();
  await page.getByRole("link", { name: "Account" }).click();
  release();
  await page.getByRole("status").getByText("The key of Laptop is shown this once").waitFor();
  // A new token is a new session of the same account.
  await page.getByRole("button", { name: "Replace the token" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Replace token" }).click();
  await page.getByText("The token is replaced").waitFor();
  const asked = page.waitForEvent("dialog");
  await page.evaluate(() => void setTimeout(() => location.reload()));
  await (await asked).dismiss();
  await page.getByRole("link", { name: "Show it" }).click();
  await page.getByRole("heading", { name: "The key of Laptop" }).waitFor();
  expect(await page.locator("code").first().textContent()).toMatch(/^mck_[\w-]{43}$/);
  await page.getByRole("link", { name: "Done" }).click();
  await page.getByRole("heading", { name: "Laptop" }).waitFor();
  expect(await page.getByText("shown this once").count()).toBe(0);
});

webTest(
  "what is typed while something is being sent stays, and the person where they are",
  async () => {
    const { person, agent } = await createPair(app.url);
    const page = await openPage(app.url, { as: person, at: `#/agents/${agent.key.id}/inbox` });
    const message = page.getByLabel("Message to the agent");
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
  },
);

webTest(
  "an answer that comes late leaves alone what was begun after it was asked for",
  async () => {
    const { person, agent } = await createPair(app.url);
    const { id } = await createTask(agent.send, { title: "Old" });
    const page = await openPage(app.url, { as: person, at: `#/agents/${agent.key.id}/inbox` });
    const message = page.getByLabel("Message to the agent");
    const sheet = page.getByRole("dialog");

    // A message: it is gone from the field when it was sent, also where that is another field by then.
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
    // What is chosen while it is on its way would be lost, so nothing can be.
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

    // Changes to a task.
    const saved = await hold(page, "tasks.update");
    await page.goto(`${app.url}/#/tasks/${id}`);
    await sheet.getByRole("button", { name: "Edit" }).click();
    await sheet.getByLabel("Note").fill("Mine");
    await sheet.getByRole("button", { name: "Save" }).click();
    await page.keyboard.press("Escape");
    await sheet.waitFor({ state: "detached" });
    await go(page, `tasks/${id}`);
    await sheet.getByRole("button", { name: "Go on editing" }).click();
    await sheet.getByLabel("Description").fill("Not yet saved");
    const answered = page.waitForResponse("**/trpc/tasks.update");
    saved();
    await (await answered).finished();
    await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 100)));
    expect(await sheet.getByLabel("Description").inputValue()).toBe("Not yet saved");

    // A name.
    const renamed = await hold(page, "keys.update");
    await page.goto(`${app.url}/#/agents/${agent.key.id}`);
    await page.getByRole("button", { name: "Rename" }).click();
    await page.getByLabel("Name").fill("First");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("button", { name: "Discard" }).click();
    await page.getByRole("button", { name: "Rename" }).click();
    await page.getByLabel("Name").fill("Second");
    renamed();
    await page.waitForFunction(() => document.querySelector("input")?.value === "Second");
    await until(async () => (await person.send("GET /v1/keys")).body.keys[0].label === "First");
    await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 100)));
    expect(await page.getByLabel("Name").inputValue()).toBe("Second");
  },
);

webTest(
  "of two keys that are made on a slow line, each is shown until the person has it",
  async () => {
    const person = await createPerson(app.url);
    const page = await openPage(app.url, { as: person, at: "#/agents/new" });
    const release = await hold(page, "keys.create");
    for (const name of ["One", "Two"]) {
      await page.getByLabel("Name").fill(name);
      await page.getByRole("button", { name: "Create key" }).click();
      await go(page, "tasks");
      await go(page, "agents/new");
    }
    // A new token does not lose them either.
    await go(page, "account");
    await page.getByRole("button", { name: "Replace the token" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Replace token" }).click();
    await page.getByText("The token is replaced").waitFor();
    release();
    await go(page, "agents/new");
    await page.getByRole("heading", { name: "The key of One" }).waitFor();
    await page.getByRole("link", { name: "Done" }).click();
    await page.getByText("The key of Two is shown this once").waitFor();
    // Its agent is deleted: then there is nothing to keep.
    const token = await page.evaluate(() => localStorage.getItem("relay.token"));
    const send = client(app.url, token!);
    const { keys } = (await send("GET /v1/keys")).body;
    const two = keys.find(({ label }: { label: string }) => label === "Two");
    await send(`DELETE /v1/keys/${two.id}`);
    await page.getByText("is shown this once").waitFor({ state: "detached" });
    await page.reload();
    await untilLive(page);
  },
);
