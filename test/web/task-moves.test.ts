/** Actions of a task in its sheet, and their progress. */

import { expect } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { ask, createPair, createTask } from "../support/client.ts";
import { until } from "../support/until.ts";
import { browserTests, openPage } from "./browser.ts";

const webTest = browserTests();
const app = await startTestApp();

webTest("only the pressed button of a task shows progress", async () => {
  const { person, agent } = await createPair(app.url);
  await createTask(agent.send, { title: "Slow" });
  const page = await openPage(app.url, { as: person, at: "#/tasks" });
  /** The request that is held back; the page shows its progress before making the request. */
  let held: (() => void) | undefined;
  const release = async () => {
    (await until(() => held))();
    held = undefined;
  };
  await page.route("**/trpc/tasks.update", async (route) => {
    await new Promise<void>((resolve) => {
      held = resolve;
    });
    await route.continue();
  });
  const sheet = page.getByRole("dialog");
  await page.getByRole("link", { name: "Slow" }).click();
  const button = (name: string) => sheet.getByRole("button", { name });
  await button("Start").click();
  await button("Start").locator(".animate-spin").waitFor();
  expect(await sheet.locator(".animate-spin").count()).toBe(1);
  for (const name of ["Finish", "Cancel task"]) {
    expect(await button(name).isDisabled()).toBe(true);
  }
  await release();
  await button("Start").waitFor({ state: "detached" });
  await page.waitForFunction(() => !document.querySelector("[role=dialog] button:disabled"));
});

webTest("a task links to its pending question", async () => {
  const { person, agent } = await createPair(app.url);
  const { id } = await createTask(agent.send, { title: "Asks" });
  const question = await ask(agent.send, { prompt: "How far?", kind: "text", task_id: id });
  const page = await openPage(app.url, { as: person, at: `#/tasks/${id}` });
  const link = page.getByRole("dialog").getByRole("link", { name: "Answer", exact: true });
  await link.click();
  await page.getByRole("textbox", { name: "Your answer" }).waitFor();
  await person.send(`POST /v1/questions/${question.id}/answer`, { answer: "Ten" });
  await page.getByText("You answered it").waitFor();
  await page.goBack();
  await page.getByRole("dialog").getByText("Ten").waitFor();
  expect(await link.count()).toBe(0);
});
