/** Every question opens from the lists that it is in, says where its answer came from, and leads back (§2.5, §5.7). */

import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { startTestApp } from "../support/app.ts";
import { ask, createAgent, createPair, pair } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { connectTo, createTestStore } from "../support/store.ts";
import { until } from "../support/until.ts";
import {
  browserTests,
  DESK,
  expectComplaints,
  go,
  inHistory,
  openPage,
  PHONE,
  press,
  untilLive,
} from "./browser.ts";
import { expectNoOverflow, untilSettled, violations } from "./page-checks.ts";

const webTest = browserTests();
const { url: database_url } = await createTestStore();
const clock = createTestClock();
const app = await startTestApp({ clock, database_url });

/** Folder for screenshots to look at; none when unset. */
const PICTURES = process.env.RELAY_TEST_PICTURES;

const rows = (page: Page) => page.getByRole("list", { name: "History" }).getByRole("listitem");
const hashOf = (page: Page) => new URL(page.url()).hash;
const focused = (page: Page) => page.evaluate(() => document.activeElement?.textContent ?? "");
const scrolled = (page: Page) => page.evaluate(() => window.scrollY);

/** A person with an agent that has asked a rich question, and 150 newer ones of another agent that were cancelled. */
async function createHistory() {
  const { person, agent } = await createPair(app.url);
  const other = await createAgent(app.url, person, "Ledger bot");
  const phone = await pair(app.url, person, "Safari on iPhone");
  const rich = await ask(agent.send, {
    prompt: "Publish **version 2**?",
    kind: "choice",
    options: ["Now", "Tomorrow"],
    context: "The checks passed.",
  });
  const input = { question_id: rich.id, answer: "Tomorrow", note: "After the rehearsal at nine" };
  expect((await phone.send("POST /trpc/questions.answer", input)).status).toBe(200);
  const filler = await ask(other.send, { prompt: "No. 0" });
  await other.send(`DELETE /v1/questions/${filler.id}`);
  const store = connectTo(database_url);
  const { columns } = await store.execute("select * from questions limit 0");
  const others = columns.filter((name) => !["id", "prompt", "created_at"].includes(name));
  await store.execute({
    sql: `insert into questions (id, prompt, created_at, ${others})
      with recursive n(i) as (select 1 union all select i + 1 from n where i < 150)
      select substr(id, 1, 24) || printf('%012x', i), 'No. ' || i, created_at + i, ${others}
      from questions, n where id = ?`,
    args: [filler.id],
  });
  store.close();
  return { person, agent, other, rich, filler };
}

