/** Agents' Markdown at the limits of what the page formats, and where texts are cut. */

import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { startTestApp } from "../../support/app.ts";
import { ask, createPair, createTask } from "../../support/client.ts";
import { until } from "../../support/until.ts";
import { browserTests, expectComplaints, go, openPage, press } from "../../web/browser.ts";
import { untilSettled } from "../../web/page-checks.ts";

const webTest = browserTests();
const app = await startTestApp();

/** Folder for screenshots to look at; none when unset. */
const PICTURES = process.env.RELAY_TEST_PICTURES;

webTest(
  "Markdown that cannot be formatted completely is shown as written, and the rest is formatted",
  async () => {
    const { person, agent } = await createPair(app.url);
    const table = "| a |\n| - |\n| shown | **and this** |";
    const deep = `${">".repeat(40)} deep inside`;
    const link = '[the plan](https://docs.example.com/plan "Version 2")';
    const prompt = ["See", link, "", "**One**", "", table, "", "## Two", deep, "", "- *three*"];
    await ask(agent.send, { prompt: prompt.join("\n") });
    const page = await openPage(app.url, { as: person });
    const card = page.getByRole("article");
    await card.locator("strong").getByText("One").waitFor();
    const plain = await card.locator("p.said").allTextContents();
    expect(plain).toContain(table);
    expect(plain).toContain(deep);
    expect(plain).toContain("Two");
    expect(await card.locator("li em").allTextContents()).toEqual(["three"]);
    expect(await card.locator("table, blockquote").count()).toBe(0);
    expect(plain[0]).toBe("See\nthe plan (docs.example.com) “Version 2”");
  },
);

webTest("a text that fits is not cut for the control that shows it as it was written", async () => {
  const { person, agent } = await createPair(app.url);
  const prompt = Array.from({ length: 12 }, (_, n) => `Line **${n}**`).join("\n");
  const context = Array.from({ length: 16 }, (_, n) => `Row **${n}**`).join("\n");
  await ask(agent.send, { prompt, context });
  await ask(agent.send, { prompt: "Another?" });
  const page = await openPage(app.url, { as: person });
  const card = page.getByRole("article").filter({ hasText: "Line 0" });
  await card.locator("strong").getByText("15").waitFor();
  await untilSettled(page);
  expect(await card.getByRole("button", { name: "Show as written" }).count()).toBe(2);
  expect(await card.getByRole("button", { name: "Show all" }).count()).toBe(0);
  // It can be used while the text is cut, and leaves it so.
  const long = Array.from({ length: 40 }, (_, n) => `Line **${n}**`).join("\n");
  await ask(agent.send, { prompt: `Long\n${long}` });
  const cut = page.getByRole("article").filter({ hasText: "Long" });
  await cut.locator("strong").getByText("39").waitFor({ state: "attached" });
  await press(cut.getByRole("button", { name: "Show as written" }));
  await cut.getByText("Line **39**").waitFor({ state: "attached" });
  expect(await cut.getByRole("button", { name: "Show all" }).count()).toBe(1);
});

webTest("lists show texts in one line, without Markdown marks", async () => {
  const { person, agent } = await createPair(app.url);
  const note = "Waits for *you*: see [the plan](https://docs.example.com/plan)";
  const description = `Not this. ${"x ".repeat(40)}Then **rounding** \`half_even\`, with 2 * 3.`;
  const task = await createTask(agent.send, { title: "Add *.ts files", description });
  await agent.send(`PATCH /v1/tasks/${task.id}`, { status_note: note });
  const { id } = await ask(agent.send, { prompt: "# Deploy\n**Now**?" });
  await person.send(`POST /v1/questions/${id}/answer`, { answer: "Yes" });
  const page = await openPage(app.url, { as: person, at: "#/tasks" });
  const row = page.getByRole("link").filter({ hasText: "Add *.ts files" });
  await row.getByText("Waits for you: see the plan", { exact: true }).waitFor();
  await go(page, `agents/${agent.key.id}`);
  const asked = page.getByRole("link").filter({ hasText: "Asked, you answered Yes" });
  await asked.getByText("Deploy Now?", { exact: true }).waitFor();
  await go(page, `agents/${agent.key.id}/inbox`);
  await page.getByRole("list", { name: "Inbox" }).getByText("Deploy Now?").waitFor();
  await go(page, "search");
  const results = page.getByRole("list", { name: "Results" });
  await page.getByRole("searchbox").fill("rounding");
  await results.getByText("Then rounding half_even, with 2 * 3.").waitFor();
  expect(await results.locator("mark").allTextContents()).toEqual(["rounding"]);
  // A word that occurs only in a link's address is still shown.
  await page.getByRole("searchbox").fill("docs.example.com");
  await results.locator("mark").getByText("docs.example.com").waitFor();
});

webTest("a text is shown plain until the formatter is loaded", async () => {
  expectComplaints(/ERR_FAILED|Failed to/);
  const { person, agent } = await createPair(app.url);
  await ask(agent.send, { prompt: "Is it **ready**?" });
  const page = await openPage(app.url, { as: person });
  await page.route("**/assets/markdown-*.js", (route) => route.abort());
  await page.reload();
  await page.getByText("Is it **ready**?").waitFor();
  await page.unroute("**/assets/markdown-*.js");
  // The next text tries again.
  await ask(agent.send, { prompt: "Is *this*?" });
  await page.locator("strong").getByText("ready").waitFor();
});

/** Whether the end of the prompt is visible. */
const isEndShown = (page: Page) =>
  page.getByText("The end.").evaluate((one) => {
    const range = document.createRange();
    range.selectNodeContents(one);
    const { bottom } = range.getBoundingClientRect();
    const cut = one.closest("[style*=max-height]");
    return !cut || bottom <= cut.getBoundingClientRect().bottom + 1;
  });

webTest("a long prompt is cut while others wait, says so, and opens by key or button", async () => {
  const { person, agent } = await createPair(app.url);
  const prompt = `Begin.\n${"a line\n".repeat(40)}The end.`;
  const long = await ask(agent.send, { prompt, expires_in: 600 });
  const page = await openPage(app.url, { as: person });
  // Alone it is whole, and stays whole when another arrives.
  await page.getByText("The end.").waitFor();
  expect(await isEndShown(page)).toBe(true);
  await until(async () => {
    const { body } = await agent.send(`GET /v1/questions/${long.id}/deliveries`);
    return body.reach.state === "shown";
  });
  const other = await ask(agent.send, { prompt: "Short?", expires_in: 3_000 });
  await page.getByText("Short?").waitFor();
  expect(await isEndShown(page)).toBe(true);

  await page.reload();
  const card = page.getByRole("article").first();
  await card.getByText("The end isn't shown.").waitFor();
  expect(await isEndShown(page)).toBe(false);
  expect(await page.getByText("isn't shown").count()).toBe(1);
  if (PICTURES) await page.screenshot({ path: `${PICTURES}/cut.png` });
  await card.focus();
  await page.keyboard.press("e");
  await until(() => isEndShown(page));
  await page.keyboard.press("e");
  await until(async () => !(await isEndShown(page)));
  await card.getByRole("button", { name: "Show all" }).click();
  await until(() => isEndShown(page));
  await card.getByRole("button", { name: "Show less" }).click();
  await until(async () => !(await isEndShown(page)));
  // The last one left is whole.
  await press(page.getByRole("article").last().getByRole("button", { name: "No", exact: true }));
  await until(async () => (await agent.send(`GET /v1/questions/${other.id}`)).body.answer === "No");
  await until(() => isEndShown(page));
});
