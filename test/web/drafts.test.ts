/** What was typed and not sent, and what is shown once, are not lost by a wrong key. */

import { expect } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { ask, createPair, createPerson, createTask } from "../support/client.ts";
import { browserTests, go, openPage, untilLive } from "./browser.ts";

const webTest = browserTests();
const app = await startTestApp();

webTest("an answer, a message and a task that were begun are there after a reload", async () => {
  const { person, agent } = await createPair(app.url);
  await ask(agent.send, { prompt: "How much?", kind: "text" });
  const page = await openPage(app.url, { as: person });
  const answer = page.getByRole("textbox", { name: "Your answer" });
  const message = page.getByLabel("Message to the agent");
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

  // What was sent is no draft any more.
  await answer.press("End");
  await answer.pressSequentially(" so");
  await answer.press("Enter");
  await page.getByText("Twelve, or so").waitFor();
  await go(page, inbox);
  await page.getByRole("button", { name: "Send message" }).click();
  await page.getByText("Message sent").waitFor();
  await go(page, "tasks/new");
  await page.getByRole("button", { name: "Create task" }).click();
  await page.getByRole("dialog").getByText("Made by").waitFor();
  expect(await page.evaluate(() => sessionStorage.length)).toBe(0);
});

webTest("a task that is being changed keeps what others change, and says so", async () => {
  const { person, agent } = await createPair(app.url);
  const { id } = await createTask(agent.send, { title: "Old", description: "Old words" });
  const page = await openPage(app.url, { as: person, at: `#/tasks/${id}` });
  const sheet = page.getByRole("dialog");
  await sheet.getByRole("button", { name: "Edit" }).click();
  await sheet.getByLabel("Title").fill("Mine");
  await agent.send(`PATCH /v1/tasks/${id}`, { title: "Theirs", description: "New words" });
  await sheet.getByText("Changed meanwhile to: Theirs").waitFor();
  expect(await sheet.getByLabel("Description").inputValue()).toBe("New words");
  // Closed by mistake, it goes on where it was.
  await page.keyboard.press("Escape");
  await sheet.waitFor({ state: "detached" });
  await go(page, `tasks/${id}`);
  await sheet.getByRole("button", { name: "Go on editing" }).click();
  expect(await sheet.getByLabel("Title").inputValue()).toBe("Mine");
  await sheet.getByText("Changed meanwhile to: Theirs").waitFor();
  await sheet.getByRole("button", { name: "Save" }).click();
  await sheet.getByRole("button", { name: "Edit", exact: true }).waitFor();
  const { body } = await agent.send(`GET /v1/tasks/${id}`);
  expect([body.title, body.description]).toEqual(["Mine", "New words"]);
});

webTest("a secret that is shown once waits until the person has it", async () => {
  const person = await createPerson(app.url);
  const page = await openPage(app.url, { as: person, at: "#/agents/new" });
  await page.getByLabel("Name").fill("Laptop");
  await page.getByRole("button", { name: "Create key" }).click();
  const secret = (await page.locator("code").first().textContent())!;
  await page.getByRole("link", { name: "Account" }).click();
  await page.getByRole("heading", { name: "Token" }).waitFor();
  await page.goBack();
  await page.getByText(secret, { exact: true }).waitFor();
  // A reload would lose it, so the browser asks.
  const asked = page.waitForEvent("dialog");
  await page.evaluate(() => void setTimeout(() => location.reload()));
  const dialog = await asked;
  expect(dialog.type()).toBe("beforeunload");
  await dialog.dismiss();
  await page.getByText(secret, { exact: true }).waitFor();
  await page.getByRole("link", { name: "Done" }).click();
  await page.getByRole("heading", { name: "Laptop" }).waitFor();
  await go(page, "agents/new");
  await page.getByLabel("Name").waitFor();
});

webTest("an account that was made just now is not lost by a reload", async () => {
  const page = await openPage(app.url);
  await page.getByRole("button", { name: "Create account" }).click();
  const token = await page.locator("code").textContent();
  await page.reload();
  await untilLive(page);
  expect(await page.evaluate(() => localStorage.getItem("relay.token"))).toBe(token);
});
