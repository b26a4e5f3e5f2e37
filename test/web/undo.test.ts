/** Changes that can be undone: shown at once, sent after some seconds or when the page is left, never lost. */

import { expect } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { createAgent } from "../support/client.ts";
import { until } from "../support/until.ts";
import { browserTests, DESK, expectComplaints, go, PHONE, press, untilLive } from "./browser.ts";
import { untilFocused } from "./keys.ts";
import { drawn, expectNoOverflow, untilSettled, violations } from "./page-checks.ts";
import { resumeTime, stopTime } from "./page-time.ts";
import {
  bars,
  changesIn,
  finish,
  openTasks,
  remove,
  row,
  sheet,
  stored,
  undo,
} from "./undo-scene.ts";

const webTest = browserTests({ worker: true });
const app = await startTestApp();

/** Folder for screenshots to look at; none when unset. */
const PICTURES = process.env.RELAY_TEST_PICTURES;

webTest("a finished task can be undone by the keyboard, and is sent after 6 seconds", async () => {
  const { page, statusOf } = await openTasks(app.url, ["Fix the login", "Another"]);
  const requests = changesIn(page);
  await stopTime(page);
  await press(finish(page, "Fix the login"));
  await bars(page).getByText("Task finished Fix the login").waitFor();
  await page
    .getByRole("status")
    .getByText("Task finished: Fix the login. Press Control Z to undo.")
    .waitFor();
  await finish(page, "Fix the login").waitFor({ state: "detached" });
  // The focus is where the row was, and the bar hides no control.
  await untilFocused(page, /^(a|button): /);
  await stopTime(page, 5_000);
  await page.keyboard.press("Control+z");
  await finish(page, "Fix the login").waitFor();
  expect(await bars(page).count()).toBe(0);
  expect(requests).toEqual([]);

  // The time does not run out while the focus is on the button.
  await press(finish(page, "Fix the login"));
  await undo(page).focus();
  await resumeTime(page);
  await page.clock.fastForward(20_000);
  expect(await statusOf("Fix the login")).toBe("todo");
  await page.keyboard.press("Enter");
  await untilFocused(page, /^a: Fix the login/);
  expect(await stored(page)).toBeNull();

  // In a field, the keys undo typing.
  await stopTime(page);
  await press(finish(page, "Fix the login"));
  await go(page, "search");
  const field = page.getByRole("searchbox");
  await field.fill("x");
  await field.press("Control+z");
  await undo(page).waitFor();
  await resumeTime(page);
  await page.clock.fastForward(6_100);
  await until(async () => (await statusOf("Fix the login")) === "done");
  await until(async () => (await stored(page)) === null);
  expect(await undo(page).count()).toBe(0);
  expect(requests).toEqual(["tasks.update"]);
});

for (const [name, size, touch] of [
  ["desk", DESK, undefined],
  ["phone", PHONE, true],
] as const) {
  webTest(
    `deleting and cancelling ask nothing, and Undo is one tap away on a ${name}`,
    async () => {
      const long = "Supercalifragilisticexpialidocious ".repeat(4).trim();
      const { page, agent, statusOf, ids } = await openTasks(
        app.url,
        [long, "שלום עולם", "Third", "Fourth"],
        {
          size,
          ...(touch && { touch }),
        },
      );
      // The time to undo does not run out meanwhile.
      const at = Date.now();
      await page.clock.setFixedTime(at);
      await remove(page, long.slice(0, 40));
      expect(await page.getByRole("alertdialog").count()).toBe(0);
      await remove(page, "שלום עולם");
      await untilSettled(page);
      // Two changes have a button each.
      expect(await undo(page).count()).toBe(2);
      await expectNoOverflow(page);
      expect(await violations(page)).toEqual([]);
      // A name from right to left is cut at its own end.
      const direction = (one: Element) => getComputedStyle(one).direction;
      expect(await bars(page).locator("bdi").last().evaluate(direction)).toBe("rtl");
      // The bars take room of their own: the end of the view can be scrolled above them.
      await page.evaluate(() => window.scrollTo(0, document.documentElement.scrollHeight));
      const end = (await row(page, "Third").boundingBox())!;
      const bar = (await bars(page).getByText("Task deleted").first().boundingBox())!;
      expect(end.y + end.height).toBeLessThanOrEqual(bar.y);
      if (PICTURES) await page.screenshot({ path: `${PICTURES}/undo-${name}.png` });
      await undo(page).last()[touch ? "tap" : "click"]();
      await row(page, "שלום עולם").waitFor();
      expect(await undo(page).count()).toBe(1);

      // In an open sheet, the bar is part of it.
      await page.getByRole("link", { name: "Third" }).click();
      await sheet(page).getByRole("button", { name: "Cancel task" }).click();
      await sheet(page).getByText("Cancelled", { exact: true }).waitFor();
      await sheet(page).getByText("Task cancelled Third").waitFor();
      await untilSettled(page);
      await expectNoOverflow(page);
      expect(await violations(page, "[role=dialog]")).toEqual([]);
      if (PICTURES) await page.screenshot({ path: `${PICTURES}/undo-sheet-${name}.png` });
      await undo(page).last()[touch ? "tap" : "click"]();
      await sheet(page).getByText("To do", { exact: true }).waitFor();
      // What was undone in time was never sent.
      await page.clock.setSystemTime(at);
      await page.clock.fastForward(6_100);
      await until(async () => (await agent.send(`GET /v1/tasks/${ids[long]}`)).status === 404);
      expect([await statusOf("Third"), await statusOf("שלום עולם")]).toEqual(["todo", "todo"]);
    },
  );
}

