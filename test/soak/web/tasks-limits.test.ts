/** Tasks under long titles, deleted agents and late clicks. */

import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { startTestApp } from "../../support/app.ts";
import { createAgent, createPair, createTask } from "../../support/client.ts";
import { createTestStore } from "../../support/store.ts";
import { until } from "../../support/until.ts";
import { browserTests, go, openPage, press, untilSteady } from "../../web/browser.ts";

const webTest = browserTests();
const { url: database_url } = await createTestStore();
const app = await startTestApp({ database_url });

const row = (page: Page, text: string) => page.locator("li", { hasText: text });
const sheet = (page: Page) => page.getByRole("dialog");

webTest("a click on Finish is ignored if another task has just moved there", async () => {
  const { person, agent } = await createPair(app.url);
  const { id } = await createTask(agent.send, { title: "Below" });
  const page = await openPage(app.url, { as: person, at: "#/tasks" });
  const finish = (title: string) => page.getByRole("button", { name: `Finish: ${title}` });
  await untilSteady(finish("Below"));
  let calls = 0;
  page.on("request", (request) => {
    if (request.url().includes("tasks.update")) calls++;
  });
  // The page itself clicks in the first frame that shows the move, faster than a test could.
  await page.evaluate(() => {
    const before = document.querySelector("button[title=Finish]")!;
    const { top } = before.getBoundingClientRect();
    const check = (): void => {
      if (before.getBoundingClientRect().top === top) {
        requestAnimationFrame(check);
        return;
      }
      for (const one of document.querySelectorAll("button[title=Finish]")) {
        const options = { bubbles: true, cancelable: true, detail: 1 };
        one.dispatchEvent(new MouseEvent("click", options));
      }
    };
    check();
  });
  await createTask(agent.send, { title: "Above", priority: "urgent" });
  await untilSteady(finish("Above"));
  expect(calls).toBe(0);
  await press(finish("Below"));
  await until(async () => (await agent.send(`GET /v1/tasks/${id}`)).body.status === "done");
});

webTest("a deleted agent cannot be chosen in the filter or for a task", async () => {
  const { person, agent } = await createPair(app.url);
  const deleted = await createAgent(app.url, person, "Doomed");
  await createTask(agent.send, { title: "Stays" });
  await createTask(deleted.send, { title: "Goes" });
  const page = await openPage(app.url, { as: person, at: `#/tasks?agent=${deleted.key.id}` });
  await row(page, "Goes").waitFor();
  await page.getByRole("link", { name: "New task" }).click();
  await sheet(page).getByLabel("Title").fill("For whom?");
  await person.send(`DELETE /v1/keys/${deleted.key.id}`);
  await sheet(page).getByRole("option", { name: "Doomed" }).waitFor({ state: "detached" });
  await sheet(page).getByText("This agent no longer exists: choose another one.").waitFor();
  await sheet(page).getByLabel("Agent", { exact: true }).selectOption({ index: 1 });
  await sheet(page).getByRole("button", { name: "Create task" }).click();
  await sheet(page).getByText("Created by").waitFor();
  const { body } = await agent.send("GET /v1/tasks");
  expect(body.tasks.map(({ title }: { title: string }) => title)).toContain("For whom?");
  await go(page, `tasks?agent=${deleted.key.id}`);
  // Not the select of the form, which may still be closing.
  const chosen = page
    .locator("#root")
    .getByLabel("Agent", { exact: true })
    .locator("option:checked");
  expect(await chosen.textContent()).toBe("Deleted agent");
  await page.getByRole("button", { name: "Show all tasks" }).click();
  await row(page, "Stays").waitFor();
});

webTest("at 400% zoom a task's long title leaves room for the rest", async () => {
  const { person, agent } = await createPair(app.url);
  const { id } = await createTask(agent.send, { title: "Long words ".repeat(18) });
  const size = { width: 320, height: 200 };
  const page = await openPage(app.url, { as: person, size, at: `#/tasks/${id}` });
  const finish = sheet(page).getByRole("button", { name: "Finish" });
  await finish.scrollIntoViewIfNeeded();
  const { y, height } = (await finish.boundingBox())!;
  expect(y).toBeGreaterThanOrEqual(0);
  expect(y + height).toBeLessThanOrEqual(size.height);
  await finish.click();
  await sheet(page).getByRole("button", { name: "Reopen" }).waitFor();
});
