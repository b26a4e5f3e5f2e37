/** Drafts of a task while the agents change. */

import { expect } from "bun:test";
import { startTestApp } from "../../support/app.ts";
import { createAgent, createPair } from "../../support/client.ts";
import { browserTests, openPage, untilLive } from "../../web/browser.ts";

const webTest = browserTests();
const app = await startTestApp();

webTest("a new task keeps its chosen agent when other agents change", async () => {
  const { person } = await createPair(app.url);
  const second = await createAgent(app.url, person, "Second");
  const page = await openPage(app.url, { as: person, at: "#/tasks/new" });
  const sheet = page.getByRole("dialog");
  const chosen = sheet.getByLabel("Agent", { exact: true }).locator("option:checked");
  await sheet.getByLabel("Agent", { exact: true }).selectOption({ label: "Second" });
  await sheet.getByLabel("Title").fill("For the second");
  await createAgent(app.url, person, "Third");
  await sheet.getByRole("option", { name: "Third" }).waitFor({ state: "attached" });
  expect(await chosen.textContent()).toBe("Second");
  await page.reload();
  await untilLive(page);
  expect(await chosen.textContent()).toBe("Second");
  await person.send(`DELETE /v1/keys/${second.key.id}`);
  await sheet.getByText("This agent no longer exists: choose another one.").waitFor();
  await sheet.getByRole("button", { name: "Create task" }).click();
  await sheet.getByLabel("Agent", { exact: true }).selectOption({ label: "Third" });
  await sheet.getByRole("button", { name: "Create task" }).click();
  await sheet.getByRole("link", { name: "Third" }).waitFor();
});
