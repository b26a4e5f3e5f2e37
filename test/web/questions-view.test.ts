/** Questions on touch screens, long prompts, and many questions. */

import { expect } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { ask, createAgent, createPair, createPerson } from "../support/client.ts";
import { until } from "../support/until.ts";
import {
  browserTests,
  go,
  inHistory,
  openPage,
  openProfile,
  PHONE,
  press,
  untilLive,
} from "./browser.ts";

const webTest = browserTests();
const app = await startTestApp();

webTest("on touch screens Enter starts a new line of an answer", async () => {
  const { person, agent } = await createPair(app.url);
  const { id } = await ask(agent.send, { prompt: "What then?", kind: "text" });
  const page = await openPage(app.url, { as: person, size: PHONE, touch: true });
  const answer = page.getByRole("textbox", { name: "Your answer" });
  await answer.fill("One");
  await answer.press("Enter");
  await answer.pressSequentially("Two");
  expect(await answer.inputValue()).toBe("One\nTwo");
  expect((await agent.send(`GET /v1/questions/${id}`)).body.status).toBe("pending");
  await press(page.getByRole("button", { name: "Send" }));
  await until(async () => {
    const { body } = await agent.send(`GET /v1/questions/${id}`);
    return body.answer === "One\nTwo";
  });
});

webTest("a long prompt in the history is cut, and its question shows all of it", async () => {
  const { person, agent } = await createPair(app.url);
  const { id } = await ask(agent.send, { prompt: `Begin. ${"word ".repeat(300)}The end.` });
  await agent.send(`DELETE /v1/questions/${id}`);
  const page = await openPage(app.url, { as: person, size: PHONE });
  const row = inHistory(page, "Begin.");
  await row.waitFor();
  expect(await row.evaluate((one) => one.clientHeight)).toBeLessThan(200);
  await row.getByRole("link").click();
  const prompt = page.getByRole("article").getByText("The end.");
  expect(await prompt.evaluate((one) => one.clientHeight)).toBeGreaterThan(400);
});

webTest("screen readers hear of a new question, and of several as a number", async () => {
  const { person, agent } = await createPair(app.url);
  await ask(agent.send, { prompt: "An old one?" });
  const page = await (await openProfile(app.url, { as: person })).newPage();
  await page.clock.install();
  await page.goto(app.url);
  await untilLive(page);
  // Time advances only with these frames, however slow the machine is.
  await page.clock.pauseAt(Date.now() + 10_000);
  const asked = async (...prompts: string[]) => {
    for (const prompt of prompts) await ask(agent.send, { prompt });
    await until(async () => {
      await page.clock.runFor(16);
      return page.getByRole("article", { name: prompts.at(-1)!, exact: true }).isVisible();
    });
    await page.clock.runFor(1_000);
    return page.locator("[role=status].sr-only").textContent();
  };
  expect(await page.locator("[role=status].sr-only").textContent()).toBe("");
  const one = "New question from \u2068agent\u2069";
  expect(await asked("One?")).toBe(one);
  // The same text becomes a new element, so that it is announced again.
  await page.getByText(one).evaluate((before) => before.classList.add("before"));
  expect(await asked("Two?")).toBe(one);
  expect(await page.locator(".before").count()).toBe(0);
  expect(await asked("Three?", "Four?", "Five?")).toBe("3 new questions");
  await page.clock.runFor(6_000);
  expect(await page.locator("[role=status].sr-only").textContent()).toBe("");
});

webTest("the title names the view and counts the pending questions", async () => {
  const person = await createPerson(app.url);
  const agent = await createAgent(app.url, person);
  const page = await openPage(app.url, { as: person });
  expect(await page.title()).toBe("Questions · Relay");
  const first = await ask(agent.send, { prompt: "One?" });
  await ask(agent.send, { prompt: "Two?" });
  await page.waitForFunction(() => document.title === "(2) Questions · Relay");
  await page.getByRole("link", { name: "Questions 2 pending" }).waitFor();
  // In other views a toast says who asks.
  await go(page, "account");
  await page.waitForFunction(() => document.title === "(2) Account · Relay");
  await ask(agent.send, { prompt: "Three?" });
  await page
    .getByRole("status")
    .getByText(/agent\S? has a question/)
    .waitFor();
  await person.send(`POST /v1/questions/${first.id}/answer`, { answer: "No" });
  await page.waitForFunction(() => document.title === "(2) Account · Relay");
});
