/** Commands on a phone: no line ends within an option, and what is copied is the command. */

import { expect } from "bun:test";
import type { Locator } from "playwright-core";
import { startTestApp } from "../support/app.ts";
import { callHook, commandOf } from "../support/approve.ts";
import { ask, createPair } from "../support/client.ts";
import { until } from "../support/until.ts";
import { browserTests, openPage, PHONE } from "./browser.ts";
import { expectNoOverflow } from "./page-checks.ts";

const webTest = browserTests();
const app = await startTestApp();

/** Folder for screenshots to look at; none when unset. */
const PICTURES = process.env.RELAY_TEST_PICTURES;

/** The options in an element, each with the number of lines that it takes. */
const linesOfOptions = (element: Locator) =>
  element.evaluate((one) => {
    const walker = document.createTreeWalker(one, NodeFilter.SHOW_TEXT);
    const places: { node: Text; at: number }[] = [];
    let text = "";
    for (let node = walker.nextNode() as Text | null; node; node = walker.nextNode() as Text) {
      for (let at = 0; at < node.data.length; at++) places.push({ node, at });
      text += node.data;
    }
    return [...text.matchAll(/(?<=^|\s)--?[a-z][\w-]*=?/g)].map(({ 0: option, index }) => {
      const tops = new Set<number>();
      for (const { node, at } of places.slice(index, index + option.length)) {
        const range = document.createRange();
        range.setStart(node, at);
        range.setEnd(node, at + 1);
        tops.add(Math.round(range.getBoundingClientRect().top));
      }
      return [option, tops.size] as const;
    });
  });

/** The text of an element as the browser copies it. */
const copied = (element: Locator) =>
  element.evaluate((one) => {
    getSelection()!.selectAllChildren(one);
    return getSelection()!.toString();
  });

const OPTIONS = Array.from({ length: 9 }, (_, n) => {
  const name = `${"x".repeat(n)}${n}`;
  return `--with-option-${name} --set-${name}=2.4.0-and-a-long-value -v`;
});
const COMMAND = `deploy ${OPTIONS.join(" ")}`;

webTest(
  "options stay whole on every width of a phone, and a command is copied as it is",
  async () => {
    const { person, agent } = await createPair(app.url);
    const page = await openPage(app.url, {
      as: person,
      size: PHONE,
      at: `#/agents/${agent.key.id}/setup`,
    });
    const snippet = page.locator("pre").first();
    await snippet.getByText("claude mcp add").waitFor();
    const text = (await snippet.textContent())!;
    expect(text).toContain("--transport http");
    expect(await copied(snippet)).toBe(text);
    void callHook(app.url, agent.secret, commandOf(COMMAND));
    await until(async () => (await agent.send("GET /v1/questions")).body.questions.length === 1);
    await ask(agent.send, { prompt: `Run \`${COMMAND}\`?` });
    const other = await page.context().newPage();
    await other.goto(`${app.url}/#/questions`);
    const shown = other.getByRole("figure", { name: /^The command/ });
    await shown.getByText("deploy").waitFor();
    const inline = other.locator("article p code");
    await inline.waitFor();
    expect((await copied(shown)).trim()).toBe(COMMAND);
    expect(await copied(inline)).toBe(COMMAND);
    for (const width of [390, 360, 320]) {
      for (const one of [page, other]) await one.setViewportSize({ width, height: 844 });
      const options = await Promise.all([snippet, shown, inline].map(linesOfOptions));
      expect(options.map(({ length }) => length > 2)).toEqual([true, true, true]);
      expect([width, options.flat().filter(([, lines]) => lines > 1)]).toEqual([width, []]);
      await expectNoOverflow(page);
      await expectNoOverflow(other);
    }
    // At 200 % zoom, an option that is wider than the line still wraps.
    for (const one of [page, other]) await one.setViewportSize({ width: 195, height: 422 });
    for (const one of [snippet, shown, inline.locator("..")]) {
      expect(await one.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(
        0,
      );
    }
    if (PICTURES) await other.screenshot({ path: `${PICTURES}/command.png` });
  },
);
