/** What tells of questions while nobody looks: the title, and notifications. */

import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { startTestApp } from "../support/app.ts";
import { ask, createAgent, createPerson } from "../support/client.ts";
import { until } from "../support/until.ts";
import { browserTests, go, openPage, openProfile, untilLive } from "./browser.ts";

const webTest = browserTests();
const app = await startTestApp();

const shown = (page: Page) =>
  page.evaluate(async () => {
    const worker = await navigator.serviceWorker.ready;
    return (await worker.getNotifications()).map(({ title, body }) => [title, body]);
  });

webTest("the title counts the pending questions", async () => {
  const person = await createPerson(app.url);
  const agent = await createAgent(app.url, person);
  const page = await openPage(app.url, { as: person });
  expect(await page.title()).toBe("Relay");
  const first = await ask(agent.send, { prompt: "One?" });
  await ask(agent.send, { prompt: "Two?" });
  await page.waitForFunction(() => document.title === "(2) Relay");
  await page.getByRole("link", { name: "Questions 2 pending" }).waitFor();
  // Elsewhere in the page a message says who asks.
  await go(page, "account");
  await ask(agent.send, { prompt: "Three?" });
  await page.getByRole("status").getByText("agent has a question").waitFor();
  await person.send(`POST /v1/questions/${first.id}/answer`, { answer: "No" });
  await page.waitForFunction(() => document.title === "(2) Relay");
});

webTest("a new question shows a notification, once it is wanted, until it is settled", async () => {
  const person = await createPerson(app.url);
  const agent = await createAgent(app.url, person, "Release bot");
  await ask(agent.send, { prompt: "An old one?" });
  const context = await openProfile(app.url, { as: person });
  await context.grantPermissions(["notifications"]);
  const page = await context.newPage();
  // As if the person were in another window.
  await page.addInitScript(() => {
    document.hasFocus = () => false;
  });
  await page.goto(`${app.url}/#/account`);
  await untilLive(page);
  await page.evaluate(() => navigator.serviceWorker.ready.then(() => null));
  await ask(agent.send, { prompt: "Before it was wanted?" });
  await page.waitForFunction(() => document.title === "(2) Relay");
  await page.getByRole("switch", { name: "Notifications of new questions" }).check();
  const { id } = await ask(agent.send, { prompt: "Publish <b>it</b>?" });
  await until(async () => (await shown(page)).length > 0);
  expect(await shown(page)).toEqual([["Release bot", "Publish <b>it</b>?"]]);
  await person.send(`POST /v1/questions/${id}/answer`, { answer: "No" });
  await until(async () => (await shown(page)).length === 0);
  // What came while the page was closed is told once it is open again.
  await until(() =>
    page.evaluate(
      (question) =>
        new Promise<boolean>((resolve) => {
          const opening = indexedDB.open("relay");
          opening.onsuccess = () => {
            const table = opening.result.transaction("questions").objectStore("questions");
            const getting = table.get(question);
            getting.onsuccess = () => resolve(getting.result?.status === "answered");
          };
        }),
      id,
    ),
  );
  await page.goto("about:blank");
  await ask(agent.send, { prompt: "Meanwhile?" });
  await page.goto(`${app.url}/`);
  await until(async () => (await shown(page)).length > 0);
  expect(await shown(page)).toEqual([["Release bot", "Meanwhile?"]]);
});
