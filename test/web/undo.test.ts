/** Changes that can be undone: ends of tasks are sent at once, deletions after some seconds in the page. */

import { expect } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { createAgent } from "../support/client.ts";
import { until } from "../support/until.ts";
import { browserTests, DESK, go, goOffline, keptIn, PHONE, untilLive } from "./browser.ts";
import { untilFocused } from "./keys.ts";
import { expectNoOverflow, untilSettled, violations } from "./page-checks.ts";
import { resumeTime, stopTime } from "./page-time.ts";
import {
  bars,
  changesIn,
  finish,
  openTasks,
  remove,
  row,
  sheet,
  toast,
  undo,
} from "./undo-scene.ts";

const webTest = browserTests({ worker: true });
const app = await startTestApp();

/** Folder for screenshots to look at; none when unset. */
const PICTURES = process.env.RELAY_TEST_PICTURES;

webTest("a finished task is sent at once, and undone by the keyboard for 6 seconds", async () => {
  const { page, taskOf, statusOf } = await openTasks(app.url, ["Fix the login", "Another"]);
  const requests = changesIn(page);
  const before = { status: "in_progress", progress: 40 };
  await taskOf("Fix the login", before);
  await row(page, "Fix the login").getByText("40%").waitFor();
  await stopTime(page);
  await finish(page, "Fix the login").press("Enter");
  await bars(page).getByText("Task finished Fix the login").waitFor();
  await page
    .getByRole("status")
    .getByText("Task finished: Fix the login. Press Control Z to undo.")
    .waitFor();
  await finish(page, "Fix the login").waitFor({ state: "detached" });
  expect(await taskOf("Fix the login")).toMatchObject({ status: "done", progress: 100 });
  // The focus is where the row was, and the bar hides no control.
  await untilFocused(page, /^(a|button): /);
  await page.keyboard.press("Control+z");
  await finish(page, "Fix the login").waitFor();
  await page.getByRole("status").getByText("Undone").waitFor();
  expect(await bars(page).count()).toBe(0);
  expect(await taskOf("Fix the login")).toMatchObject(before);

  // The time does not run out while the focus is on the button.
  await finish(page, "Fix the login").press("Enter");
  await undo(page).focus();
  await resumeTime(page);
  await page.clock.fastForward(20_000);
  await page.keyboard.press("Enter");
  await untilFocused(page, /^a: Fix the login/);
  expect(await taskOf("Fix the login")).toMatchObject(before);

  // In a field, the keys undo typing.
  await stopTime(page);
  await finish(page, "Fix the login").press("Enter");
  await undo(page).waitFor();
  await go(page, "search");
  const field = page.getByRole("searchbox");
  await field.fill("x");
  await field.press("Control+z");
  await undo(page).waitFor();
  await resumeTime(page);
  await page.clock.fastForward(6_100);
  await undo(page).waitFor({ state: "detached" });
  expect(await statusOf("Fix the login")).toBe("done");
  expect(requests).toEqual(Array.from({ length: 5 }, () => "tasks.update"));
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
      const bar = (await bars(page).getByText("Deleting task").first().boundingBox())!;
      expect(end.y + end.height).toBeLessThanOrEqual(bar.y);
      if (PICTURES) await page.screenshot({ path: `${PICTURES}/undo-${name}.png` });
      await undo(page).last()[touch ? "tap" : "click"]();
      await row(page, "שלום עולם").waitFor();
      expect(await undo(page).count()).toBe(1);

      // In an open sheet, the bar is part of it.
      await page.getByRole("link", { name: "Third" }).click();
      await sheet(page).getByRole("button", { name: "Cancel task" }).click();
      await sheet(page).getByRole("button", { name: "Reopen" }).waitFor();
      await sheet(page).getByText("Task cancelled Third").waitFor();
      await untilSettled(page);
      await expectNoOverflow(page);
      expect(await violations(page, "[role=dialog]")).toEqual([]);
      if (PICTURES) await page.screenshot({ path: `${PICTURES}/undo-sheet-${name}.png` });
      await undo(page).last()[touch ? "tap" : "click"]();
      await sheet(page).getByRole("button", { name: "Cancel task" }).waitFor();
      // A deletion that was undone in time is never sent.
      await page.clock.setSystemTime(at);
      await page.clock.fastForward(6_100);
      await until(async () => (await agent.send(`GET /v1/tasks/${ids[long]}`)).status === 404);
      expect([await statusOf("Third"), await statusOf("שלום עולם")]).toEqual(["todo", "todo"]);
    },
  );
}

webTest("a page that is closed before its time is over deletes nothing, and said so", async () => {
  const { page, statusOf } = await openTasks(app.url, ["Stays"]);
  await stopTime(page);
  await remove(page, "Stays");
  await bars(page).getByText("If you close this page, it stays.").waitFor();
  await page.reload();
  await untilLive(page);
  await row(page, "Stays").waitFor();
  expect(await undo(page).count()).toBe(0);
  expect(await statusOf("Stays")).toBe("todo");
});

