/** A page that the browser translates shows the same as any other, and keeps working. */

import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { startTestApp } from "../../support/app.ts";
import { callHook, commandOf } from "../../support/approve.ts";
import { ask, createTask } from "../../support/client.ts";
import { until } from "../../support/until.ts";
import {
  browserTests,
  expectComplaints,
  go,
  openProfile,
  press,
  untilLive,
} from "../../web/browser.ts";
import { createScene } from "../../web/scene.ts";

const webTest = browserTests();
const app = await startTestApp();

/**
 * Does to each text what Chrome's translator does, now and whenever texts appear: an element takes the place of
 * the text node. The translation is the same words, so that both pages can be compared.
 */
function translate(): void {
  const replace = (around: Node) => {
    const texts = document.createTreeWalker(around, NodeFilter.SHOW_TEXT);
    const found: Text[] = [];
    while (texts.nextNode()) found.push(texts.currentNode as Text);
    for (const text of found) {
      if (text.parentElement?.closest("font, script, style, textarea, option, [translate=no]")) {
        continue;
      }
      const outer = document.createElement("font");
      const inner = document.createElement("font");
      inner.append(text.data);
      outer.append(inner);
      text.replaceWith(outer);
    }
  };
  new MutationObserver((changes) => {
    for (const { addedNodes } of changes)
      for (const one of addedNodes) replace(one.parentNode ?? one);
  }).observe(document.body, { childList: true, subtree: true });
  replace(document.body);
}

/** Texts of the page, without reports of the person's own actions. */
const textsOf = (page: Page) =>
  page.evaluate(() =>
    [...document.querySelectorAll("main, nav, [role=dialog]")].map((one) =>
      one.textContent.replace(/\s+/g, " "),
    ),
  );

/** Advances the clock of the page. */
const shift = (page: Page, seconds: number) =>
  page.evaluate((by) => (window as unknown as { shift(by: number): void }).shift(by), seconds);

/** Two pages of one person: a translated page and an ordinary one. */
async function openBoth(as: { readonly token: string }) {
  const open = async () => {
    const context = await openProfile(app.url, { as });
    await context.addInitScript(() => {
      const now = Date.now.bind(Date);
      let by = 0;
      Date.now = () => now() + by;
      Object.assign(window, { shift: (seconds: number) => (by += seconds * 1000) });
    });
    const page = await context.newPage();
    await page.goto(app.url);
    await untilLive(page);
    return page;
  };
  const [translated, plain] = [await open(), await open()];
  await translated.evaluate(translate);
  expect(await translated.locator("main font").count()).toBeGreaterThan(5);
  /** Waits until both show the same. */
  const expectSame = async (what: string) => {
    let [a, b]: string[][] = [];
    await until(async () => {
      [a, b] = await Promise.all([textsOf(translated), textsOf(plain)]);
      return Bun.deepEquals(a, b);
    }).catch(() => expect([what, a]).toEqual([what, b]));
    expect(await translated.getByText("Something went wrong").count()).toBe(0);
    expect(await translated.getByText("can't be shown").count()).toBe(0);
  };
  const goBoth = (to: string) => Promise.all([go(translated, to), go(plain, to)]);
  return { translated, plain, expectSame, goBoth };
}

