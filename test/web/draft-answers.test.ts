/** Drafts of agents in the page: approved as they are, edited, restored, kept offline (§2.5.8). */

import { expect } from "bun:test";
import type { Locator, Page } from "playwright-core";
import { startTestApp } from "../support/app.ts";
import { ask, createPair } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { until } from "../support/until.ts";
import {
  browserTests,
  card,
  draftsIn,
  expectComplaints,
  go,
  inHistory,
  openPage,
  PHONE,
  press,
  untilLive,
} from "./browser.ts";
import { violations } from "./page-checks.ts";

const webTest = browserTests();
const clock = createTestClock();
const app = await startTestApp({ clock });

const DRAFT = "Hello Ada,\r\n\r\nthe build is green.\r\n\r\nTom\n";
const SHOWN = DRAFT.replaceAll("\r\n", "\n");
const asking = (prompt: string, more: object = {}) => ({
  prompt,
  kind: "text",
  draft: DRAFT,
  ...more,
});

const button = (of: Locator, name: string) => of.getByRole("button", { name, exact: true });
const overflow = (page: Page) =>
  page.evaluate(() => document.documentElement.scrollWidth - innerWidth);

webTest(
  "a draft is in the field: approved as it is, sent once edited, and restored [§2.5.8]",
  async () => {
    const { person, agent } = await createPair(app.url);
    const page = await openPage(app.url, { as: person });
    const approved = agent.send("POST /v1/questions?wait=50", asking("First?"));
    const first = card(page, "First?");
    const field = first.getByRole("textbox", { name: "Draft from agent", exact: true });
    expect(await field.inputValue()).toBe(SHOWN);
    expect(await button(first, "Restore the draft").count()).toBe(0);
    expect(await violations(page, "main")).toEqual([]);
    // Enter makes a line, and the draft written again is the draft again.
    await field.focus();
    await page.keyboard.press("Control+Home");
    await page.keyboard.press("Enter");
    await page.keyboard.type("Dear ");
    await button(first, "Send").waitFor();
    expect(await draftsIn(page)).toHaveLength(1);
    for (let i = 0; i < "\nDear ".length; i++) await page.keyboard.press("Backspace");
    await button(first, "Approve").waitFor();
    expect(await draftsIn(page)).toEqual([]);
    // White space at the end does not count, and can be typed.
    await page.keyboard.press("Control+End");
    await page.keyboard.type(" ");
    expect(await field.inputValue()).toBe(`${SHOWN} `);
    await button(first, "Approve").waitFor();
    await page.keyboard.press("Control+Enter");
    // The agent gets its own draft back, with its line breaks.
    expect((await approved).body).toMatchObject({ answer: DRAFT, edited: false });
    await inHistory(page, "First?").getByText("Approved").waitFor();
    // The history has the beginning of a long answer.
    const kept = await inHistory(page, "First?").getByText("Hello Ada,").boundingBox();
    expect(kept!.height).toBeLessThanOrEqual(2 * 24);

    const edited = agent.send("POST /v1/questions?wait=50", asking("Second?"));
    const second = card(page, "Second?");
    const text = second.getByRole("textbox");
    await text.fill("Hello Ada, it is green");
    await second.getByText("Edited draft from").waitFor();
    // What the person wrote outlives a reload.
    await page.reload();
    await untilLive(page);
    expect(await text.inputValue()).toBe("Hello Ada, it is green");
    await press(button(second, "Restore the draft"));
    expect(await text.inputValue()).toBe(SHOWN);
    await button(second, "Approve").waitFor();
    await press(button(second, "Undo"));
    expect(await text.inputValue()).toBe("Hello Ada, it is green");
    await text.fill(" ");
    expect(await button(second, "Send").getAttribute("aria-disabled")).toBe("true");
    await text.fill("Hello Ada, all is well");
    await page.keyboard.press("Meta+Enter");
    const { body } = await edited;
    expect(body).toMatchObject({ answer: "Hello Ada, all is well", edited: true });
    await inHistory(page, "Second?").getByText("Edited", { exact: true }).waitFor();
    // A row of the history shows lines as one, so that it holds more than a greeting.
    const row = inHistory(page, "First?").locator("bdi").last();
    expect(await row.evaluate((one) => getComputedStyle(one).whiteSpace)).toBe("normal");
    expect(await draftsIn(page)).toEqual([]);

    // The original is one click away.
    await go(page, `questions/${body.id}`);
    const ended = page.locator("article");
    await ended.getByText("Edited", { exact: true }).waitFor();
    expect(await ended.getByText("the build is green").count()).toBe(0);
    await button(ended, "Show the draft").click();
    const frame = ended.getByRole("figure", { name: "Draft from the agent" });
    await frame.getByText("the build is green").waitFor();
    expect(await violations(page, "main")).toEqual([]);
    await button(ended, "Hide the draft").click();
    await until(async () => (await frame.count()) === 0);
  },
);

