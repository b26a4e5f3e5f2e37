/** Tasks in the page: live, edited and filtered, even ten thousand of them. */

import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { startTestApp } from "../support/app.ts";
import { createAgent, createPair, createTask } from "../support/client.ts";
import { copyTask } from "../support/copy-task.ts";
import { createTestStore } from "../support/store.ts";
import { until } from "../support/until.ts";
import { browserTests, expectComplaints, go, openPage, PHONE, press } from "./browser.ts";

const webTest = browserTests();
const { url: database_url } = await createTestStore();
const app = await startTestApp({ database_url });

const row = (page: Page, text: string) => page.locator("li", { hasText: text });
const group = (page: Page, name: string) => page.getByRole("button", { name, exact: false });
const sheet = (page: Page) => page.getByRole("dialog");

/** What the list shows, from top to bottom. */
const titles = (page: Page) => page.locator("li a bdi[dir]").allInnerTexts();

webTest("tasks are listed by status and update live", async () => {
  const { person, agent } = await createPair(app.url);
  const page = await openPage(app.url, { as: person, at: "#/tasks" });
  await page.getByText("No tasks yet").waitFor();
  const todo = await createTask(agent.send, { title: "Later" });
  const { id } = await createTask(agent.send, { title: "First", status: "in_progress" });
  await createTask(agent.send, { title: "Sooner", priority: "urgent" });
  await row(page, "Sooner").getByText("Urgent").waitFor();
  await row(page, "First").waitFor();
  await row(page, "Later").waitFor();
  expect((await titles(page)).filter((text) => text !== "")).toEqual(["First", "Sooner", "Later"]);
  await agent.send(`PATCH /v1/tasks/${id}`, { progress: 40, status_note: "Reads the log" });
  await row(page, "First").getByText("40%").waitFor();
  await row(page, "First").getByText("Reads the log").waitFor();
  const bar = row(page, "First").getByRole("progressbar");
  expect(await bar.getAttribute("aria-valuenow")).toBe("40");
  // The task moves to the group of finished tasks, which is closed at first.
  await agent.send(`PATCH /v1/tasks/${id}`, { status: "done" });
  await row(page, "First").waitFor({ state: "detached" });
  await group(page, "Done").click();
  await row(page, "First").waitFor();
  await agent.send(`DELETE /v1/tasks/${todo.id}`);
  await row(page, "Later").waitFor({ state: "detached" });
});

webTest("creating, editing, finishing and deleting a task shows in another browser", async () => {
  const { person, agent } = await createPair(app.url);
  const page = await openPage(app.url, { as: person, at: "#/tasks" });
  const other = await openPage(app.url, { as: person, at: "#/tasks", size: PHONE });
  await page.getByRole("link", { name: "New task" }).click();
  // The form takes the focus.
  await page.waitForFunction(() => document.activeElement?.getAttribute("name") === "title");
  await page.keyboard.type("Write it down");
  await sheet(page).getByLabel("Description").fill("All of it.");
  await sheet(page).getByLabel("Priority").selectOption("high");
  await sheet(page).getByRole("button", { name: "Create task" }).click();
  await row(other, "Write it down").getByText("High").waitFor();
  const { body } = await agent.send("GET /v1/tasks");
  expect(body.tasks).toMatchObject([
    { title: "Write it down", description: "All of it.", priority: "high", source: "app" },
  ]);
  const [task] = body.tasks;

  // Changes by the agent in fields that the person did not touch stay.
  await sheet(page).getByRole("button", { name: "Edit" }).click();
  await sheet(page).getByLabel("Title").fill("Write it up");
  await agent.send(`PATCH /v1/tasks/${task.id}`, { description: "Some of it.", progress: 10 });
  await sheet(page).getByLabel("Status note").fill("Begun");
  await sheet(page).getByRole("button", { name: "Save" }).click();
  await sheet(page).getByText("Some of it.").waitFor();
  await row(other, "Write it up").getByText("Begun").waitFor();
  expect((await agent.send(`GET /v1/tasks/${task.id}`)).body).toMatchObject({
    title: "Write it up",
    description: "Some of it.",
    progress: 10,
    status_note: "Begun",
  });

  await sheet(page).getByRole("button", { name: "Start" }).click();
  await sheet(page).getByText("In progress", { exact: true }).waitFor();
  await page.keyboard.press("Escape");
  await sheet(page).waitFor({ state: "detached" });
  // Finished by one click in the list.
  await press(other.getByRole("button", { name: "Finish: Write it up" }));
  await other.getByRole("button", { name: "Finish: Write it up" }).waitFor({ state: "detached" });
  await group(page, "Done").click();
  await row(page, "Write it up").getByRole("link").click();
  await sheet(page).getByRole("button", { name: "Reopen" }).waitFor();
  await page.clock.install();
  await sheet(page).getByRole("button", { name: "Delete" }).click();
  await page.getByText("No tasks yet").waitFor();
  await page.clock.fastForward(6_100);
  await other.getByText("No tasks yet").waitFor();
  expect((await agent.send(`GET /v1/tasks/${task.id}`)).status).toBe(404);
});