webTest(
  "a row of the history opens its question by key, and Escape returns to the place in the list",
  async () => {
    expectComplaints(/404/);
    const { person, agent, other, rich } = await createHistory();
    const page = await openPage(app.url, { as: person });
    await rows(page).first().waitFor();
    const more = page.getByRole("button", { name: "Show more" });
    await press(more);
    await until(async () => (await rows(page).count()) === 40);
    const row = inHistory(page, "No. 125").getByRole("link");
    await row.scrollIntoViewIfNeeded();
    await row.focus();
    const before = await scrolled(page);
    expect(before).toBeGreaterThan(500);
    await page.keyboard.press("Enter");
    await page.getByRole("article", { name: "No. 125" }).waitFor();
    expect(await scrolled(page)).toBe(0);
    expect(await page.getByRole("heading", { level: 1 }).allTextContents()).toEqual(["Question"]);
    await page.keyboard.press("Escape");
    await until(async () => /No\. 125/.test(await focused(page)));
    expect(await scrolled(page)).toBe(before);
    expect(await rows(page).count()).toBe(40);
    // Escape went back: the way forward is open.
    await page.goForward();
    await page.getByRole("article", { name: "No. 125" }).waitFor();
    await page.goBack();
    await until(async () => /No\. 125/.test(await focused(page)));
    expect(await scrolled(page)).toBe(before);
    // The link above the question does the same, and a link to the list leads to its top.
    await page.keyboard.press("Enter");
    await page.getByRole("main").getByRole("link", { name: "Questions" }).click();
    await until(async () => (await scrolled(page)) === before);
    await page.keyboard.press("Enter");
    await page.getByRole("article", { name: "No. 125" }).waitFor();
    await page.getByRole("navigation").getByRole("link", { name: "Questions" }).click();
    await rows(page).first().waitFor();
    await until(async () => (await scrolled(page)) === 0);

    // So does a link of no good form.
    await go(page, 'questions/x"]');
    await page.getByText("Question not found").waitFor();
    await page.goBack();
    await rows(page).first().waitFor();

    // Filters find what is beyond the newest hundred, and are part of the address.
    await page.getByLabel("Agent", { exact: true }).selectOption({ label: "agent" });
    await until(async () => (await rows(page).count()) === 1);
    await rows(page).getByText("Publish version 2?").waitFor();
    await rows(page).getByText("After the rehearsal").waitFor();
    expect(hashOf(page)).toBe(`#/questions?agent=${agent.key.id}`);
    await page.getByLabel("How it ended").selectOption({ label: "Expired" });
    await page.getByText("No matching questions").waitFor();
    await page.reload();
    await page.getByText("No matching questions").waitFor();
    await page.getByLabel("How it ended").selectOption({ label: "Answered" });
    await rows(page).getByRole("link").click();
    await page.getByText("You answered it in").waitFor();
    expect(await page.getByRole("article").textContent()).toMatch(
      /Publish version 2\?.*The checks passed\..*AnsweredTomorrowAfter the rehearsal at nine.*Other options: Now.*You answered it in \S?Safari on iPhone\S?, just now/s,
    );
    // A link to it works after a reload, and leads to all questions.
    await page.reload();
    await page.getByText("You answered it in").waitFor();
    expect(hashOf(page)).toBe(`#/questions/${rich.id}`);
    await untilSettled(page);
    expect(await violations(page)).toEqual([]);
    if (PICTURES) await page.screenshot({ path: `${PICTURES}/opened.png`, fullPage: true });
    await page.keyboard.press("Escape");
    await rows(page).first().waitFor();

    // All questions are within reach.
    await page.goto(`${app.url}/#/questions?agent=${other.key.id}&ended=cancelled`);
    await untilLive(page);
    for (const count of [10, 40, 70, 100, 130, 151]) {
      await until(async () => (await rows(page).count()) === count);
      if (count < 151) await press(more);
    }
    await more.waitFor({ state: "detached" });
    await rows(page).last().getByText("No. 0", { exact: true }).waitFor();
  },
);

webTest("on a phone, going back returns to the place in the list", async () => {
  expectComplaints(/404/);
  const { person, rich } = await createHistory();
  const page = await openPage(app.url, { as: person, size: PHONE, touch: true });
  await rows(page).first().waitFor();
  await untilSettled(page);
  expect(await violations(page)).toEqual([]);
  await expectNoOverflow(page);
  if (PICTURES) await page.screenshot({ path: `${PICTURES}/history.png` });
  const row = inHistory(page, "No. 142").getByRole("link");
  await row.scrollIntoViewIfNeeded();
  const before = await scrolled(page);
  expect(before).toBeGreaterThan(100);
  await row.tap();
  await page.getByRole("article", { name: "No. 142" }).waitFor();
  expect(await scrolled(page)).toBe(0);
  await page.goBack();
  await until(async () => (await scrolled(page)) === before);
  await until(async () => /No\. 142/.test(await focused(page)));
  // A question that Relay no longer has says so, and leads to the others.
  const store = connectTo(database_url);
  await store.execute({ sql: "delete from questions where id = ?", args: [rich.id] });
  store.close();
  await page.goto(`${app.url}/#/questions/${rich.id}`);
  await page.getByText("Question not found").waitFor();
  await page.getByText("Relay keeps the newest 1,000 ended questions").waitFor();
  await untilSettled(page);
  await expectNoOverflow(page);
  await page.getByRole("main").getByRole("link", { name: "Questions" }).tap();
  await rows(page).first().waitFor();
});

