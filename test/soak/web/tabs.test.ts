/** Several tabs of one browser share connections. */

import { expect } from "bun:test";
import type { BrowserContext, Page } from "playwright-core";
import { startTestApp } from "../../support/app.ts";
import { ask, createPair, createTask } from "../../support/client.ts";
import { until } from "../../support/until.ts";
import { browserTests, openProfile, untilLive } from "../../web/browser.ts";

const webTest = browserTests();
const app = await startTestApp();

/** Seconds after which a hidden tab gives up its stream. */
const GRACE = 5;

/** A tab, and the number of streams it has open. */
async function openCounted(context: BrowserContext) {
  const tab = await context.newPage();
  await tab.clock.install();
  const open = new Set<object>();
  const is_stream = (url: string) => url.endsWith("/v1/events");
  tab.on("request", (request) => is_stream(request.url()) && open.add(request));
  tab.on("requestfailed", (request) => open.delete(request));
  tab.on("requestfinished", (request) => open.delete(request));
  await tab.goto(`${app.url}/#/tasks`);
  return { tab, streams: () => open.size };
}

/** Shows or hides the tab: a headless browser does not do so itself. */
async function setVisible(tab: Page, at: boolean): Promise<void> {
  await tab.evaluate((seen) => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => !seen });
    document.dispatchEvent(new Event("visibilitychange"));
  }, at);
}

webTest("visible tabs have a stream each, and hidden ones share the leader's", async () => {
  const { person, agent } = await createPair(app.url);
  const context = await openProfile(app.url, { as: person });
  const tabs: Awaited<ReturnType<typeof openCounted>>[] = [];
  // One tab more than a browser has connections to a server.
  for (let i = 0; i < 7; i++) {
    const counted = await openCounted(context);
    await untilLive(counted.tab);
    tabs.push(counted);
    if (i === 6) break;
    await setVisible(counted.tab, false);
    await counted.tab.clock.fastForward(GRACE * 1_000 + 100);
  }
  const counts = () => tabs.map(({ streams }) => streams());
  await until(async () => counts().join() === "1,0,0,0,0,0,1");

  // The last tab is as live as if it were alone, and can act.
  const last = tabs[6]!.tab;
  const first = tabs[0]!.tab;
  await createTask(agent.send, { title: "Seen at once", status: "in_progress" });
  await last.getByText("Seen at once").waitFor();
  await last.getByRole("button", { name: "Finish: Seen at once" }).focus();
  await last.keyboard.press("Enter");
  await last.getByText("Task finished", { exact: true }).waitFor();
  // The leader shows the count; paused tabs do not.
  await ask(agent.send, { prompt: "Who is there?" });
  await first.waitForFunction(() => document.title === "(1) Tasks · Relay");
  expect(await tabs[1]!.tab.title()).toBe("Tasks · Relay");

  // A tab that becomes visible catches up.
  await setVisible(tabs[3]!.tab, true);
  await untilLive(tabs[3]!.tab);
  await tabs[3]!.tab.waitForFunction(() => document.title === "(1) Tasks · Relay");
  await setVisible(tabs[3]!.tab, false);
  await tabs[3]!.tab.clock.fastForward(GRACE * 1_000 + 100);
  await until(async () => counts().join() === "1,0,0,0,0,0,1");

  // When the leader is closed, another tab leads.
  await first.close();
  await until(
    async () =>
      counts()
        .slice(1, 6)
        .reduce((sum, one) => sum + one) === 1,
  );
  const next = tabs.slice(1, 6).find(({ streams }) => streams() === 1)!;
  await next.tab.waitForFunction(() => document.title === "(1) Tasks · Relay");
  await ask(agent.send, { prompt: "And now?" });
  await next.tab.waitForFunction(() => document.title === "(2) Tasks · Relay");
});

webTest("a hidden tab stays live after a new sign-in", async () => {
  const { person, agent } = await createPair(app.url);
  const context = await openProfile(app.url, { as: person });
  const { tab } = await openCounted(context);
  await untilLive(tab);
  await tab.getByRole("link", { name: "Account" }).click();
  await tab.getByRole("button", { name: "Sign out" }).click();
  await tab.getByRole("alertdialog").getByRole("button", { name: "Sign out" }).click();
  await tab.getByLabel("Account token").fill(person.token);
  await tab.getByRole("button", { name: "Sign in" }).click();
  await untilLive(tab);
  await setVisible(tab, false);
  await tab.clock.fastForward(GRACE * 1_000 + 100);
  await ask(agent.send, { prompt: "Still there?" });
  await tab.waitForFunction(() => document.title === "(1) Questions · Relay");
});

webTest("a tab that becomes visible does not announce questions again", async () => {
  const { person, agent } = await createPair(app.url);
  const context = await openProfile(app.url, { as: person });
  const { tab: first } = await openCounted(context);
  await untilLive(first);
  const { tab: second } = await openCounted(context);
  await untilLive(second);
  await setVisible(second, false);
  await second.clock.fastForward(GRACE * 1_000 + 100);
  await second.locator("[data-connection=resting]").waitFor({ state: "attached" });
  await ask(agent.send, { prompt: "Who is there?" });
  const said = (tab: Page) => tab.getByRole("status").getByText("has a question");
  await said(first).waitFor();
  await setVisible(second, true);
  await untilLive(second);
  await second.waitForFunction(() => document.title === "(1) Tasks · Relay");
  expect(await said(second).count()).toBe(0);
  // From now on, new questions are announced.
  await ask(agent.send, { prompt: "And now?" });
  await said(second).waitFor();
});
