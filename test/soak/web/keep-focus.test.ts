/** The focus when its element becomes disabled or scrolls out of view. */

import { expect } from "bun:test";
import type { Route } from "playwright-core";
import { startTestApp } from "../../support/app.ts";
import { ask, createPair, createTask, DEVICE } from "../../support/client.ts";
import { until } from "../../support/until.ts";
import {
  browserTests,
  expectComplaints,
  go,
  openPage,
  openProfile,
  untilLive,
} from "../../web/browser.ts";
import { act, actInDialog, focused, untilFocused } from "../../web/keys.ts";
import { drawn } from "../../web/page-checks.ts";

const webTest = browserTests();
const app = await startTestApp();

webTest("a button that becomes disabled keeps the focus and does nothing", async () => {
  expectComplaints(/ERR_FAILED/);
  const { person, agent } = await createPair(app.url);
  const page = await openPage(app.url, { as: person, at: `#/agents/${agent.key.id}/inbox` });
  let sent = 0;
  page.on("request", (request) => {
    if (request.url().includes("messages.send")) sent++;
  });
  await page.getByLabel("Message to agent").fill("Hello");
  await act(page, "button", "Send message");
  await page.getByText("Message sent").waitFor();
  await drawn(page);
  expect(await focused(page)).toBe("button: Send message");
  expect(await page.getByRole("button", { name: "Send message" }).isDisabled()).toBe(true);
  await page.getByLabel("Message to agent").fill("  ");
  await page.getByRole("button", { name: "Send message" }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Send message" }).dispatchEvent("click");
  await drawn(page);
  expect(sent).toBe(1);

  // A button that is briefly disabled gets the focus back.
  const one = await createTask(agent.send, { title: "One" });
  await go(page, `tasks/${one.id}`);
  let lost = false;
  const lose = (route: Route) => {
    lost = true;
    setTimeout(() => route.abort(), 200);
  };
  await page.route("**/trpc/tasks.update", lose, { times: 1 });
  await until(async () => {
    if (!lost) await act(page, "button", "Start");
    return lost;
  });
  await page.getByRole("dialog").getByText("Couldn't reach the server").waitFor();
  await untilFocused(page, /^button: Start/);

  // The form of a deleted task.
  const { id } = await createTask(agent.send, { title: "Two" });
  await go(page, `tasks/${id}`);
  await act(page, "button", "Edit");
  // The sheet takes the focus itself once it is open.
  await until(async () => {
    await page.getByRole("button", { name: "Save" }).focus();
    await drawn(page);
    return (await focused(page)) === "button: Save";
  });
  await agent.send(`DELETE /v1/tasks/${id}`);
  await page.getByText("This task was deleted.").waitFor();
  await drawn(page);
  expect(await focused(page)).toBe("button: Save");
});

webTest("a question that expires keeps the focus and accepts no answer", async () => {
  const { person, agent } = await createPair(app.url);
  await ask(agent.send, { prompt: "Yes or no?", expires_in: 100 });
  await ask(agent.send, { prompt: "What?", kind: "text", expires_in: 200 });
  const page = await (await openProfile(app.url, { as: person })).newPage();
  await page.clock.install();
  await page.goto(app.url);
  await untilLive(page);
  // The page reads the time from the response to its next stream, and would set its clock back.
  await page.route("**/v1/events", () => {});
  let calls = 0;
  page.on("request", (request) => {
    if (request.url().includes("questions.answer")) calls++;
  });
  const words = page.getByRole("textbox", { name: "Your answer" });
  await words.fill("Half");
  await page.getByRole("button", { name: "Yes" }).focus();
  await page.clock.fastForward(120_000);
  await page.getByText("Expired").first().waitFor();
  await drawn(page);
  expect(await focused(page)).toMatch(/^button: Yes/);
  await page.keyboard.press("Enter");
  await page.keyboard.press("y");
  await words.focus();
  await page.clock.fastForward(120_000);
  await page.getByText("Expired").nth(1).waitFor();
  await drawn(page);
  expect(await focused(page)).toBe("textarea: Your answer");
  await page.keyboard.type("more");
  await page.keyboard.press("Enter");
  expect(await words.inputValue()).toBe("Half");
  await drawn(page);
  expect(calls).toBe(0);
});

webTest("loading more of a list moves the focus to the first new item", async () => {
  const { person, agent } = await createPair(app.url);
  for (let i = 0; i < 15; i++) {
    const { id } = await ask(agent.send, { prompt: `No. ${i}` });
    await agent.send(`DELETE /v1/questions/${id}`);
  }
  const page = await openPage(app.url, { as: person });
  await act(page, "button", "Show more");
  await untilFocused(page, /^a: .*No\. 4/);
});

webTest("a removed item passes the focus to the next item, or to the heading", async () => {
  const { person } = await createPair(app.url);
  for (const model of ["Phone", "Tablet"]) {
    await person.send(`PUT /v1/devices/dev_${crypto.randomUUID()}`, { ...DEVICE, model });
  }
  const page = await openPage(app.url, { as: person, at: "#/account" });
  const remove = async (model: string) => {
    await act(page, "button", `Remove ${model}`);
    await actInDialog(page, "Remove device");
  };
  await remove("Phone");
  await untilFocused(page, /^button: Remove Tablet/);
  await remove("Tablet");
  await untilFocused(page, /^h2: Devices/);
});

webTest("a row that scrolls out of view keeps the focus", async () => {
  const { person, agent } = await createPair(app.url);
  for (let i = 0; i < 80; i++) {
    await createTask(agent.send, { title: `No. ${i}`, status: "in_progress" });
  }
  const page = await openPage(app.url, { as: person, at: "#/tasks" });
  const rows = page.getByRole("list", { name: "Tasks" }).getByRole("link");
  await rows.nth(2).focus();
  const before = await focused(page);
  for (const top of [1_500, 3_000, 4_500]) {
    await page.evaluate((to) => window.scrollTo(0, to), top);
    await drawn(page);
    await drawn(page);
    expect(await focused(page)).toBe(before);
  }
  // The row is rendered, and no other row that is far away.
  expect(await page.locator("li:focus-within").getAttribute("aria-posinset")).toBe("4");
  expect(await rows.count()).toBeLessThan(40);
});

webTest("a form opened by going back focuses its first field", async () => {
  const { person } = await createPair(app.url);
  const page = await openPage(app.url, { as: person, at: "#/tasks" });
  await page.getByRole("link", { name: "New task" }).click();
  await untilFocused(page, /^input: /);
  await go(page, "account");
  await page.getByRole("button", { name: "Sign out" }).focus();
  await page.goBack();
  await page.getByRole("dialog").waitFor();
  await drawn(page);
  await drawn(page);
  await untilFocused(page, /^input: /);
  expect(await page.getByLabel("Title").evaluate((one) => one === document.activeElement)).toBe(
    true,
  );
});
