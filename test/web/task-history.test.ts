/** The history of a task in its sheet, and what the page of an agent says it does now. */

import { expect } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { ask, createAgent, createPair, createTask } from "../support/client.ts";
import { browserTests, DESK, openPage, PHONE } from "./browser.ts";
import { expectNoOverflow, untilSettled, violations } from "./page-checks.ts";

const webTest = browserTests();
const app = await startTestApp();

for (const [name, size] of Object.entries({ desk: DESK, phone: PHONE })) {
  webTest(`a task shows its history, live and page by page, on a ${name}`, async () => {
    const { person, agent } = await createPair(app.url);
    const task = await createTask(agent.send, { title: "Deploy", status: "in_progress" });
    const patch = (body: object) => agent.send(`PATCH /v1/tasks/${task.id}`, body);
    for (let i = 1; i <= 14; i++) await patch({ status_note: `Step ${i}`, progress: i });
    await person.send(`PATCH /v1/tasks/${task.id}`, { status: "todo" });
    const page = await openPage(app.url, { as: person, at: `#/tasks/${task.id}`, size });
    const entries = page.getByRole("region", { name: "History" }).locator("li");
    await entries.first().waitFor();
    expect(await entries.count()).toBe(10);
    expect(await entries.first().textContent()).toMatch(/^To do · You · /);
    expect(await entries.nth(1).textContent()).toMatch(/^Step 14\s*14% · Agent · /);
    await page.getByRole("button", { name: "Show more" }).click();
    await page.getByRole("button", { name: "Show more" }).waitFor({ state: "detached" });
    expect(await entries.count()).toBe(16);
    expect(await entries.last().textContent()).toMatch(/^Created · Agent · /);
    // A newer progress takes the place of the last one in what is shown.
    await patch({ progress: 50 });
    await entries.filter({ hasText: /^50%/ }).waitFor();
    await patch({ progress: 60 });
    await entries.filter({ hasText: /^60%/ }).waitFor();
    await entries.filter({ hasText: /^50%/ }).waitFor({ state: "detached" });
    expect(await entries.count()).toBe(17);
    await untilSettled(page);
    expect(await violations(page)).toEqual([]);
    await expectNoOverflow(page);
    await patch({ status: "done", status_note: "All green" });
    await entries.filter({ hasText: "All green" }).waitFor();
    expect(await entries.first().textContent()).toMatch(/^All green\s*Finished · Agent · /);
  });

  webTest(
    `an agent's page begins with what it does now, and writes to it there, on a ${name}`,
    async () => {
      const { person, agent } = await createPair(app.url);
      const page = await openPage(app.url, { as: person, at: `#/agents/${agent.key.id}`, size });
      const now = page.getByRole("region", { name: "Now" });
      await now.getByText("Not connected yet").waitFor();
      const task = await createTask(agent.send, { title: "Deploy", status: "in_progress" });
      await agent.send(`PATCH /v1/tasks/${task.id}`, { status_note: "Building", progress: 40 });
      await now.getByText("Building").waitFor();
      expect(await now.textContent()).toContain("Working on");
      const question = await ask(agent.send, { prompt: "Shall I go on?", task_id: task.id });
      await now.getByRole("link", { name: "Shall I go on?" }).waitFor();
      expect(await now.textContent()).toMatch(/Waiting for you.*Working on/s);
      await person.send(`POST /v1/questions/${question.id}/answer`, { answer: "Yes" });
      await now.getByText("Waiting for you").waitFor({ state: "detached" });
      await agent.send(`PATCH /v1/tasks/${task.id}`, { status: "done" });
      await now.getByText("Idle").waitFor();

      // With the keyboard alone.
      await page.getByLabel("Message to agent").focus();
      await page.keyboard.type("Well done");
      await page.keyboard.press("Tab");
      await page.keyboard.press("Enter");
      const timeline = page.getByRole("list", { name: "Timeline" });
      await timeline.getByText("Well done").waitFor();
      const { body } = await agent.send("GET /v1/inbox");
      expect(body.items.at(-1)).toMatchObject({ type: "message", text: "Well done" });
      await timeline.getByText("Building").waitFor();
      const other = await createAgent(app.url, person, "Deploy bot");
      await agent.send("POST /v1/messages", { key_id: other.key.id, text: "Ready to deploy" });
      await timeline.getByText("Message to Deploy bot").waitFor();
      await untilSettled(page);
      expect(await violations(page)).toEqual([]);
      await expectNoOverflow(page);
      await page.getByRole("link", { name: "Setup" }).click();
      await page.getByRole("region", { name: "Request log" }).waitFor();
    },
  );
}
