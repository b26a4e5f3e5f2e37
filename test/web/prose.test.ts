/** Agents' Markdown in the page: formatted or as written, and never more than text. */

import { expect } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { ask, createPair, createTask } from "../support/client.ts";
import { until } from "../support/until.ts";
import { browserTests, go, openPage, PHONE } from "./browser.ts";
import { expectNoOverflow, untilSettled, violations } from "./page-checks.ts";

const webTest = browserTests();
const app = await startTestApp();

/** Folder for screenshots to look at; none when unset. */
const PICTURES = process.env.RELAY_TEST_PICTURES;

const PROMPT = `## Deploy **version 2**?

It *changes* the schema, see [the plan](https://docs.example.com/plan) and https://ci.example.com/run/7.

1. Stop \`relay\`
2. Migrate
   - tables
   - indexes

| Table | Rows |
| --- | --- |
| tasks | 10,000 |

> Nobody objected.

\`\`\`diff
@@ -1,2 +1,2 @@
-const limit = 10; // ${"far ".repeat(60)}
+const limit = 20;
 unchanged
\`\`\`
`;

webTest(
  "a Markdown prompt and description are formatted, accessible, and fit a phone",
  async () => {
    const { person, agent } = await createPair(app.url);
    const task = await createTask(agent.send, { title: "Release", description: PROMPT });
    await agent.send(`PATCH /v1/tasks/${task.id}`, { status_note: "Waits for *you*" });
    await ask(agent.send, { prompt: PROMPT });
    const page = await openPage(app.url, { as: person, size: PHONE });
    const check = async (within: string, picture: string) => {
      const shown = page.locator(within);
      await shown.locator("strong").getByText("version 2").waitFor();
      await untilSettled(page);
      expect(await shown.locator("em").first().textContent()).toMatch(/changes|you/);
      expect(await shown.locator("ol.list-decimal > li").count()).toBe(2);
      expect(await shown.locator("ol ul > li").allTextContents()).toEqual(["tables", "indexes"]);
      const sign = shown.locator("ol ul").evaluate((one) => getComputedStyle(one).listStyleType);
      expect(await sign).toContain("–");
      expect(await shown.locator("td").allTextContents()).toEqual(["tasks", "10,000"]);
      expect(await shown.locator("blockquote").textContent()).toContain("Nobody objected.");
      const links = await shown.locator("a[target]").evaluateAll((all) =>
        all.map((one) => {
          const { href, rel, target } = one as HTMLAnchorElement;
          const host = one.nextElementSibling?.matches("bdi") ? one.nextElementSibling : null;
          return { href, rel, target, after: host?.textContent ?? null };
        }),
      );
      const away = { rel: "noopener noreferrer", target: "_blank" };
      expect(links).toEqual([
        { href: "https://docs.example.com/plan", ...away, after: " (docs.example.com)" },
        { href: "https://ci.example.com/run/7", ...away, after: null },
      ]);
      // Code keeps its width and scrolls by itself; the marks of a diff have colours.
      const code = shown.locator("pre");
      expect(await code.evaluate((one) => one.scrollWidth > one.clientWidth)).toBe(true);
      const colors = await code
        .locator("code > span")
        .evaluateAll((all) => all.map((one) => getComputedStyle(one).color));
      expect(new Set(colors).size).toBe(4);
      await expectNoOverflow(page);
      expect(await violations(page)).toEqual([]);
      if (PICTURES) await page.screenshot({ path: `${PICTURES}/${picture}.png`, fullPage: true });
    };
    await check("article", "prose-question");
    await go(page, `tasks/${task.id}`);
    await check("[role=dialog]", "prose-task");
  },
);

const CHECKED = `- [ ] Buy _more_ disks
- [x] Tell **them**
  1. [x] by mail

| Left | Middle | Right |
| :--- | :----: | ----: |
| a | b | 1 |

![A chart](https://img.example.com/chart.png) and __init__.py

\`\`\`
${"wide ".repeat(60)}
\`\`\`
`;

