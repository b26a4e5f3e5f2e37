/** `#/questions/<id>` shows that question, in any state. */

import { expect } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { ask, createPair, createPerson, createTask } from "../support/client.ts";
import { until } from "../support/until.ts";
import { browserTests, expectComplaints, go, openPage, PHONE, press } from "./browser.ts";
import { expectNoOverflow, untilSettled, violations } from "./page-checks.ts";

const webTest = browserTests();
const app = await startTestApp();

/** Folder for screenshots to look at; none when unset. */
const PICTURES = process.env.RELAY_TEST_PICTURES;

webTest("a link opens its question alone from a cold start, and shows how it ends", async () => {
  const { person, agent } = await createPair(app.url);
  const first = await ask(agent.send, { prompt: "Another one?", expires_in: 600 });
  const { id } = await ask(agent.send, { prompt: `Linked? ${"line\n".repeat(30)}` });
  const page = await openPage(app.url, { as: person, size: PHONE, at: `#/questions/${id}` });
  await page.getByRole("article", { name: /Linked/ }).waitFor();
  expect(await page.getByRole("article").count()).toBe(1);
  // The text of the linked question is not cut.
  expect(await page.getByRole("button", { name: "Show all" }).count()).toBe(0);
  await press(page.getByRole("button", { name: "Yes" }));
  await page.getByText("You answered it").waitFor();
  await page.getByText("Answered", { exact: true }).waitFor();
  await untilSettled(page);
  expect(await violations(page)).toEqual([]);
  await expectNoOverflow(page);
  if (PICTURES) await page.screenshot({ path: `${PICTURES}/ended.png` });
  await page.getByRole("link", { name: "1 other question is pending" }).click();
  await page.getByRole("article", { name: "Another one?" }).waitFor();
  await agent.send(`DELETE /v1/questions/${first.id}`);
});

webTest(
  "a link to an ended question says how it ended, and a link to an unknown question says so",
  async () => {
    expectComplaints(/404/);
    const { person, agent } = await createPair(app.url);
    const task = await createTask(agent.send);
    const by_agent = await ask(agent.send, { prompt: "By its agent?" });
    const with_task = await ask(agent.send, { prompt: "With its task?", task_id: task.id });
    await agent.send(`DELETE /v1/questions/${by_agent.id}`);
    await agent.send(`DELETE /v1/tasks/${task.id}`);
    const old = await ask(agent.send, { prompt: "Long ago?" });
    await person.send(`POST /v1/questions/${old.id}/answer`, { answer: "No" });
    // More questions than the page holds.
    for (let i = 0; i < 101; i++) {
      const { id } = await ask(agent.send, { prompt: `No. ${i}` });
      await agent.send(`DELETE /v1/questions/${id}`);
    }
    const page = await openPage(app.url, { as: person, at: `#/questions/${by_agent.id}` });
    await page.getByText("The agent cancelled it").waitFor();
    await go(page, `questions/${with_task.id}`);
    await page.getByText("The agent cancelled it, or its task was deleted").waitFor();
    await go(page, `questions/${old.id}`);
    await page.getByText("You answered it").waitFor();
    await page
      .getByRole("article", { name: "Long ago?" })
      .getByText("No", { exact: true })
      .waitFor();

    const stranger = await createPerson(app.url);
    const theirs = await openPage(app.url, { as: stranger, at: `#/questions/${old.id}` });
    await theirs.getByText("Question not found").waitFor();
    await theirs.getByRole("main").getByRole("link", { name: "Questions" }).click();
    await theirs.getByText("All caught up").waitFor();
  },
);

webTest("the question mark shows the keys, except while the person types", async () => {
  const { person, agent } = await createPair(app.url);
  await ask(agent.send, { prompt: "What?", kind: "text" });
  const page = await openPage(app.url, { as: person });
  const box = page.getByRole("textbox", { name: "Your answer" });
  await box.pressSequentially("really?");
  expect(await box.inputValue()).toBe("really?");
  await page.getByRole("article").focus();
  await page.keyboard.press("?");
  const dialog = page.getByRole("dialog", { name: "Keyboard shortcuts" });
  await dialog.getByText("Next question").waitFor();
  await untilSettled(page);
  expect(await violations(page)).toEqual([]);
  if (PICTURES) await page.screenshot({ path: `${PICTURES}/keys.png` });
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await until(() => page.evaluate(() => document.activeElement?.closest("article") != null));
  await page.getByRole("button", { name: "Keyboard shortcuts" }).click();
  await dialog.waitFor();
});