webTest("a change is kept over a reload, and is sent when the page is left or hidden", async () => {
  // A deletion that was sent while the page was left is confirmed by a second one.
  expectComplaints(/404/);
  const { page, statusOf } = await openTasks(app.url, ["Reloaded", "Left", "Hidden"]);
  const requests = changesIn(page);
  await stopTime(page);
  await remove(page, "Reloaded");
  await page.reload();
  await undo(page).waitFor();
  await untilLive(page);
  expect(await row(page, "Reloaded").count()).toBe(0);
  expect(requests).toEqual([]);
  expect(await statusOf("Reloaded")).toBe("todo");
  await undo(page).click();
  await row(page, "Reloaded").waitFor();
  await remove(page, "Reloaded");
  await page.reload();
  await undo(page).waitFor();
  await untilLive(page);
  await resumeTime(page);
  await page.clock.fastForward(6_100);
  await until(async () => (await statusOf("Reloaded")) === "gone");

  await remove(page, "Left");
  await page.goto("about:blank");
  await until(async () => (await statusOf("Left")) === "gone");
  await page.goto(`${app.url}/#/tasks`);
  await untilLive(page);
  await row(page, "Hidden").waitFor();
  expect(await undo(page).count()).toBe(0);

  await press(finish(page, "Hidden"));
  await finish(page, "Hidden").waitFor({ state: "detached" });
  await page.evaluate(() => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => true });
    document.dispatchEvent(new Event("visibilitychange"));
  });
  await until(async () => (await statusOf("Hidden")) === "done");
  await until(async () => (await stored(page)) === null);
  // Nothing that was sent is offered for undo.
  expect(await undo(page).count()).toBe(0);
});

webTest("signing out sends what waits", async () => {
  const { page, statusOf, person } = await openTasks(app.url, ["Before signing out"]);
  await remove(page, "Before signing out");
  await go(page, "account");
  await page.getByRole("button", { name: "Sign out", exact: true }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Sign out" }).click();
  await page.getByText("You're signed out").waitFor();
  expect(await statusOf("Before signing out")).toBe("gone");
  await page.waitForFunction(() => localStorage.length === 0);
  expect((await person.send("GET /v1/account")).status).toBe(200);
});

webTest("a deleted agent disappears with all it has, and Undo brings everything back", async () => {
  const { page, agent, person, statusOf } = await openTasks(app.url, ["Its task"]);
  const other = await createAgent(app.url, person, "Stays");
  await go(page, `agents/${agent.key.id}/key`);
  await stopTime(page);
  await page.getByRole("button", { name: "Delete agent" }).click();
  await page.getByRole("heading", { name: "Agents", exact: true }).waitFor();
  await bars(page).getByText(`Agent deleted ${agent.key.label}`).waitFor();
  expect(await page.getByRole("listitem").filter({ hasText: "Stays" }).count()).toBe(1);
  // Its key works until then, and what it asks is there after an undo.
  expect(
    (await agent.send("POST /v1/questions", { prompt: "Still here?", kind: "confirm" })).status,
  ).toBe(201);
  await go(page, "questions");
  await page.getByText("All caught up").waitFor();
  await drawn(page);
  expect(await page.getByText("Still here?").count()).toBe(0);
  await undo(page).click();
  await page.getByText("Still here?").waitFor();
  await go(page, "tasks");
  await row(page, "Its task").waitFor();

  await go(page, `agents/${agent.key.id}/key`);
  await page.getByRole("button", { name: "Delete agent" }).click();
  await undo(page).waitFor();
  await resumeTime(page);
  await page.clock.fastForward(6_100);
  await until(async () => (await statusOf("Its task")) === "gone");
  expect((await agent.send("GET /v1/tasks")).status).toBe(401);
  expect((await other.send("GET /v1/tasks")).status).toBe(200);
});
