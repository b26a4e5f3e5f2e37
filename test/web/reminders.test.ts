/** Reminders of questions, silent agents, and the settings for both. */

import { expect } from "bun:test";
import { openStore } from "../../db/store/open.ts";
import { sql } from "../../db/store/sql.ts";
import { statement } from "../../db/store/statement.ts";
import { systemClock } from "../../src/clock.ts";
import { startTestApp } from "../support/app.ts";
import { ask, createPair, createTask } from "../support/client.ts";
import { createTestStore } from "../support/store.ts";
import { until } from "../support/until.ts";
import { browserTests, card, DESK, openPage, PHONE, press } from "./browser.ts";
import { expectNoOverflow, untilSettled, violations } from "./page-checks.ts";

const webTest = browserTests();
const { url: database_url } = await createTestStore();
const app = await startTestApp({ database_url });
const store = await openStore({ url: database_url, auth_token: undefined }, systemClock);

for (const [name, size] of Object.entries({ phone: PHONE, desk: DESK })) {
  webTest(`one tap on a question sets a reminder: ${name}`, async () => {
    const { person, agent } = await createPair(app.url);
    const { id, expires_at } = await ask(agent.send, { prompt: "Publish it?" });
    const page = await openPage(app.url, { as: person, size });
    const reminders = card(page, "Publish it?").getByRole("group", { name: "Remind me" });
    const remindAt = async () => (await agent.send(`GET /v1/questions/${id}`)).body.remind_at;
    await press(reminders.getByRole("button", { name: "In 10 min" }));
    const set = card(page, "Publish it?").getByRole("group", { name: /^Reminder at/ });
    await set.waitFor();
    expect(await remindAt()).toBeLessThan(Date.now() / 1000 + 601);
    // The question lasts an hour, so an hour would be too late.
    expect(await set.getByRole("button", { name: "In 1 hour" }).count()).toBe(0);
    await press(set.getByRole("button", { name: /^At / }));
    await until(async () => (await remindAt()) === expires_at - 120);
    await untilSettled(page);
    expect(await violations(page)).toEqual([]);
    await expectNoOverflow(page);
    // It can still be answered.
    await press(card(page, "Publish it?").getByRole("button", { name: "Yes" }));
    await card(page, "Publish it?").waitFor({ state: "detached" });
  });

  webTest(`a silent agent shows on its task and on itself, until it is back: ${name}`, async () => {
    const { person, agent } = await createPair(app.url);
    const task = await createTask(agent.send, {
      title: "Build",
      status: "in_progress",
      expect_update_within: 1_800,
    });
    const since = Date.now() - 2_000_000;
    const silence = `update tasks set silent_since = ${since}, silent_due_at = null where id = '${task.id}'`;
    await store.write([statement(sql.raw(silence))({})]);
    const page = await openPage(app.url, { as: person, size, at: "#/tasks" });
    const row = page.getByRole("link", { name: /Build/ });
    await row.getByText("silent since").waitFor();
    await untilSettled(page);
    const found: Record<string, string[]> = { tasks: await violations(page) };
    await expectNoOverflow(page);
    await row.click();
    await page.getByRole("dialog").getByText("Silent", { exact: true }).waitFor();
    await untilSettled(page);
    found.task = await violations(page);
    await page.goto(`${app.url}/#/agents`);
    await page.getByRole("link", { name: /agent/ }).getByText("Silent").waitFor();
    await untilSettled(page);
    found.agents = await violations(page);
    await page.goto(`${app.url}/#/agents/${agent.key.id}`);
    await page.getByText("no sign of life").waitFor();
    await untilSettled(page);
    found.agent = await violations(page);
    await expectNoOverflow(page);
    await agent.send(`PATCH /v1/tasks/${task.id}`, { progress: 10 });
    await page.getByText("no sign of life").waitFor({ state: "detached" });
    expect(found).toEqual({ tasks: [], task: [], agents: [], agent: [] });
  });
}

webTest("the person sets when a silent agent is reported, and turns nudges off", async () => {
  const { person, agent } = await createPair(app.url);
  const task = await createTask(agent.send, { title: "Build", expect_update_within: 420 });
  const page = await openPage(app.url, { as: person, at: `#/tasks/${task.id}` });
  await page.getByRole("button", { name: "Edit" }).click();
  const choice = page.getByLabel("Tell me if the agent falls silent");
  expect(await choice.locator("option:checked").textContent()).toBe("After 7 minutes");
  await choice.selectOption("After 30 minutes");
  await page.getByRole("button", { name: "Save" }).click();
  const read = async () =>
    (await person.send(`GET /v1/tasks/${task.id}`)).body.expect_update_within;
  await until(async () => (await read()) === 1_800);
  await page.getByRole("button", { name: "Edit" }).click();
  await choice.selectOption("Never");
  await page.getByRole("button", { name: "Save" }).click();
  await until(async () => (await read()) === null);

  await page.goto(`${app.url}/#/account`);
  const nudges = page.getByRole("switch", { name: "Nudges" });
  await until(async () => await nudges.isChecked());
  await nudges.click();
  await until(async () => {
    const { settings } = (await person.send("GET /v1/account")).body;
    return settings.nudges === false && settings.live_activities === true;
  });
  await until(async () => !(await nudges.isChecked()));
});
