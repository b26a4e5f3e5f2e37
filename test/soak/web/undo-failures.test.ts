/** Undo beside failures: without the server, in several tabs, after changes by others, and when the sign-in ends. */

import { expect } from "bun:test";
import { startTestApp } from "../../support/app.ts";
import { until } from "../../support/until.ts";
import {
  browserTests,
  expectComplaints,
  goOffline,
  keptIn,
  press,
  untilLive,
} from "../../web/browser.ts";
import { untilSettled, violations } from "../../web/page-checks.ts";
import {
  bars,
  changesIn,
  finish,
  openTasks,
  remove,
  row,
  stored,
  undo,
} from "../../web/undo-scene.ts";

const webTest = browserTests({ worker: true });
const app = await startTestApp();

/** Folder for screenshots to look at; none when unset. */
const PICTURES = process.env.RELAY_TEST_PICTURES;

webTest("tabs show the same changes, either can undo, and one of them sends", async () => {
  const { context, page, tab, statusOf } = await openTasks(app.url, ["Shared"]);
  const other = await tab();
  const requests = changesIn(context);
  await remove(page, "Shared");
  await row(other, "Shared").waitFor({ state: "detached" });
  await undo(other).click();
  for (const one of [page, other]) await row(one, "Shared").waitFor();
  await remove(other, "Shared");
  await undo(page).waitFor();
  await Promise.all([page, other].map((one) => one.clock.fastForward(6_100)));
  await until(async () => (await statusOf("Shared")) === "gone");
  for (const one of [page, other]) await undo(one).waitFor({ state: "detached" });
  expect(requests).toEqual(["tasks.delete"]);
});

webTest("offline, changes are kept, say so, can be undone, and are sent later", async () => {
  const { page, statusOf } = await openTasks(app.url, ["Gone", "Stays", "Third"]);
  await until(async () => (await keptIn(page, "tasks")).length === 3);
  await goOffline(page);
  await remove(page, "Gone");
  await remove(page, "Stays");
  await page.clock.fastForward(10_000);
  await bars(page).getByText("Not sent yet. The server can't be reached.").first().waitFor();
  await page.reload();
  await row(page, "Third").waitFor();
  await bars(page).getByText("Task deleted Gone").waitFor();
  expect(await row(page, "Gone").count()).toBe(0);
  await undo(page).last().click();
  await row(page, "Stays").waitFor();
  await page.context().setOffline(false);
  await untilLive(page);
  await page.clock.fastForward(6_100);
  await until(async () => (await statusOf("Gone")) === "gone");
  expect(await statusOf("Stays")).toBe("todo");
});

webTest("what cannot be done any more comes back and says why", async () => {
  expectComplaints(/Failed to load resource/);
  const { page, agent, ids, statusOf } = await openTasks(app.url, [
    "Finished by the agent",
    "Deleted by the agent",
  ]);
  const requests = changesIn(page);
  await remove(page, "Finished by the agent");
  await agent.send(`PATCH /v1/tasks/${ids["Finished by the agent"]}`, { status: "done" });
  await page.clock.fastForward(6_100);
  await bars(page).getByText("Task not deleted").waitFor();
  await bars(page).getByText("Finished by the agent: It was finished meanwhile.").waitFor();
  await page.getByRole("button", { name: "Done", exact: false }).first().click();
  await row(page, "Finished by the agent").waitFor();
  expect(requests).toEqual([]);
  await untilSettled(page);
  expect(await violations(page)).toEqual([]);
  if (PICTURES) await page.screenshot({ path: `${PICTURES}/undo-refused.png` });
  // It stays until the person has seen it.
  await page.reload();
  await page.getByRole("button", { name: /^OK/ }).click();
  await until(async () => (await stored(page)) === null);

  await untilLive(page);
  await press(finish(page, "Deleted by the agent"));
  await undo(page).waitFor();
  await agent.send(`DELETE /v1/tasks/${ids["Deleted by the agent"]}`);
  await page.clock.fastForward(6_100);
  await bars(page).getByText("Deleted by the agent: It no longer exists.").waitFor();
  expect(await statusOf("Deleted by the agent")).toBe("gone");
});

webTest("a finish whose response was lost is not repeated over a later change", async () => {
  expectComplaints(/ERR_FAILED|Failed to fetch/);
  const { page, agent, ids, statusOf } = await openTasks(app.url, ["Lost"]);
  let requests = 0;
  await page.route("**/trpc/tasks.update", async (route) => {
    requests++;
    await route.fetch();
    await agent.send(`PATCH /v1/tasks/${ids.Lost}`, { status: "in_progress" });
    await route.abort();
  });
  await press(finish(page, "Lost"));
  await undo(page).waitFor();
  await page.clock.fastForward(6_100);
  await bars(page).getByText("Not sent yet. The server can't be reached.").waitFor();
  expect(await undo(page).count()).toBe(0);
  await page.clock.fastForward(10_000);
  await bars(page).getByText("Lost: It was changed meanwhile.").waitFor();
  expect(await statusOf("Lost")).toBe("in_progress");
  expect(requests).toBe(1);
});

webTest(
  "deleting a task that waits to be finished can be undone to the finished task",
  async () => {
    const { page, statusOf } = await openTasks(app.url, ["Twice"]);
    const requests = changesIn(page);
    await press(finish(page, "Twice"));
    await page.getByRole("button", { name: /^Done/ }).click();
    await remove(page, "Twice");
    expect(await undo(page).count()).toBe(1);
    await undo(page).click();
    await row(page, "Twice").getByRole("img", { name: "Done" }).waitFor();
    await page.clock.fastForward(6_100);
    await until(async () => (await statusOf("Twice")) === "done" && requests.length > 0);
    expect(requests).toEqual(["tasks.update"]);
  },
);

webTest("a sign-in that is ended elsewhere says which change was not made", async () => {
  expectComplaints(/401|ERR_/);
  const { page, person, statusOf } = await openTasks(app.url, ["Not deleted"]);
  await goOffline(page);
  await remove(page, "Not deleted");
  const { body } = await person.send("GET /v1/sessions");
  expect((await person.send(`DELETE /v1/sessions/${body.sessions[0].id}?last=true`)).status).toBe(
    204,
  );
  await page.context().setOffline(false);
  await page.getByText("Task not deleted, since this browser was signed out first: ").waitFor();
  expect(await page.evaluate(() => localStorage.length + sessionStorage.length)).toBe(0);
  expect(await statusOf("Not deleted")).toBe("todo");
});
