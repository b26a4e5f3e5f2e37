/** A page whose lists are rate limited still loads all of them. */

import { expect } from "bun:test";
import { startTestApp } from "../../support/app.ts";
import { createPair, createTask } from "../../support/client.ts";
import { until } from "../../support/until.ts";
import {
  browserTests,
  expectComplaints,
  keptIn,
  openProfile,
  untilLive,
} from "../../web/browser.ts";

const webTest = browserTests();
const app = await startTestApp();

webTest("a rate-limited load continues where it stopped, on the same stream", async () => {
  expectComplaints(/429/);
  const { person, agent } = await createPair(app.url);
  // Three list pages, because of their size.
  const description = "\u0001".repeat(10_000);
  for (let i = 0; i < 40; i++) await createTask(agent.send, { title: `Task ${i}`, description });
  const context = await openProfile(app.url, { as: person });
  const page = await context.newPage();
  const asked: string[] = [];
  let streams = 0;
  await page.route("**/v1/events", (route) => {
    streams++;
    return route.continue();
  });
  await page.route("**/trpc/tasks.list*", async (route) => {
    const url = route.request().url();
    const again = asked.includes(url);
    asked.push(url);
    if (again) return route.continue();
    const data = {
      code: "TOO_MANY_REQUESTS",
      httpStatus: 429,
      path: "tasks.list",
      code_name: "rate_limited",
    };
    await route.fulfill({
      status: 429,
      headers: { "retry-after": "0.2", "content-type": "application/json" },
      body: JSON.stringify({ error: { message: "Too many requests.", code: -32029, data } }),
    });
  });
  await page.goto(app.url);
  await untilLive(page);
  expect(streams).toBe(1);
  // Each list page was refused once and requested again once.
  expect(asked.length).toBe(2 * new Set(asked).size);
  expect(new Set(asked).size).toBeGreaterThanOrEqual(4);
  await until(async () => (await keptIn(page, "tasks")).length === 40);
});
