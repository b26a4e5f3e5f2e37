/** Pushes while a window says that it has the focus: each shows a notification, which is closed where the page shows it. */

import { expect } from "bun:test";
import type { Worker } from "playwright-core";
import { startTestApp } from "../support/app.ts";
import { ask, createPair } from "../support/client.ts";
import { until } from "../support/until.ts";
import { browserTests, openPage, untilLive } from "./browser.ts";
import { deliverTo, pushMessage, shownBy, untilWorkerSees, workerOf } from "./worker-pushes.ts";

const webTest = browserTests({ notifications: true });
const app = await startTestApp();

/** Records each call of `showNotification`; returns what was given as `silent`. */
async function watchShown(worker: Worker): Promise<() => Promise<boolean[]>> {
  await worker.evaluate(() => {
    const scope = globalThis as any;
    const { registration } = scope;
    const show = registration.showNotification.bind(registration);
    scope.given = [];
    registration.showNotification = (title: string, options: { silent: boolean }) => {
      scope.given.push(options.silent);
      return show(title, options);
    };
  });
  return () => worker.evaluate(() => (globalThis as unknown as { given: boolean[] }).given);
}

async function begin() {
  const { person, agent } = await createPair(app.url);
  const page = await openPage(app.url, { as: person });
  await untilLive(page);
  const { origin } = new URL(app.url);
  await page.context().grantPermissions(["notifications"], { origin });
  const deliver = await deliverTo(page);
  const worker = await workerOf(page);
  const shown = await watchShown(worker);
  await shownBy(worker);
  await page.bringToFront();
  await untilWorkerSees(page, true);
  return { page, agent, deliver, worker, shown };
}

webTest(
  "each push shows a notification, which goes without a sound if the page shows it",
  async () => {
    const { page, agent, deliver, worker, shown } = await begin();
    const { id } = await ask(agent.send, { prompt: "Publish?" });
    await page.getByText("Publish?").waitFor();
    const events = ["question", "ended", "task"] as const;
    for (const [i, event] of events.entries()) {
      const about = event === "task" ? { task_id: "tsk_1" } : { question_id: id };
      await deliver(pushMessage({ v: 1, event, ...about }));
      await until(async () => (await shown()).length === i + 1);
      await until(async () => (await shownBy(worker)).length === 0);
    }
    expect(await shown()).toEqual([true, true, true]);

    // The push may be faster than the stream, and be about something that the page never learns of.
    await deliver(pushMessage({ v: 1, event: "question", question_id: "qst_unknown" }));
    await until(async () => (await shownBy(worker)).length === 1);
    expect((await shown()).at(-1)).toBe(false);
  },
);

webTest(
  "a page that says it has the focus but is suspended keeps no notification from the person",
  async () => {
    const { page, agent, deliver, worker, shown } = await begin();
    const { id } = await ask(agent.send, { prompt: "Publish?" });
    await page.getByText("Publish?").waitFor();
    const stuck = page.evaluate(() => {
      const end = performance.now() + 8_000;
      while (performance.now() < end);
    });
    await deliver(pushMessage({ v: 1, event: "question", question_id: id }));
    await deliver(pushMessage({ v: 1, event: "task", task_id: "tsk_1" }));
    await until(async () => (await shownBy(worker)).length === 2);
    expect(await shown()).toEqual([false, false]);
    await stuck;
    expect((await shownBy(worker)).length).toBe(2);
  },
);