webTest("an expired question takes an answer in the person's own words, as a message", async () => {
  const { person, agent } = await createPair(app.url);
  const named = await ask(agent.send, { prompt: "Which name?", kind: "text", expires_in: 60 });
  await ask(agent.send, { prompt: "Retry?", allow_other: true, expires_in: 60 });
  await clock.skip(60);
  await agent.send("GET /v1/questions");
  const page = await openPage(app.url, { as: person, size: PHONE });
  await inHistory(page, "Which name?").getByRole("link").click();
  const words = page.getByRole("textbox", { name: "Your answer, as a message" });
  const send = page.getByRole("button", { name: "Send as a message" });
  expect(await send.getAttribute("aria-disabled")).toBe("true");
  await words.fill("Atlas");
  // The text survives a reload.
  await page.reload();
  expect(await words.inputValue()).toBe("Atlas");
  await untilSettled(page);
  expect(await violations(page, "main")).toEqual([]);
  await expectNoOverflow(page);
  if (PICTURES) await page.screenshot({ path: `${PICTURES}/late.png` });
  await press(send);
  await page.getByText("You sent “Atlas” as a message.").waitFor();
  await page.goBack();
  await inHistory(page, "Retry?").getByRole("link").click();
  await page.getByRole("button", { name: "No", exact: true }).waitFor();
  await words.fill("Only the last step");
  await press(send);
  await page.getByText("You sent “Only the last step” as a message.").waitFor();
  // Looking at it now does not count as having seen it in time.
  const { deliveries } = (await person.send(`GET /v1/questions/${named.id}/deliveries`)).body;
  expect(deliveries).toEqual([]);
  const { items } = (await agent.send("GET /v1/inbox?peek=true")).body;
  expect(items.map(({ text }: any) => text)).toEqual([
    "My answer to “Which name?”, which had expired: Atlas",
    "My answer to “Retry?”, which had expired: Only the last step",
  ]);
});

webTest(
  "an answer in an agent's inbox, and a question in its timeline, lead to the question",
  async () => {
    const { person, agent, rich } = await createHistory();
    const inbox = `#/agents/${agent.key.id}/inbox`;
    const page = await openPage(app.url, { as: person, size: PHONE, at: inbox });
    await page
      .getByRole("list", { name: "Inbox" })
      .getByRole("link", { name: /Publish/ })
      .click();
    await page.getByText("You answered it in").waitFor();
    expect(hashOf(page)).toBe(`#/questions/${rich.id}`);
    await page.getByRole("main").getByRole("link", { name: "agent" }).first().click();
    await until(async () => /Publish/.test(await focused(page)));
    expect(hashOf(page)).toBe(inbox);
    await untilSettled(page);
    expect(await violations(page)).toEqual([]);
    await expectNoOverflow(page);
    if (PICTURES) await page.screenshot({ path: `${PICTURES}/inbox.png` });
    await page.goto(`${app.url}/#/agents/${agent.key.id}`);
    await press(page.getByRole("button", { name: "Show older questions" }));
    await page
      .getByRole("list", { name: "Timeline" })
      .getByRole("link", { name: /Publish/ })
      .click();
    await page.getByText("You answered it in").waitFor();
    await page.keyboard.press("Escape");
    await until(async () => /Publish/.test(await focused(page)));
  },
);

webTest(
  "the search finds notes and old questions, shows what matched, and leads back",
  async () => {
    const { person, rich } = await createHistory();
    const page = await openPage(app.url, { as: person, size: DESK, at: "#/search" });
    const results = page.getByRole("list", { name: "Results" }).getByRole("listitem");
    const field = page.getByRole("searchbox");
    // It is beyond the newest hundred questions, so the server finds it.
    await field.fill("rehearsal nine tomorrow");
    await results.getByText("Answered").waitFor();
    expect(await results.locator("mark").allTextContents()).toEqual([
      "Tomorrow",
      "rehearsal",
      "nine",
    ]);
    await results.getByText("Publish version 2?").waitFor();
    await page.getByRole("status").getByText("1 result", { exact: true }).waitFor();
    await untilSettled(page);
    expect(await violations(page)).toEqual([]);
    if (PICTURES) await page.screenshot({ path: `${PICTURES}/found.png` });
    await field.press("Enter");
    await page.getByText("You answered it in").waitFor();
    expect(hashOf(page)).toBe(`#/questions/${rich.id}`);
    // The key of the search opens it, although it is kept behind the question.
    await page.keyboard.press("Escape");
    await until(async () => /Publish/.test(await focused(page)));
    expect(await field.inputValue()).toBe("rehearsal nine tomorrow");
    expect(hashOf(page)).toBe("#/search?q=rehearsal+nine+tomorrow");
    await page.keyboard.press("Enter");
    await page.getByText("You answered it in").waitFor();
    await page.keyboard.press("/");
    await until(() => field.evaluate((one) => one === document.activeElement));
    // Words far apart in one text are both shown.
    await field.fill("no. 149");
    await results.getByText("No. 149").waitFor();
    await field.fill("nowhere at all");
    await page.getByText("Nothing found").waitFor();
  },
);
