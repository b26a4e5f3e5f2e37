/** Search over tasks and questions, and the timeline of an agent. */

import { expect } from "bun:test";
import type { Locator, Page } from "playwright-core";
import { startTestApp } from "../support/app.ts";
import { ask, createAgent, createPair, createTask } from "../support/client.ts";
import { until } from "../support/until.ts";
import { browserTests, go, openPage, PHONE, press } from "./browser.ts";
import { expectNoOverflow, untilSettled, violations } from "./page-checks.ts";

const webTest = browserTests();
const app = await startTestApp();

/** Folder for screenshots to look at; none when unset. */
const PICTURES = process.env.RELAY_TEST_PICTURES;

const results = (page: Page) => page.getByRole("list", { name: "Results" }).getByRole("listitem");
const field = (page: Page) => page.getByRole("searchbox", { name: "Search tasks and questions" });

webTest("the search finds tasks and questions by every word as the person types", async () => {
  const { person, agent } = await createPair(app.url);
  const other = await createAgent(app.url, person, "Ledger bot");
  const invoices = await createTask(agent.send, {
    title: "Compare the invoices",
    description: `${"Much text. ".repeat(80)}The Rounding differs in October.`,
  });
  await createTask(agent.send, { title: "Rounding of totals", status: "done" });
  await createTask(other.send, { title: "Something else" });
  const asked = await ask(agent.send, { prompt: "Which rounding (a.b*)?", kind: "text" });
  await person.send(`POST /v1/questions/${asked.id}/answer`, { answer: "Half to even" });
  const page = await openPage(app.url, { as: person });
  // The key opens it, from any view.
  await page.keyboard.press("/");
  await until(() => field(page).evaluate((one) => one === document.activeElement));
  expect(await field(page).inputValue()).toBe("");
  const search = async (text: string, ...names: RegExp[]) => {
    await field(page).fill(text);
    await until(async () => {
      const found = await results(page).allTextContents();
      return found.length === names.length && names.every((name, at) => name.test(found[at]!));
    });
  };
  // Words in a name come first; any case and order matches.
  await search("ROUNDING", /rounding of|which/i, /rounding of|which/i, /Compare the invoices/);
  const excerpt = results(page).nth(2).locator("mark");
  expect(await excerpt.allTextContents()).toEqual(["Rounding"]);
  await search("october invoices", /Compare the invoices/);
  await search("half", /Which rounding/);
  await search("ledger", /Something else/);
  await search("(a.b*)", /Which rounding/);
  await search("rounding nowhere");
  await page.getByText("Nothing found").waitFor();
  await search("october", /Compare/);
  await page.getByRole("status").getByText("1 result").waitFor();
  // Changes made meanwhile are found too.
  await createTask(agent.send, { title: "Late in October" });
  await search("october", /Late in/, /Compare/);
  await field(page).press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await until(() => page.evaluate(() => /Compare/.test(document.activeElement?.textContent ?? "")));
  await until(async () => new URL(page.url()).hash === "#/search?q=october");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").getByRole("heading", { name: "Compare the invoices" }).waitFor();
  expect(new URL(page.url()).hash).toBe(`#/tasks/${invoices.id}`);
  await page.goBack();
  await until(async () => (await field(page).inputValue()) === "october");
  await until(async () => (await results(page).count()) === 2);
});

webTest("a link to another search is followed while the search is open", async () => {
  const { person, agent } = await createPair(app.url);
  for (const title of ["Feed the zebra", "Feed the giraffe"])
    await createTask(agent.send, { title });
  const page = await openPage(app.url, { as: person, at: "#/search?q=zebra" });
  await results(page).getByText("zebra").waitFor();
  await go(page, "search?q=giraffe");
  await results(page).getByText("giraffe").waitFor();
  expect(await field(page).inputValue()).toBe("giraffe");
  // The typed text goes to the address, and nothing typed meanwhile is lost.
  await field(page).pressSequentially(" feed the", { delay: 120 });
  await until(() => new URL(page.url()).hash === "#/search?q=giraffe+feed+the");
  expect(await field(page).inputValue()).toBe("giraffe feed the");
});