webTest(
  "a translated page shows each change in every view",
  async () => {
    // The address of a question that does not exist.
    expectComplaints(/Failed to load resource/);
    const { person, laptop, views } = await createScene(app.url);
    const { send } = laptop;
    const { expectSame, goBoth } = await openBoth(person);
    const untilLogged = (action: string) =>
      until(async () => {
        const { body } = await person.send(`GET /v1/keys/${laptop.key.id}/activity?limit=1`);
        return body.items[0]?.action === action;
      });
    let count = 0;
    for (const [view, address] of Object.entries(views)) {
      count++;
      // The log is written a moment after a request, and a page opened earlier would show another end of it.
      if (view === "activity") await untilLogged("GET /v1/inbox");
      await goBoth(address.replace(/^#\//, ""));
      await expectSame(view);
      const { id } = await createTask(send, { title: `Task of ${view}`, status: "in_progress" });
      const question = await ask(send, { prompt: `Question of ${view}?`, fallback: "No" });
      const choice = { kind: "choice", options: ["One", "Two"], expires_in: 90 };
      const other = await ask(send, { prompt: `Which of ${view}?`, ...choice });
      await expectSame(`${view}: new`);
      await send(`PATCH /v1/tasks/${id}`, { progress: count, status_note: `Note of ${view}` });
      await send(`PATCH /v1/tasks/${views.task!.split("/").pop()}`, {
        progress: 70 + count,
        status_note: `Invoice ${count}`,
        description: count % 2 === 0 ? `**${count}** invoices` : null,
      });
      await person.send(`POST /v1/questions/${question.id}/answer`, { answer: "Yes", note: "Now" });
      await person.send("POST /v1/messages", { key_id: laptop.key.id, text: `Message ${count}` });
      await person.send(`PATCH /v1/keys/${laptop.key.id}`, { label: `Laptop ${count}` });
      await expectSame(`${view}: changed`);
      await send(`PATCH /v1/tasks/${id}`, { status: "done" });
      await send(`DELETE /v1/questions/${other.id}`);
      await send("GET /v1/inbox");
      await expectSame(`${view}: done`);
    }
  },
  120_000,
);

webTest("times and counts of a translated page keep changing", async () => {
  const { person, views } = await createScene(app.url);
  const { translated, plain, expectSame, goBoth } = await openBoth(person);
  const times = ["questions", "task", "agents"] as const;
  for (const [at, view] of times.entries()) {
    await goBoth(views[view]!.replace(/^#\//, ""));
    await expectSame(view);
    const before = await textsOf(plain);
    await Promise.all([shift(translated, 65), shift(plain, 65)]);
    await until(async () => !Bun.deepEquals(await textsOf(plain), before));
    await expectSame(`${view} after ${at + 1} minutes`);
    expect((await textsOf(translated)).join()).toMatch(/\dm ago/);
  }
});

webTest("every control of a translated page can be used", async () => {
  const { person, laptop } = await createScene(app.url);
  const { decided } = await hook(laptop.secret);
  const { translated: page, expectSame, goBoth } = await openBoth(person);
  const prompt = page.getByRole("list", { name: "Pending" }).locator("article");
  await page.getByRole("button", { name: "Add a note" }).first().click();
  await page.getByLabel("Note").fill("Fine");
  await press(prompt.getByRole("button", { name: "Allow", exact: true }));
  expect(JSON.parse(await decided).hookSpecificOutput.decision.behavior).toBe("allow");
  await press(prompt.getByRole("button", { name: "Yes" }));
  await page.getByRole("button", { name: "Other…" }).click();
  await prompt.getByLabel("Your answer").first().fill("Ask the team");
  await press(prompt.getByRole("button", { name: "Send" }).first());
  await until(async () => (await prompt.count()) === 1);
  await goBoth("agents/new");
  await page.getByLabel("Name").fill("Helper");
  await page.getByLabel("Name").press("Enter");
  await page.locator("code", { hasText: "mck_" }).first().waitFor();
  await goBoth("tasks");
  await page.getByRole("link", { name: "New task" }).click();
  await page.getByLabel("Title").fill("Read it");
  await page.getByRole("dialog").getByLabel("Agent", { exact: true }).selectOption({ index: 1 });
  await page.getByRole("dialog").getByRole("button", { name: "Create task" }).click();
  await page.getByRole("dialog").getByRole("heading", { name: "Read it" }).waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Edit" }).click();
  await goBoth("search?q=read");
  await page.locator("main input[type=search]").fill("billing");
  await page.locator("mark").first().waitFor();
  await goBoth("search?q=billing");
  await expectSame("search");
});

/** A permission request from a hook. */
async function hook(secret: string) {
  const { text } = await callHook(app.url, secret, commandOf("bun run build"));
  return { decided: text };
}