webTest("task lists, aligned columns and images are shown, and nothing is loaded", async () => {
  const { person, agent } = await createPair(app.url);
  await ask(agent.send, { prompt: "Which?", context: CHECKED });
  await ask(agent.send, { prompt: CHECKED });
  const page = await openPage(app.url, { as: person, size: PHONE });
  const asked: string[] = [];
  page.on("request", (request) => asked.push(new URL(request.url()).host));
  await page.reload();
  for (const shown of [
    page.getByRole("figure", { name: "From the agent" }),
    page.getByRole("article").nth(1),
  ]) {
    await shown.getByRole("img", { name: "Done", exact: true }).first().waitFor();
    const boxes = shown.getByRole("img");
    expect(
      await boxes.evaluateAll((all) => all.map((one) => one.getAttribute("aria-label"))),
    ).toEqual(["Not done", "Done", "Done"]);
    // Each box is beside its text, in place of the sign of the list.
    expect(
      await shown
        .locator("li")
        .evaluateAll((all) => all.map((one) => getComputedStyle(one).listStyleType)),
    ).toEqual(["none", "none", "decimal"]);
    expect(await shown.locator("em").allTextContents()).toEqual(["more"]);
    const aligned = await shown
      .locator("td")
      .evaluateAll((all) => all.map((one) => getComputedStyle(one).textAlign));
    expect(aligned).toEqual(["left", "center", "right"]);
    const link = shown.getByRole("link", { name: "A chart" });
    expect(await link.getAttribute("href")).toBe("https://img.example.com/chart.png");
    expect(await link.locator("..").textContent()).toBe(
      "A chart (img.example.com) and __init__.py",
    );
    // Wide code scrolls by itself, and not what is around it.
    const code = shown.locator("pre");
    await code.evaluate((one) => one.scrollBy(50, 0));
    expect(await code.evaluate((one) => one.scrollLeft)).toBe(50);
    expect(await shown.evaluate((one) => one.scrollWidth <= one.clientWidth)).toBe(true);
  }
  await expectNoOverflow(page);
  expect(await violations(page)).toEqual([]);
  if (PICTURES) await page.screenshot({ path: `${PICTURES}/tasks.png`, fullPage: true });
  expect(new Set(asked)).toEqual(new Set([new URL(app.url).host]));
});

const LONG = 9_900;
const filled = (part: string) => part.repeat(Math.ceil(LONG / part.length)).slice(0, LONG);

/** Texts that aren't Markdown, or are more than the page formats. */
const AS_WRITTEN: Readonly<Record<string, string>> = {
  "deep quotes": `${">".repeat(40)} deep inside`,
  "deep lists": `${"- ".repeat(40)}deep inside`,
  "signs alone": "`".repeat(3_001),
  "many elements": filled("**a** "),
  "a huge table": `|${"a|".repeat(1_000)}\n|${"-|".repeat(1_000)}\n${"|b".repeat(2_000)}|`,
  "cells beyond the table": "|a|\n|-|\n|shown|and this|",
};
/** Texts with marks that mean nothing here. */
const HARMLESS: Readonly<Record<string, string>> = {
  script: "<script>window.hit=1</script><b>bold</b> <img src=x onerror=window.hit=1>",
  "a javascript link": "[click](javascript:window.hit=1)",
  "a data link": "[click](data:text/html,<script>window.hit=1</script>)",
  "a link with a name": "[click](https://relay.example@evil.example/)",
  "a relative link": "[click](/docs)",
  entities: "&lt;i&gt; &#8238;",
  definition: "[1]: /hidden",
  brackets: filled("["),
  "one line": filled("x"),
  direction: "\u202Egnirts desrever\u202C *a \u0007b*",
};

