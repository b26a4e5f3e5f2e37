/** The pages in a browser without anything that the oldest supported browser, Safari 16.4, lacks. */

import { expect } from "bun:test";
import type { BrowserContext, Page } from "playwright-core";
import { ADMIN_TOKEN } from "../../support/admin.ts";
import { startTestApp } from "../../support/app.ts";
import { callHook, commandOf } from "../../support/approve.ts";
import { ask, createPair } from "../../support/client.ts";
import { MISSING, removeMissing } from "../../support/oldest-browser.ts";
import { until } from "../../support/until.ts";
import {
  browserTests,
  expectComplaints,
  go,
  openProfile,
  press,
  untilLive,
} from "../../web/browser.ts";
import { untilSettled } from "../../web/page-checks.ts";
import { createScene } from "../../web/scene.ts";
import { deliverTo, pushMessage, shownIn, workerOf } from "../../web/worker-pushes.ts";

const webTest = browserTests({ notifications: true });
const app = await startTestApp({ env: { ADMIN_TOKEN } });

const REMOVE = `(${removeMissing})(${JSON.stringify(MISSING)});`;

/** A profile whose pages and service worker run without the missing features. */
async function openOldProfile(...given: Parameters<typeof openProfile>): Promise<BrowserContext> {
  const context = await openProfile(...given);
  await context.addInitScript({ content: REMOVE });
  await context.route("**/sw.js", async (route) => {
    const response = await route.fetch();
    return route.fulfill({ response, body: REMOVE + (await response.text()) });
  });
  return context;
}

async function expectNoFault(page: Page): Promise<void> {
  expect(await page.getByText("Something went wrong").count()).toBe(0);
  expect(await page.getByText("can't be shown").count()).toBe(0);
}

webTest("the stand-in for the oldest browser lacks what Safari 16.4 lacks", async () => {
  const page = await (await openOldProfile(app.url, { serviceWorkers: "block" })).newPage();
  await page.goto(app.url);
  const missing = await page.evaluate(() => [
    ...["any" in AbortSignal, "parse" in URL, "canParse" in URL, "withResolvers" in Promise],
    ...["showPopover" in HTMLElement.prototype, "requestIdleCallback" in globalThis],
    ...["union" in Set.prototype, "groupBy" in Object, "map" in Object.getPrototypeOf([].values())],
  ]);
  expect(missing).toEqual(missing.map(() => false));
  const kept = await page.evaluate(() => [
    ...["timeout" in AbortSignal, "toSorted" in Array.prototype, "locks" in navigator],
    ...["structuredClone" in globalThis, "randomUUID" in crypto, "at" in Array.prototype],
  ]);
  expect(kept).toEqual(kept.map(() => true));
});

webTest(
  "in the oldest browser a person creates an account, answers, and opens every view",
  async () => {
    // The address of a question that does not exist.
    expectComplaints(/Failed to load resource/);
    const page = await (await openOldProfile(app.url)).newPage();
    await page.goto(app.url);
    await page.getByRole("button", { name: "Create account" }).click();
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByRole("button", { name: "Not now" }).click();
    await untilLive(page);
    await page.close();

    const { person, laptop, views } = await createScene(app.url);
    await callHook(app.url, laptop.secret, commandOf("bun run build"));
    const old = await (await openOldProfile(app.url, { as: person })).newPage();
    await old.goto(app.url);
    await untilLive(old);
    await old.getByRole("link", { name: /^git\.example\.com/ }).waitFor();
    // A time shows its exact form.
    await old.locator("article [data-time]").first().hover();
    await old.getByRole("tooltip").waitFor();
    await press(old.getByRole("button", { name: "Yes", exact: true }));
    await old.getByText("Answer sent").waitFor();
    for (const [view, address] of Object.entries(views)) {
      await go(old, address.replace(/^#\//, ""));
      await old.locator("h1, [role=dialog] h2").filter({ visible: true }).last().waitFor();
      await untilSettled(old);
      await expectNoFault(old);
      expect([view, await old.locator("[data-connection=live]").count()]).toEqual([view, 1]);
    }
  },
  120_000,
);

webTest("the oldest browser formats text with links, lists and code", async () => {
  const { person, agent } = await createPair(app.url);
  await ask(agent.send, {
    prompt: "See [the log](https://ci.example.com/7):\n\n- **one**\n- `two`",
    url: "https://git.example.com/pull/1",
  });
  const page = await (await openOldProfile(app.url, { as: person })).newPage();
  await page.goto(app.url);
  await page.getByRole("link", { name: "the log" }).waitFor();
  await page.locator("li strong", { hasText: "one" }).waitFor();
  await expectNoFault(page);
});

webTest("the oldest browser's service worker shows a push", async () => {
  // The ticket of this push is invalid.
  expectComplaints(/Failed to load resource/);
  const { person, agent } = await createPair(app.url);
  const { id } = await ask(agent.send, { prompt: "Publish?" });
  const context = await openOldProfile(app.url, { as: person });
  await context.grantPermissions(["notifications"]);
  const page = await context.newPage();
  await page.goto(`${app.url}/#/account`);
  await untilLive(page);
  const deliver = await deliverTo(page);
  const worker = await workerOf(page);
  expect(await worker.evaluate(() => "withResolvers" in Promise)).toBe(false);
  await page.goto("about:blank");
  await page.goto(`${app.url}/admin`);
  expect(await shownIn(page)).toEqual([]);
  await deliver(
    pushMessage({ v: 1, event: "question", question_id: id, ticket: "x", answers: [] }),
  );
  await until(async () => (await shownIn(page)).some(({ tag }) => tag === id));
});

webTest("in the oldest browser the admin page shows its charts, and /docs its routes", async () => {
  expectComplaints(/Failed to load resource/);
  const context = await openOldProfile(app.url, { serviceWorkers: "block" });
  const page = await context.newPage();
  await page.goto(`${app.url}/admin`);
  await page.getByLabel("Admin token").fill(ADMIN_TOKEN);
  await page.keyboard.press("Enter");
  await page.locator("[data-live=true]").waitFor();
  await expectNoFault(page);
  await page.goto(`${app.url}/docs`);
  await page.locator(".opblock").first().waitFor();
});
