/** What has the focus when a view opens: keys and typing work without a click or a Tab. */

import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { startTestApp } from "../support/app.ts";
import { ask, createAgent, createPair, createPerson } from "../support/client.ts";
import {
  browserTests,
  card,
  expectComplaints,
  inHistory,
  LAN_NAME,
  openPage,
  PHONE,
  untilSteady,
} from "./browser.ts";
import { focused, untilFocused } from "./keys.ts";

const webTest = browserTests();
const app = await startTestApp();

webTest("the keys of the first question work on arrival, without a click or a Tab", async () => {
  const { person, agent } = await createPair(app.url);
  const first = await ask(agent.send, { prompt: "On arrival?", expires_in: 2_000 });
  await ask(agent.send, { prompt: "Below it?", expires_in: 3_000 });
  const page = await openPage(app.url, { as: person });
  await untilFocused(page, /^article: .*On arrival\?/);
  // A question that appears above does not take its keys.
  await ask(agent.send, { prompt: "Above it?", expires_in: 1_000 });
  await card(page, "Above it?").waitFor();
  await untilSteady(card(page, "On arrival?"));
  await page.keyboard.press("y");
  await inHistory(page, "On arrival?").getByText("Answered").waitFor();
  expect((await agent.send(`GET /v1/questions/${first.id}`)).body.answer).toBe("Yes");
  // The same after a navigation by mouse.
  await page.getByRole("link", { name: "Tasks" }).click();
  await page.getByRole("heading", { name: "Tasks", exact: true }).waitFor();
  await page.getByRole("link", { name: "Questions" }).click();
  await untilFocused(page, /^article: .*Above it\?/);
  await untilSteady(card(page, "Above it?"));
  await page.keyboard.press("ArrowDown");
  expect(await focused(page)).toBe("button: YesY");
  await untilSteady(card(page, "Below it?"));
  await page.keyboard.press("n");
  await inHistory(page, "Below it?").getByText("No", { exact: true }).waitFor();
  // A click beside the questions takes the focus away; the arrows bring it back.
  await page.mouse.click(700, 890);
  await page.keyboard.press("y");
  await page.keyboard.press("ArrowDown");
  await untilFocused(page, /^article: .*Above it\?/);
});

webTest("on arrival the first question takes the focus from nothing that is in use", async () => {
  const { person, agent } = await createPair(app.url);
  const page = await openPage(app.url, { as: person });
  await page.getByRole("link", { name: "Account" }).focus();
  await ask(agent.send, { prompt: "Now?" });
  await card(page, "Now?").waitFor();
  expect(await focused(page)).toBe("a: Account");
  // Without a keyboard, the focus stays with the heading.
  const phone = await openPage(app.url, { as: person, size: PHONE, touch: true, at: "#/tasks" });
  await phone.getByRole("link", { name: "Questions" }).tap();
  await card(phone, "Now?").waitFor();
  await untilFocused(phone, /^h1: Questions/);
  // A tablet may have a keyboard all the same: its first key moves the focus to the question.
  await phone.keyboard.press("y");
  await phone.getByText("Press again to answer").waitFor();
  await untilFocused(phone, /^article: .*Now\?/);
  await untilSteady(card(phone, "Now?"));
  await phone.keyboard.press("y");
  await inHistory(phone, "Now?").getByText("Yes", { exact: true }).waitFor();
});

webTest("a new task has an agent preselected only if there is just one", async () => {
  const { person } = await createPair(app.url);
  const before = await openPage(app.url, { as: person, at: "#/tasks/new" });
  const chosen = (page: Page) =>
    page.getByLabel("Agent", { exact: true }).last().locator("option:checked");
  expect(await chosen(before).textContent()).toBe("agent");
  await untilFocused(before, /^input: /);
  const second = await createAgent(app.url, person, "Second");
  await before.getByText("Choose an agent").waitFor({ state: "attached" });
  expect(await chosen(before).textContent()).toBe("Choose an agent");

  const page = await openPage(app.url, { as: person, at: "#/tasks/new" });
  const sheet = page.getByRole("dialog");
  expect(await chosen(page).textContent()).toBe("Choose an agent");
  await untilFocused(page, /^select: /);
  await sheet.getByLabel("Title").fill("Whose?");
  await page.keyboard.press("Enter");
  // The browser says what is missing, and nothing was sent.
  await untilFocused(page, /^select: /);
  await sheet.getByLabel("Agent", { exact: true }).selectOption({ label: "Second" });
  await sheet.getByRole("button", { name: "Create task" }).click();
  await sheet.getByRole("link", { name: "Second" }).waitFor();
  expect((await second.send("GET /v1/tasks")).body.tasks).toHaveLength(1);
  // The agent of the list's filter is chosen, even when the filter is set while the form is open.
  await page.goto(`${app.url}/#/tasks/new`);
  await page.getByText("Choose an agent").waitFor({ state: "attached" });
  await page.goto(`${app.url}/#/tasks/new?agent=${second.key.id}`);
  await page.getByText("Choose an agent").waitFor({ state: "detached" });
  expect(await chosen(page).textContent()).toBe("Second");
});

webTest("a new agent's name can be typed at once where agents need a key", async () => {
  // Chromium says that it ignores this header at an address that it does not trust.
  expectComplaints(/Cross-Origin-Opener-Policy header has been ignored/);
  const person = await createPerson(app.url);
  const lan = `http://${LAN_NAME}:${new URL(app.url).port}`;
  const page = await openPage(lan, { as: person, at: "#/agents" });
  await page.getByRole("link", { name: "New agent" }).click();
  await untilFocused(page, /^input: /);
  await page.keyboard.type("Laptop");
  expect(await page.getByLabel("Name").inputValue()).toBe("Laptop");
});
