/** Several tasks are chosen, and finished or deleted together. */

import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { startTestApp } from "../support/app.ts";
import { createPair, createTask } from "../support/client.ts";
import { until } from "../support/until.ts";
import {
  browserTests,
  type DESK,
  expectComplaints,
  openProfile,
  PHONE,
  untilLive,
  untilSteady,
} from "./browser.ts";
import { untilFocused } from "./keys.ts";
import { expectNoOverflow, untilSettled, violations } from "./page-checks.ts";
import { resumeTime, stopTime } from "./page-time.ts";

const webTest = browserTests();
const app = await startTestApp();

/** Folder for screenshots to look at; none when unset. */
const PICTURES = process.env.RELAY_TEST_PICTURES;

const box = (page: Page, title: string) => page.getByRole("checkbox", { name: title, exact: true });
const undo = (page: Page) => page.getByRole("button", { name: "Undo", exact: true });
const bar = (page: Page) => page.getByRole("region", { name: "Chosen tasks" });

async function open(count: number, options: { size?: typeof DESK; touch?: true } = {}) {
  const { person, agent } = await createPair(app.url);
  const ids: string[] = [];
  // The last one made is the first in the list.
  for (let i = count; i >= 1; i--) {
    ids.unshift((await createTask(agent.send, { title: `Task ${i}` })).id);
  }
  const context = await openProfile(app.url, { as: person, ...options });
  const page = await context.newPage();
  await page.clock.install();
  await page.goto(`${app.url}/#/tasks`);
  await untilLive(page);
  const statuses = async () => {
    const { body } = await agent.send("GET /v1/tasks?limit=200");
    const of = new Map<string, string>(
      body.tasks.map(({ id, status }: { id: string; status: string }) => [id, status]),
    );
    return ids.map((id) => of.get(id) ?? "gone");
  };
  return { agent, ids, page, statuses };
}

webTest(
  "tasks chosen by mouse and keyboard are finished together, with one Undo for all",
  async () => {
    const { page, statuses } = await open(6);
    await page.getByRole("button", { name: "Choose", exact: true }).click();
    await box(page, "Task 1").click();
    await box(page, "Task 4").click({ modifiers: ["Shift"] });
    await bar(page).getByText("4 chosen").waitFor();
    expect(await box(page, "Task 3").getAttribute("aria-checked")).toBe("true");
    await box(page, "Task 3").press("Space");
    await box(page, "Task 6").press("x");
    await bar(page).getByText("4 chosen").waitFor();
    await untilSettled(page);
    await expectNoOverflow(page);
    expect(await violations(page)).toEqual([]);
    if (PICTURES) await page.screenshot({ path: `${PICTURES}/choosing-desk.png` });
    // Escape ends the choice, X begins one at the focused task.
    await page.keyboard.press("Escape");
    await bar(page).waitFor({ state: "detached" });
    await page.getByRole("link", { name: "Task 2" }).press("x");
    await untilFocused(page, /^button: Task 2/);
    await box(page, "Task 4").press("Shift+X");
    await bar(page).getByText("3 chosen").waitFor();
    await stopTime(page);
    await bar(page).getByRole("button", { name: "Finish 3" }).click();
    await page.getByText("3 tasks finished", { exact: true }).waitFor();
    await bar(page).waitFor({ state: "detached" });
    await page.getByRole("button", { name: /^To do 3/ }).waitFor();
    await undo(page).click();
    await page.getByRole("button", { name: /^To do 6/ }).waitFor();

    await page.getByRole("button", { name: "Choose", exact: true }).click();
    await bar(page).getByRole("button", { name: "Choose all" }).click();
    await bar(page).getByRole("button", { name: "Finish 6" }).click();
    await undo(page).waitFor();
    await resumeTime(page);
    await page.clock.fastForward(6_100);
    await until(async () => (await statuses()).every((status) => status === "done"));
  },
);

webTest("a long press chooses on a phone, and what fails says which task it was", async () => {
  expectComplaints(/429|Failed to load resource/);
  const { page, agent, ids, statuses } = await open(8, { size: PHONE, touch: true });
  await untilSteady(page.getByRole("link", { name: "Task 2" }));
  const { x, y } = (await page.getByRole("link", { name: "Task 2" }).boundingBox())!;
  const touch = await page.context().newCDPSession(page);
  const point = { x: x + 40, y: y + 20 };
  await touch.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: [point] });
  await page.clock.fastForward(600);
  await bar(page).getByText("1 chosen").waitFor();
  await touch.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
  await box(page, "Task 4").tap();
  await bar(page).getByText("2 chosen").waitFor();
  await untilSettled(page);
  await expectNoOverflow(page);
  expect(await violations(page)).toEqual([]);
  if (PICTURES) await page.screenshot({ path: `${PICTURES}/choosing-phone.png` });
  await bar(page).getByRole("button", { name: "Choose all" }).tap();

  // At most 4 requests at once, and a refusal for the pace is waited out.
  let now = 0;
  let most = 0;
  let refused = 0;
  const deleted: string[] = [];
  await page.route("**/trpc/tasks.delete", async (route) => {
    most = Math.max(most, ++now);
    const { task_id } = route.request().postDataJSON();
    await until(() => now === 4 || deleted.length > 0 || refused > 0);
    if (task_id === ids[0] && refused++ === 0) {
      const data = { code_name: "rate_limited", fields: {} };
      const json = { error: { message: "Too many requests", code: -32_029, data } };
      await route.fulfill({ status: 429, headers: { "retry-after": "7" }, json });
    } else {
      deleted.push(task_id);
      await route.continue();
    }
    now--;
  });
  await stopTime(page);
  await bar(page).getByRole("button", { name: "Delete 8" }).tap();
  await page.getByText("Deleting 8 tasks", { exact: true }).waitFor();
  await agent.send(`PATCH /v1/tasks/${ids[7]}`, { status: "done" });
  await resumeTime(page);
  await page.clock.fastForward(6_100);
  await until(() => deleted.length === 6);
  expect(refused).toBe(1);
  await page.clock.fastForward(7_100);
  await page.getByText("Task not deleted: Task 8. It was finished meanwhile.").waitFor();
  await until(async () => (await statuses()).join() === `${"gone,".repeat(7)}done`);
  expect(most).toBe(4);
  // Each was sent once, except for the one that was refused.
  expect(new Set(deleted).size).toBe(7);
  expect(deleted).toHaveLength(7);
});
