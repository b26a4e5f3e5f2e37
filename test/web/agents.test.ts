/** The views of agents: keys, request logs and inboxes. */

import { expect } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { ask, createAgent, createPair, createTask } from "../support/client.ts";
import { apart } from "../support/entries.ts";
import { until } from "../support/until.ts";
import { browserTests, go, openPage, PHONE, untilLive } from "./browser.ts";
import { resumeTime, stopTime } from "./page-time.ts";

const webTest = browserTests();
const app = await startTestApp();

webTest("agents show counts, client and host, and can be renamed and deleted", async () => {
  const { person, agent } = await createPair(app.url);
  const page = await openPage(app.url, { as: person, at: "#/agents" });
  const other = await openPage(app.url, { as: person, at: "#/agents", size: PHONE });
  const counts = () => page.locator("li", { hasText: "In progress" }).locator("dd").allInnerTexts();
  expect(await counts()).toEqual(["0", "0", "0", "0"]);
  const host = { headers: { "x-agent-host": "studio.local" } };
  await agent.send("POST /v1/tasks", { title: "t", status: "in_progress" }, host);
  await createTask(agent.send, { title: "u", status: "done" });
  await ask(agent.send, { prompt: "Shall I?" });
  await page.getByText(/^Waiting for you · .*studio\.local/).waitFor();
  await page.waitForFunction(
    () => [...document.querySelectorAll("dd")].map((one) => one.textContent).join() === "1,0,1,0",
  );

  await page.getByRole("link", { name: "In progress" }).click();
  const part = (name: string) => page.getByRole("link", { name, exact: true });
  await part("Key").click();
  await page.getByText(`${agent.key.prefix}…${agent.key.last4}`).waitFor();
  await part("Timeline").click();
  await page.getByRole("button", { name: "Rename" }).click();
  await page.getByLabel("Name").fill("Renamed");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Renamed" }).waitFor();
  await other.getByText("Renamed").waitFor();

  await page.getByRole("link", { name: "View tasks" }).click();
  await page.getByRole("heading", { name: "Tasks" }).waitFor();
  await page.getByText("t", { exact: true }).waitFor();
  await page.goBack();
  await part("Key").click();
  await page.clock.install();
  await stopTime(page);
  await page.getByRole("button", { name: "Delete agent" }).click();
  await page.getByText("No agents yet").waitFor();
  expect((await agent.send("GET /v1/tasks")).status).toBe(200);
  await resumeTime(page);
  await page.clock.fastForward(6_100);
  await other.getByText("No agents yet").waitFor();
  // No events follow for its tasks and questions (§7.3.1), but they disappear too.
  for (const one of [page, other]) {
    await go(one, "tasks");
    await one.getByText("No tasks yet").waitFor();
    await go(one, "questions");
    await one.getByText("All caught up").waitFor();
    expect(await one.title()).toBe("Questions · Relay");
  }
  expect((await agent.send("GET /v1/tasks")).status).toBe(401);
});

webTest("the request log loads page by page", async () => {
  const { person, agent } = await createPair(app.url);
  for (let i = 0; i < 70; i++) await agent.send("GET /v1/tasks", undefined, apart());
  await agent.send("GET /v1/tasks/x", undefined, { headers: { "x-agent-host": "ci-7" } });
  const page = await openPage(app.url, { as: person, at: `#/agents/${agent.key.id}/activity` });
  const lines = page.getByRole("region", { name: "Request log" }).locator("li");
  const failed = lines.filter({ hasText: "GET /v1/tasks/{task_id}" });
  // The entry is written shortly after the request.
  while ((await failed.count()) === 0) await page.getByRole("button", { name: "Refresh" }).click();
  for (const part of ["not_found", "ci-7", "REST"]) {
    expect(await failed.textContent()).toContain(part);
  }
  expect(await lines.count()).toBe(50);
  await page.getByRole("button", { name: "Show more" }).click();
  await page.getByRole("button", { name: "Show more" }).waitFor({ state: "detached" });
  expect(await lines.count()).toBe(71);
  // Equal requests are counted in one entry.
  for (let i = 0; i < 12; i++) {
    await agent.send("GET /v1/tasks/x", undefined, { headers: { "x-agent-host": "ci-8" } });
  }
  const counted = failed.filter({ hasText: "12 times, last" });
  while ((await counted.count()) === 0) await page.getByRole("button", { name: "Refresh" }).click();
});

webTest("the inbox view shows items and sends messages, live", async () => {
  const { person, agent } = await createPair(app.url);
  const second = await createAgent(app.url, person, "Second");
  const at = `#/agents/${agent.key.id}/inbox`;
  const page = await openPage(app.url, { as: person, at });
  await page.getByText("Inbox is empty").waitFor();
  await page.getByLabel("Message to agent").fill("Hold on\nfor a day");
  await page.getByRole("button", { name: "Send message" }).click();
  const items = page.getByRole("list", { name: "Inbox" }).locator("li");
  await items.filter({ hasText: "Hold on" }).getByText("Unread by agent").waitFor();
  // The event may come before the response that empties the field.
  await until(async () => (await page.getByLabel("Message to agent").inputValue()) === "");
  // From another agent, and from the person in another client.
  await second.send("POST /v1/messages", { key_id: agent.key.id, text: "From next door" });
  await items.filter({ hasText: "Message from Second" }).getByText("From next door").waitFor();
  await createTask(person.send, { title: "A gift", key_id: agent.key.id });
  await items.filter({ hasText: "New task from you" }).getByText("A gift").waitFor();
  const { body } = await agent.send("GET /v1/inbox");
  expect(body.items.map(({ text }: { text: string }) => text)).toEqual([
    "Hold on\nfor a day",
    "From next door",
    null,
  ]);
  await page.waitForFunction(() => !document.body.textContent.includes("Unread"));
  expect(await items.filter({ hasText: "Read" }).count()).toBe(3);
  await untilLive(page);
});