webTest("a refused value is reported at its field of the task form", async () => {
  expectComplaints(/422/);
  const { person, agent } = await createPair(app.url);
  const { id } = await createTask(agent.send, { title: "Here" });
  const page = await openPage(app.url, { as: person, at: `#/tasks/${id}` });
  await sheet(page).getByRole("button", { name: "Edit" }).click();
  await sheet(page).getByLabel("Title").fill("x".repeat(201));
  const save = sheet(page).getByRole("button", { name: "Save" });
  // An invalid percentage is reported before anything is sent, and never taken for "none".
  for (const slip of ["101", "4o", "4.5", "-1"]) {
    await sheet(page).getByLabel("Progress").fill(slip);
    await save.click();
    await sheet(page).getByText("This must be a whole number from 0 to 100.").waitFor();
  }
  await sheet(page).getByLabel("Progress").fill(" 45 %");
  await save.click();
  await sheet(page).getByText("This must be at most 200 characters.").waitFor();
  await sheet(page).getByLabel("Title").fill("Here now");
  await save.click();
  await row(page, "Here now").getByText("45%").waitFor();
  expect((await agent.send(`GET /v1/tasks/${id}`)).body.progress).toBe(45);
  await sheet(page).getByRole("button", { name: "Edit" }).click();
  await sheet(page).getByLabel("Title").fill("x".repeat(201));
  await save.click();
  await sheet(page).getByText("This must be at most 200 characters.").waitFor();
  expect(await sheet(page).getByLabel("Title").getAttribute("aria-invalid")).toBe("true");
  // The task is deleted meanwhile.
  await agent.send(`DELETE /v1/tasks/${id}`);
  await sheet(page).getByText("This task was deleted").waitFor();
  expect(await sheet(page).getByLabel("Title").inputValue()).toBe("x".repeat(201));
  await sheet(page).getByRole("button", { name: "Discard" }).click();
  await sheet(page).getByText("Task not found").waitFor();
});

webTest("the task filter by agent, status and priority is part of the address", async () => {
  const { person, agent } = await createPair(app.url);
  const second = await createAgent(app.url, person, "second");
  await createTask(agent.send, { title: "a-low", priority: "low" });
  await createTask(agent.send, { title: "a-high", priority: "high", status: "done" });
  await createTask(second.send, { title: "b-high", priority: "high" });
  const page = await openPage(app.url, { as: person, at: "#/tasks" });
  const shows = (wanted: string[]) =>
    until(async () => (await titles(page)).filter(Boolean).join() === wanted.join());
  await shows(["b-high", "a-low"]);
  await page.getByLabel("Agent", { exact: true }).selectOption({ label: "second" });
  await shows(["b-high"]);
  await page.getByLabel("Agent", { exact: true }).selectOption("");
  await page.getByLabel("Priority").selectOption("high");
  await shows(["b-high"]);
  await page.getByLabel("Status").selectOption("done");
  await shows(["a-high"]);
  expect(new URL(page.url()).hash).toBe("#/tasks?priority=high&status=done");
  await page.reload();
  await shows(["a-high"]);
  // Opening and closing a task keeps the filter.
  await row(page, "a-high").getByRole("link").click();
  await sheet(page).waitFor();
  await page.keyboard.press("Escape");
  await sheet(page).waitFor({ state: "detached" });
  await shows(["a-high"]);
  await page.getByLabel("Priority").selectOption("urgent");
  await page.getByText("No matching tasks").waitFor();
  await page.getByRole("button", { name: "Show all tasks" }).click();
  await shows(["b-high", "a-low"]);
});

webTest(
  "the page holds 10,000 tasks and renders the visible ones",
  async () => {
    const { person, agent } = await createPair(app.url);
    await createTask(agent.send);
    await copyTask(database_url, agent.key.id, 9_999);
    const page = await openPage(app.url, { as: person, at: "#/tasks" });
    await group(page, "To do").getByText("10,000").waitFor();
    const drawn = () => page.locator("main li").count();
    expect(await drawn()).toBeLessThan(60);
    await until(async () => {
      await page.evaluate(() => window.scrollTo(0, document.documentElement.scrollHeight));
      return (await page.locator("li[aria-posinset='10001'] a").count()) === 1;
    });
    expect(await drawn()).toBeLessThan(60);
    const [first] = (await agent.send("GET /v1/tasks?limit=1")).body.tasks;
    await agent.send(`PATCH /v1/tasks/${first.id}`, { priority: "urgent", title: "On top" });
    // Another view starts at the top.
    await go(page, "questions");
    await page.getByRole("heading", { name: "Questions" }).waitFor();
    await page.waitForFunction(() => window.scrollY === 0);
    await go(page, "tasks");
    await row(page, "On top").waitFor();
    expect((await titles(page))[0]).toBe("On top");
    await go(page, `tasks/${first.id}`);
    await sheet(page).getByRole("button", { name: "Finish" }).click();
    await sheet(page).getByRole("button", { name: "Reopen" }).waitFor();
    await page.keyboard.press("Escape");
    await group(page, "To do").getByText("9,999").waitFor();
  },
  300_000,
);
