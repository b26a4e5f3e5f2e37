/** The focus never jumps to the start of the page when its element is removed. */

import { expect } from "bun:test";
import { startTestApp } from "../../support/app.ts";
import { ask, createAgent, createPair, createTask } from "../../support/client.ts";
import { until } from "../../support/until.ts";
import { browserTests, go, openPage, PHONE } from "../../web/browser.ts";
import { act, actInDialog, untilFocused } from "../../web/keys.ts";

const webTest = browserTests();
const app = await startTestApp();

webTest("the focus moves to a neighbour when the focused element is removed", async () => {
  const { person, agent } = await createPair(app.url);
  for (const title of ["One", "Two", "Three"]) {
    await createTask(agent.send, { title, status: "in_progress" });
  }
  await ask(agent.send, { prompt: "The last one?", kind: "text" });
  const page = await openPage(app.url, { as: person });

  await page.getByRole("textbox", { name: "Your answer" }).fill("words");
  await page.keyboard.press("Enter");
  await untilFocused(page, /^h1: Questions/);

  // A removed row passes the focus to the next row's link, not to its Finish button.
  await go(page, "tasks");
  await act(page, "button", "Finish: Two");
  await untilFocused(page, /^a: One/);

  // A sheet opened by address has no element to return the focus to.
  const { id } = await createTask(agent.send, { title: "Four" });
  await page.goto("about:blank");
  await page.goto(`${app.url}/#/tasks/${id}`);
  await actInDialog(page, "Edit");
  await untilFocused(page, /^div: Edit task/);
  await page.keyboard.press("Escape");
  await untilFocused(page, /^h1: Tasks/);

  await go(page, "agents");
  await act(page, "link", "New agent");
  await untilFocused(page, /^(h1: New agent|input: )/);
  await page.getByLabel("Name").fill("Laptop");
  await page.keyboard.press("Enter");
  await untilFocused(page, /^h1: Laptop/);
  await act(page, "link", "Done");
  // The link disappears and the heading gets the focus before the next view is there.
  await page.locator("a[aria-current=page]", { hasText: "Timeline" }).waitFor();
  await untilFocused(page, /^h1: Laptop/);
  for (const button of ["Save", "Cancel"]) {
    await act(page, "button", "Rename");
    await untilFocused(page, /^input: /);
    await act(page, "button", button);
    await untilFocused(page, /^h1: Laptop/);
  }
  await act(page, "button", "Rename");
  await untilFocused(page, /^input: /);
  await page.keyboard.press("Escape");
  await untilFocused(page, /^h1: Laptop/);
  await act(page, "link", "Key");
  await act(page, "button", "Delete agent");
  await untilFocused(page, /^h1: Agents/);

  const deleted = await createAgent(app.url, person, "Doomed");
  await go(page, `agents/${deleted.key.id}/key`);
  await page.getByRole("button", { name: "Delete agent" }).focus();
  await person.send(`DELETE /v1/keys/${deleted.key.id}`);
  await untilFocused(page, /^h1: Agent not found/);

  await go(page, "account");
  await act(page, "button", "Sign out");
  await actInDialog(page, "Sign out");
  await untilFocused(page, /^h1: Relay/);
  await act(page, "button", "Create account");
  await untilFocused(page, /^h1: Your account is ready/);
  await act(page, "button", "Continue and save one later");
  await untilFocused(page, /^h1: How should Relay reach you/);
  await act(page, "button", "Not now");
  await untilFocused(page, /^h1: Questions/);
});

webTest("closing a task leaves no history entry and keeps the list's position", async () => {
  const { person, agent } = await createPair(app.url);
  for (let i = 0; i < 30; i++) await createTask(agent.send, { title: `No. ${i}` });
  const page = await openPage(app.url, { as: person, size: PHONE, at: "#/account" });
  await go(page, "tasks");
  const link = page.getByRole("link", { name: /No\. 5/ });
  await page.getByRole("link", { name: /No\. 29/ }).waitFor();
  await page.evaluate(() => window.scrollTo(0, 1_000));
  const top = () => page.evaluate(() => Math.round(window.scrollY));
  await until(async () => (await link.count()) === 1);
  await link.scrollIntoViewIfNeeded();
  const before = await top();
  expect(before).toBeGreaterThan(0);
  await link.click();
  await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  expect(await top()).toBe(before);
  await page.goBack();
  await page.getByRole("heading", { name: "Token" }).waitFor();

  // Opened from another view: closing returns there.
  await ask(agent.send, {
    prompt: "About it?",
    task_id: (await agent.send("GET /v1/tasks?limit=1")).body.tasks[0].id,
  });
  await go(page, "questions");
  await page.getByRole("link", { name: "No. 29" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
  await page.getByText("About it?").waitFor();
  expect(new URL(page.url()).hash).toBe("#/questions");
});
