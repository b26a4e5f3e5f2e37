/**
 * Clicks on real notifications: Chromium draws them on a separate screen (Xvfb), and xdotool moves the
 * pointer. Run by hand with `bun run clicks`: CI has neither, and dispatches the clicks in the worker instead.
 */

import { afterAll, expect, test } from "bun:test";
import { ask, type Person } from "../support/client.ts";
import { until } from "../support/until.ts";
import { browserTests, go, openTab, untilLive } from "./browser.ts";
import { createSubscriber } from "./subscriber.ts";
import { shownBy, workerOf } from "./worker-pushes.ts";

browserTests({ notifications: true });
const { start, subscribe } = await createSubscriber({ headless: false });

/** Where Chromium draws the parts of a notification on a screen of 1280 by 800, in pixels. */
const BODY = [1010, 700] as const;
const SECOND_BUTTON = [1011, 763] as const;

/** How often to look for the outcome of a click before clicking again. */
const LOOKS = 20;

/** Clicks until the outcome shows, since a click on a notification that is still sliding in misses it. */
async function clickAt(
  [x, y]: readonly [number, number],
  outcome: () => boolean | Promise<boolean>,
) {
  await until(async () => {
    await Bun.$`xdotool mousemove ${x} ${y} sleep 0.3 click 1`;
    for (let look = 0; look < LOOKS; look++) {
      if (await outcome()) return true;
      await Bun.sleep(50);
    }
    return false;
  });
}

/** A subscribed browser without a page, and the notification that its worker shows for a question. */
async function begin() {
  const { app, person, agent } = await start();
  const { context, page } = await subscribe(app.url, person);
  const worker = await workerOf(page, app.url);
  // The next test finds its own notification at the same place.
  afterAll(() =>
    worker.evaluate(async () => {
      const shown: Notification[] = await (globalThis as any).registration.getNotifications();
      for (const one of shown) one.close();
    }),
  );
  await page.goto("about:blank");
  const shown = async (wanted: string) =>
    (await shownBy(worker))
      .filter(({ tag }) => tag === wanted)
      .map(({ title, body }) => `${title}: ${body}`);
  const asked = async (prompt: string) => {
    const { id } = await ask(agent.send, { prompt });
    await until(async () => (await shown(id))[0] === `Question from agent: ${prompt}`);
    return id;
  };
  return { app, person, context, page, shown, asked };
}

const answerOf = async ({ send }: Person, id: string) =>
  (await send(`GET /v1/questions/${id}`)).body.answer;

test("a real notification button answers while no page is open", async () => {
  const { person, shown, asked } = await begin();
  const id = await asked("Publish version 2.4 now?");
  await clickAt(SECOND_BUTTON, async () => (await answerOf(person, id)) === "No");
  await until(async () => (await shown(id))[0]?.endsWith(": Answered: No"));
});

test("a real click elsewhere opens the question, or leads the open tab to it", async () => {
  const { app, context, page, asked } = await begin();
  const first = await asked("Without a tab?");
  const tabs = context.pages().length;
  await clickAt(BODY, () => context.pages().length > tabs);
  const opened = context.pages().at(-1)!;
  await opened.waitForURL(`${app.url}/#/questions/${first}`);
  await opened.close();
  const tab = await openTab(context, `${app.url}/#/tasks`);
  await untilLive(tab);
  await page.bringToFront();
  await until(() => tab.evaluate(() => !document.hasFocus()));
  const second = await asked("With a tab?");
  const count = context.pages().length;
  const hash = () => tab.evaluate(() => location.hash);
  await clickAt(BODY, async () => (await hash()) === `#/questions/${second}`);
  await until(() => tab.evaluate(() => document.visibilityState === "visible"));
  expect(context.pages().length).toBe(count);
  await go(tab, "tasks");
});
