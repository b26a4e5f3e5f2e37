/** New questions while the person is elsewhere: notifications. */

import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { startTestApp } from "../support/app.ts";
import { ask, createAgent, createPerson } from "../support/client.ts";
import { until } from "../support/until.ts";
import {
  browserTests,
  expectComplaints,
  keptIn,
  lookAt,
  openProfile,
  openTab,
  untilLive,
} from "./browser.ts";
import { shownIn, untilWorkerSees } from "./worker-pushes.ts";

const webTest = browserTests({ notifications: true });
/** Without Web Push, pages show notifications themselves. */
const app = await startTestApp({ env: { PUBLIC_URL: "http://relay.lan:3000" } });

const shown = async (page: Page) => (await shownIn(page)).map(({ title, body }) => [title, body]);

webTest(
  "with notifications on, a new question shows a notification until it is closed",
  async () => {
    // Web Push is off there.
    expectComplaints(/404/);
    const person = await createPerson(app.local_url);
    const agent = await createAgent(app.local_url, person, "Release bot");
    await ask(agent.send, { prompt: "An old one?" });
    const context = await openProfile(app.local_url, { as: person });
    await context.grantPermissions(["notifications"]);
    const page = await openTab(context, `${app.local_url}/#/account`);
    await untilLive(page);
    expect(await shown(page)).toEqual([]);
    await ask(agent.send, { prompt: "Before it was wanted?" });
    await page.waitForFunction(() => document.title === "(2) Account · Relay");
    await page.getByRole("switch", { name: "Notifications for new questions" }).check();
    // The person turns to another window.
    const other = await openTab(context, "about:blank");
    await lookAt(other, { away: [page] });
    await untilWorkerSees(page, false);
    const { id } = await ask(agent.send, { prompt: "Publish <b>it</b>?" });
    await until(async () => (await shown(page)).length > 0);
    expect(await shown(page)).toEqual([["Release bot", "Publish <b>it</b>?"]]);
    await person.send(`POST /v1/questions/${id}/answer`, { answer: "No" });
    await until(async () => (await shown(page)).length === 0);
    // Questions asked while the page was closed are notified when it opens.
    await until(async () =>
      (await keptIn(page, "questions")).some(
        (question) => question.id === id && question.status === "answered",
      ),
    );
    await page.close();
    await ask(agent.send, { prompt: "Meanwhile?" });
    // The page learns of them while another window has the focus.
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await context.route("**/v1/events", async (route) => {
      await held;
      await route.continue();
    });
    const again = await openTab(context, `${app.local_url}/`);
    await again.getByText("Publish").waitFor();
    await lookAt(other, { away: [again] });
    await untilWorkerSees(again, false);
    release();
    await until(async () => (await shown(again)).length > 0);
    expect(await shown(again)).toEqual([["Release bot", "Meanwhile?"]]);
  },
);

webTest("no notification is shown while another tab has the focus", async () => {
  expectComplaints(/404/);
  const person = await createPerson(app.local_url);
  const agent = await createAgent(app.local_url, person);
  const context = await openProfile(app.local_url, { as: person });
  await context.grantPermissions(["notifications"]);
  const page = await openTab(context, `${app.local_url}/#/account`);
  await untilLive(page);
  expect(await shown(page)).toEqual([]);
  await page.getByRole("switch", { name: "Notifications for new questions" }).check();
  const looked_at = await openTab(context, `${app.local_url}/#/questions`);
  await untilLive(looked_at);
  await lookAt(looked_at, { away: [page] });
  await ask(agent.send, { prompt: "While looked at?" });
  await looked_at.getByText("While looked at?").waitFor();
  // The other page has heard of it too, and asked the worker, while that tab has the focus.
  await page.waitForFunction(() => document.title === "(1) Account · Relay");
  await untilWorkerSees(page, true);
  // Other pages of this server show no questions.
  const docs = await openTab(context, `${app.local_url}/docs`);
  await lookAt(docs, { away: [page, looked_at] });
  await untilWorkerSees(page, false);
  await ask(agent.send, { prompt: "While elsewhere?" });
  await until(async () => (await shown(page)).length > 0);
  expect(await shown(page)).toEqual([["agent", "While elsewhere?"]]);
});