webTest("hostile Markdown is shown whole as text, and runs nothing", async () => {
  const { person, agent } = await createPair(app.url);
  const page = await openPage(app.url, { as: person, at: "#/tasks" });
  const shown = page.getByRole("dialog");
  for (const [name, description] of Object.entries({ ...AS_WRITTEN, ...HARMLESS })) {
    // The first text shows that the formatter has run.
    const before = name in AS_WRITTEN ? "" : "**Formatted**\n\n";
    const { id } = await createTask(agent.send, { title: name, description: before + description });
    await go(page, `tasks/${id}`);
    await shown.getByRole("heading", { name, exact: true }).waitFor();
    if (before !== "") await shown.locator("strong").getByText("Formatted").waitFor();
    await page.waitForFunction(() =>
      performance.getEntriesByType("resource").some((one) => /\/markdown-/.test(one.name)),
    );
    const text = await shown.locator("p.said, pre").allTextContents();
    const all = text.join("\n").replace(/\s/g, "");
    const wanted = description.replace(/[\s*]/g, "");
    expect({ name, is_whole: all.replaceAll("*", "").includes(wanted) }).toEqual({
      name,
      is_whole: true,
    });
    if (name === "one line" || name === "many elements") {
      // Otherwise layout may take seconds.
      const kerning = shown.locator("p.said").last();
      expect(await kerning.evaluate((one) => getComputedStyle(one).fontKerning)).toBe("none");
    }
    // An address in the text links to exactly that address.
    const made = await shown
      .locator("img, script, b, i, a[target]")
      .evaluateAll((all) =>
        all
          .filter((one) => one.textContent !== one.getAttribute("href"))
          .map((one) => one.outerHTML),
      );
    expect({ name, made }).toEqual({ name, made: [] });
    await go(page, "tasks");
    await shown.waitFor({ state: "detached" });
  }
  expect(await page.evaluate(() => "hit" in window)).toBe(false);
});

webTest("a key or a tap shows a text that formatting changes as it was written", async () => {
  const { person, agent } = await createPair(app.url);
  const prompt = "Run this?\n\n* * * * * rm -r 'tmp/cache'\n\n> 5 errors\n\n  *once*  **now**";
  const { id } = await ask(agent.send, { prompt, context: "1. One\n2. Two" });
  await ask(agent.send, { prompt: "Plain, with https://ci.example.com/run/7?" });
  const page = await openPage(app.url, { as: person, size: PHONE, at: `#/questions/${id}` });
  const shown = page.locator(`[id="${id}-prompt"]`);
  const card = page.getByRole("article");
  await shown.locator("em").getByText("once").waitFor();
  const [control, of_context] = [
    card.getByText("Show as written").first(),
    card.getByRole("figure"),
  ];
  await control.focus();
  await page.keyboard.press("Enter");
  await until(async () => (await shown.textContent()) === prompt);
  expect(await shown.locator("em, ul, blockquote").count()).toBe(0);
  // Another text stays formatted until the person asks.
  expect(await of_context.locator("ol > li").count()).toBe(2);
  await of_context.getByRole("button", { name: "Show as written" }).click();
  await of_context.getByText("1. One").waitFor();
  expect(await violations(page)).toEqual([]);
  await expectNoOverflow(page);
  if (PICTURES) await page.screenshot({ path: `${PICTURES}/as-written.png` });
  await card.getByRole("button", { name: "Show formatted" }).first().click();
  await shown.locator("em").getByText("once").waitFor();
  // The card's name is the prompt alone.
  expect(await page.getByRole("article", { name: /Show/ }).count()).toBe(0);
  await go(page, "questions");
  await page.getByRole("link", { name: "ci.example.com" }).waitFor();
  expect(await card.nth(1).getByText("Show as written").count()).toBe(0);
});

webTest("a table scrolls on a phone and breaks no words", async () => {
  const { person, agent } = await createPair(app.url);
  const cells = ["authentication", "eu-central-1", "degraded", "platform-team", "unreachable"];
  const row = `|${cells.join("|")}|`;
  await ask(agent.send, { prompt: `${row}\n${"|-".repeat(5)}|\n${row}` });
  const page = await openPage(app.url, { as: person, size: PHONE });
  const table = page.locator("article table");
  const word = table.getByRole("cell", { name: "authentication" }).first();
  const lines = await word.evaluate((one) => {
    const range = document.createRange();
    range.selectNodeContents(one);
    return new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size;
  });
  expect(lines).toBe(1);
  const box = table.locator("..");
  expect(await box.evaluate((one) => one.scrollWidth > one.clientWidth)).toBe(true);
  await expectNoOverflow(page);
  if (PICTURES) await page.screenshot({ path: `${PICTURES}/table.png` });
});