/** Goes to an end of the page until its outermost row is there: rows that are measured on the way move the page. */
const scrollTo = (key: "Home" | "End", row: Locator) =>
  until(async () => {
    await row.page().keyboard.press(key);
    return row.isVisible();
  });

webTest("the search includes older questions, and the timeline does on request", async () => {
  const { person, agent } = await createPair(app.url);
  const old = await ask(agent.send, { prompt: "The needle of İZMİR?" });
  await agent.send(`DELETE /v1/questions/${old.id}`);
  for (let i = 0; i < 100; i++) {
    const { id } = await ask(agent.send, { prompt: `No. ${i}` });
    await agent.send(`DELETE /v1/questions/${id}`);
  }
  const page = await openPage(app.url, { as: person, size: PHONE, at: "#/search?q=NEEDLE+İZMİR" });
  await results(page).getByText("Cancelled").waitFor();
  // Small letters are not enough: those of İ are two characters.
  expect(await results(page).locator("mark").allTextContents()).toEqual(["needle", "İZMİR"]);
  await untilSettled(page);
  expect(await violations(page)).toEqual([]);
  await expectNoOverflow(page);
  if (PICTURES) await page.screenshot({ path: `${PICTURES}/search.png` });

  await go(page, `agents/${agent.key.id}`);
  const timeline = page.getByRole("list", { name: "Timeline" });
  await timeline.getByText("No. 99").waitFor();
  const more = page.getByRole("button", { name: "Show older questions" });
  await press(more);
  await more.waitFor({ state: "detached" });
  await scrollTo("End", timeline.getByText("The needle of İZMİR?"));
});

webTest(
  "an agent's view is a timeline of its tasks and questions that renders only a few of them",
  async () => {
    const { person, agent } = await createPair(app.url);
    const stranger = await createAgent(app.url, person, "Another");
    await createTask(stranger.send, { title: "Not its own" });
    for (let i = 0; i < 60; i++) await createTask(agent.send, { title: `Old ${i}` });
    const task = await createTask(agent.send, { title: "The task", status: "in_progress" });
    const question = await ask(agent.send, { prompt: "The question?" });
    const page = await openPage(app.url, {
      as: person,
      size: PHONE,
      at: `#/agents/${agent.key.id}`,
    });
    const timeline = page.getByRole("list", { name: "Timeline" });
    const first = () => timeline.getByRole("listitem").allTextContents();
    await timeline.getByText("The question?").waitFor();
    await timeline.getByRole("heading", { name: "Today" }).waitFor();
    expect((await first()).length).toBeLessThan(40);
    const entries = async () =>
      (await first()).slice(1, 4).map((text) => text.replace(/, just now|, \d+ min\. ago/, " "));
    await until(async () => /Asked/.test((await entries())[0]!));
    expect((await entries()).slice(0, 2)).toEqual([
      "Asked PendingThe question?",
      "Task created In progressThe task",
    ]);
    await untilSettled(page);
    expect(await violations(page)).toEqual([]);
    await expectNoOverflow(page);
    if (PICTURES) await page.screenshot({ path: `${PICTURES}/timeline.png` });
    // The timeline follows what happens.
    await agent.send(`PATCH /v1/tasks/${task.id}`, { status: "done" });
    await timeline.getByText("Task finished").waitFor();
    await person.send(`POST /v1/questions/${question.id}/answer`, { answer: "Yes" });
    await timeline.getByText("Asked, you answered Yes").waitFor();
    await scrollTo("End", timeline.getByText("Old 0"));
    expect(await timeline.getByText("Not its own").count()).toBe(0);
    await page.setViewportSize({ width: 320, height: 640 });
    await expectNoOverflow(page);
    const link = timeline.getByRole("link", { name: /The question/ });
    await scrollTo("Home", link);
    await link.click();
    await page.getByText("You answered it").waitFor();
  },
);