webTest(
  "keys that move between cards leave drafts alone, and an expired one is still shown [§2.5.8]",
  async () => {
    const { person, agent } = await createPair(app.url);
    const { id } = await ask(agent.send, asking("Older?", { expires_in: 100 }));
    await ask(agent.send, asking("Newer?", { expires_in: 100 }));
    const page = await openPage(app.url, { as: person });
    await card(page, "Older?").waitFor();
    for (const key of ["j", "j", "k", "j", "y"]) await page.keyboard.press(key);
    for (const field of await page.getByRole("textbox").all()) {
      if ((await field.getAttribute("id"))?.endsWith("-draft")) {
        expect(await field.inputValue()).toBe(SHOWN);
      }
    }
    expect((await agent.send("GET /v1/questions")).body.questions).toHaveLength(2);
    await card(page, "Newer?").getByRole("textbox").fill("Half a mail");
    await clock.skip(100);
    await agent.send("GET /v1/questions");
    // The text of the person can go as a message; the draft that nobody touched is not theirs.
    const late = page.getByRole("button", { name: "Send as a message" });
    await until(async () => (await late.count()) === 1);
    await press(late);
    await page.getByText("Message sent").first().waitFor();
    const { items } = (await agent.send("GET /v1/inbox?peek=true")).body;
    expect(items.map((item: any) => item.text)).toEqual([
      "My answer to “Newer?”, which had expired: Half a mail",
    ]);
    await go(page, `questions/${id}`);
    const frame = page.getByRole("figure", { name: "Draft from the agent" });
    await frame.getByText("the build is green").waitFor();
  },
);

webTest(
  "on a phone a long draft scrolls in its field, from right to left too, and waits while offline [§2.5.8]",
  async () => {
    expectComplaints(/Failed to load resource|ERR_/);
    const { person, agent } = await createPair(app.url);
    const long = "سطر طويل من الكلام عن البناء الأخضر\n".repeat(100).slice(0, 3_900).trim();
    const { id } = await ask(agent.send, asking("Long?", { draft: long }));
    const page = await openPage(app.url, { as: person, size: PHONE, touch: true });
    const field = card(page, "Long?").getByRole("textbox");
    expect(await field.inputValue()).toBe(long);
    const shape = await field.evaluate((one) => ({
      height: one.clientHeight,
      scrolls: one.scrollHeight > one.clientHeight,
      direction: getComputedStyle(one).direction,
    }));
    expect(shape).toMatchObject({ scrolls: true, direction: "rtl" });
    expect(shape.height).toBeGreaterThan(300);
    expect(shape.height).toBeLessThanOrEqual(PHONE.height * 0.6);
    expect(await overflow(page)).toBeLessThanOrEqual(0);
    const approve = button(card(page, "Long?"), "Approve");
    // The end is out of view until it has been scrolled to.
    const unread = page.getByText("Scroll in the field to read the end.");
    await unread.waitFor();
    expect((await approve.boundingBox())!.height).toBeGreaterThanOrEqual(44);
    expect(await violations(page, "main")).toEqual([]);
    await field.evaluate((one) => one.scrollTo(0, one.scrollHeight));
    await until(async () => (await unread.count()) === 0);
    const hidden = page.getByText(
      "The text has characters that can't be seen or change its order.",
    );
    expect(await hidden.count()).toBe(0);
    await field.fill(`${long}\u202e`);
    await hidden.waitFor();
    await field.fill(`${long}.`);
    await button(card(page, "Long?"), "Restore the draft").tap();
    expect(await field.inputValue()).toBe(long);

    await page.context().setOffline(true);
    await page.getByText("Offline.").waitFor();
    await press(approve);
    await page.getByText("Waiting to be sent").waitFor();
    // Taken back, the approved draft is the agent's again, not a text of the person.
    await press(button(card(page, "Long?"), "Change answer"));
    await approve.waitFor();
    expect(await draftsIn(page)).toEqual([]);
    await press(approve);
    await page.getByText("Waiting to be sent").waitFor();
    await page.context().setOffline(false);
    await inHistory(page, "Long?").getByText("Approved").waitFor();
    const { body } = await agent.send(`GET /v1/questions/${id}`);
    expect(body).toMatchObject({ answer: long, edited: false });
  },
);
