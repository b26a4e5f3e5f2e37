/** Appearance of the person's page: forced colours, small windows, empty views. */

import { expect } from "bun:test";
import type { Locator } from "playwright-core";
import { startTestApp } from "../../support/app.ts";
import { ask, createAgent, createPair, createPerson, createTask } from "../../support/client.ts";
import { until } from "../../support/until.ts";
import { browserTests, go, openPage, PHONE } from "../../web/browser.ts";
import { expectNoOverflow, untilSettled } from "../../web/page-checks.ts";

const webTest = browserTests();
const app = await startTestApp();

const background = (one: Locator, part = "") =>
  one.evaluate((element, pseudo) => getComputedStyle(element, pseudo).backgroundColor, part);

webTest("states shown by backgrounds stay visible in forced-colors mode", async () => {
  const { person, agent } = await createPair(app.url);
  const { id } = await createTask(agent.send, { title: "One", status: "in_progress" });
  await agent.send(`PATCH /v1/tasks/${id}`, { progress: 50 });
  const page = await openPage(app.url, { as: person, size: PHONE, at: "#/account" });
  await page.emulateMedia({ forcedColors: "active" });
  const navigation = page.getByRole("navigation", { name: "Main" });
  const current = await background(navigation.getByRole("link", { name: "Account" }));
  expect(current).not.toBe(await background(navigation.getByRole("link", { name: "Tasks" })));
  const live = page.getByRole("switch", { name: "Nudges" });
  const track = live.locator("+ span");
  const knobs: string[] = [];
  for (const on of [true, false]) {
    // The page shows a change with its next frame.
    if ((await live.isChecked()) !== on) await live.click();
    await until(async () => (await live.isChecked()) === on);
    await page.evaluate(() => Promise.all(document.getAnimations().map((one) => one.finished)));
    knobs.push(await background(track, "::after"));
    expect(knobs.at(-1)).not.toBe(await background(track));
  }
  expect(knobs[0]).not.toBe(knobs[1]!);
  await go(page, "tasks");
  const canvas = await background(page.locator("html"));
  expect(await background(page.getByRole("link", { name: "New task" }))).not.toBe(canvas);
  const bar = page.getByRole("progressbar");
  expect(await background(bar.locator("div"))).not.toBe(canvas);
});

webTest("in a narrow window an agent's counts keep their full names", async () => {
  const { person } = await createPair(app.url);
  for (const [width, rows] of [
    [320, 2],
    [390, 1],
  ] as const) {
    const page = await openPage(app.url, {
      as: person,
      size: { width, height: 640 },
      at: "#/agents",
    });
    const names = page.locator("dt");
    await names.first().waitFor();
    const cut = await names.evaluateAll((all) =>
      all.filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.textContent),
    );
    expect(cut).toEqual([]);
    const tops = await names.evaluateAll((all) => all.map((one) => one.getBoundingClientRect().y));
    expect(new Set(tops).size).toBe(rows);
    await expectNoOverflow(page);
  }
});

webTest(
  "at 200 % zoom of a phone no view overflows, and the navigation keeps its names",
  async () => {
    const { person, agent } = await createPair(app.url);
    await ask(agent.send, { prompt: "Deploy?" });
    const { id } = await createTask(agent.send, { title: "One" });
    const size = { width: 195, height: 422 };
    const page = await openPage(app.url, { as: person, size });
    const of_agent = ["", "/inbox", "/key", "/setup"].map(
      (part) => `agents/${agent.key.id}${part}`,
    );
    const views = ["questions", "tasks", `tasks/${id}`, "search", "agents", ...of_agent, "account"];
    for (const view of views) {
      await go(page, view);
      await untilSettled(page);
      await expectNoOverflow(page);
      const heading = page.locator("h1", { hasText: /^(Questions|Tasks|Search|Agents|Account)$/ });
      for (const one of await heading.all()) {
        expect((await one.boundingBox())!.height).toBeLessThan(40);
      }
    }
    await go(page, "questions");
    const answer = page.getByRole("button", { name: /^Yes/ }).locator("bdi");
    expect(await answer.evaluate((one) => one.getClientRects().length)).toBe(1);
    expect((await answer.boundingBox())!.height).toBeLessThan(40);
    const links = page.getByRole("navigation", { name: "Main" }).getByRole("link");
    const names = (await links.allTextContents()).map((name) => name.replace(/\d.*/, ""));
    expect(names).toEqual(["Questions", "Tasks", "Search", "Agents", "Account"]);
  },
);

webTest("in a low window the navigation scrolls with the page", async () => {
  const { person } = await createPair(app.url);
  for (let i = 0; i < 3; i++) await createAgent(app.url, person, `Agent ${i}`);
  const size = { width: 320, height: 200 };
  const page = await openPage(app.url, { as: person, size, at: "#/agents" });
  const navigation = page.getByRole("navigation", { name: "Main" });
  const bottom = () => navigation.evaluate((one) => one.getBoundingClientRect().bottom);
  expect(await bottom()).toBeLessThan(80);
  await page.evaluate(() => window.scrollTo(0, 300));
  expect(await bottom()).toBeLessThan(0);
  await expectNoOverflow(page);
});

webTest("empty views of an account without agents link to adding one", async () => {
  const person = await createPerson(app.url);
  const page = await openPage(app.url, { as: person });
  const add = page.getByRole("link", { name: "Add an agent" });
  for (const view of ["questions", "tasks"]) {
    await go(page, view);
    await add.waitFor();
    expect(await add.getAttribute("href")).toBe("#/agents/new");
  }
  await createAgent(app.url, person);
  await add.waitFor({ state: "detached" });
  await page.getByText("No tasks yet").waitFor();
  await go(page, "questions");
  await page.getByText("All caught up").waitFor();
  expect(await add.count()).toBe(0);
});