webTest("after a sleep, a deletion can be undone for 6 seconds more", async () => {
  const { page, statusOf } = await openTasks(app.url, ["Asleep"]);
  await remove(page, "Asleep");
  await page.clock.fastForward(3_600_000);
  await undo(page).waitFor();
  expect(await statusOf("Asleep")).toBe("todo");
  await page.clock.fastForward(6_100);
  await until(async () => (await statusOf("Asleep")) === "gone");
  await undo(page).waitFor({ state: "detached" });
});

webTest(
  "what was changed meanwhile is neither undone nor deleted, and the page says so",
  async () => {
    const { page, taskOf, statusOf } = await openTasks(app.url, [
      "Noted",
      "Renamed",
      "Finished",
      "Worked on",
    ]);
    await stopTime(page);
    await finish(page, "Noted").press("Enter");
    await undo(page).waitFor();
    // The agent says itself that it is done.
    await taskOf("Noted", { status: "done", status_note: "All tests pass" });
    await undo(page).click();
    await toast(page, "Task not reopened: Noted. It was changed meanwhile.").waitFor();
    expect(await taskOf("Noted")).toMatchObject({ status: "done", status_note: "All tests pass" });

    // What Undo does not touch may change.
    await finish(page, "Renamed").press("Enter");
    await undo(page).waitFor();
    await taskOf("Renamed", { title: "Renamed by its agent" });
    await undo(page).click();
    await finish(page, "Renamed by its agent").waitFor();

    await remove(page, "Finished");
    await remove(page, "Worked on");
    await taskOf("Finished", { status: "done" });
    await taskOf("Worked on", { progress: 50 });
    await resumeTime(page);
    await page.clock.fastForward(6_100);
    await toast(page, "Task not deleted: Finished. It was finished meanwhile.").waitFor();
    expect(await statusOf("Finished")).toBe("done");
    await until(async () => (await statusOf("Worked on")) === "gone");
  },
);

webTest("Undo knows what was before, also if the page did not", async () => {
  const { page, taskOf } = await openTasks(app.url, ["Theirs", "Worked on"]);
  // The page shows what it kept, since its stream does not begin.
  await until(async () => (await keptIn(page, "tasks")).length === 2);
  await page.route("**/v1/events", () => {});
  await page.reload();
  await finish(page, "Theirs").waitFor();
  await taskOf("Theirs", { status: "done" });
  await taskOf("Worked on", { status: "in_progress", progress: 70 });
  await finish(page, "Theirs").press("Enter");
  await undo(page).click();
  await toast(page, "Task not reopened: Theirs. It was changed meanwhile.").waitFor();
  expect(await taskOf("Theirs")).toMatchObject({ status: "done" });
  await finish(page, "Worked on").press("Enter");
  await undo(page).click();
  await finish(page, "Worked on").waitFor();
  expect(await taskOf("Worked on")).toMatchObject({ status: "in_progress", progress: 70 });
});

webTest("without the server nothing changes, and the page says so", async () => {
  const { page, statusOf } = await openTasks(app.url, ["Finish me", "Delete me"]);
  await goOffline(page);
  await finish(page, "Finish me").press("Enter");
  await toast(page, "Task not finished: Finish me. Couldn't reach the server.").waitFor();
  await remove(page, "Delete me");
  await page.clock.fastForward(6_100);
  await toast(page, "Task not deleted: Delete me. Couldn't reach the server. Try again.").waitFor();
  await row(page, "Delete me").waitFor();
  await finish(page, "Finish me").waitFor();
  await page.context().setOffline(false);
  await untilLive(page);
  expect([await statusOf("Finish me"), await statusOf("Delete me")]).toEqual(["todo", "todo"]);
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

webTest("a deleted agent leaves the list, and Undo brings it back", async () => {
  const { page, agent, person, statusOf } = await openTasks(app.url, ["Its task"]);
  const other = await createAgent(app.url, person, "Stays");
  const card = (label: string) => row(page, label).locator("a");
  await go(page, `agents/${agent.key.id}/key`);
  await stopTime(page);
  await page.getByRole("button", { name: "Delete agent" }).click();
  await page.getByRole("heading", { name: "Agents", exact: true }).waitFor();
  await bars(page).getByText(`Deleting agent ${agent.key.label}`).waitFor();
  await card("Stays").waitFor();
  expect(await card(agent.key.label).count()).toBe(0);
  // It works until then.
  expect((await agent.send("GET /v1/tasks")).status).toBe(200);
  await undo(page).click();
  await card(agent.key.label).waitFor();
  await untilFocused(page, new RegExp(`^a: ${agent.key.label}`));

  await go(page, `agents/${agent.key.id}/key`);
  await page.getByRole("button", { name: "Delete agent" }).click();
  await undo(page).waitFor();
  await resumeTime(page);
  await page.clock.fastForward(6_100);
  await until(async () => (await statusOf("Its task")) === "gone");
  expect((await agent.send("GET /v1/tasks")).status).toBe(401);
  expect((await other.send("GET /v1/tasks")).status).toBe(200);
  await go(page, "tasks");
  await row(page, "Its task").waitFor({ state: "detached" });
});
