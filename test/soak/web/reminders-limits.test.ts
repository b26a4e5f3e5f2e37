/** Silences of days, and the time of a new task's report. */

import { expect } from "bun:test";
import { openStore } from "../../../db/store/open.ts";
import { sql } from "../../../db/store/sql.ts";
import { statement } from "../../../db/store/statement.ts";
import { systemClock } from "../../../src/clock.ts";
import { startTestApp } from "../../support/app.ts";
import { createAgent, createPair, createTask } from "../../support/client.ts";
import { createTestStore } from "../../support/store.ts";
import { until } from "../../support/until.ts";
import { browserTests, openPage, PHONE } from "../../web/browser.ts";

const webTest = browserTests();
const { url: database_url } = await createTestStore();
const app = await startTestApp({ database_url });
const store = await openStore({ url: database_url, auth_token: undefined }, systemClock);

webTest(
  "the list shows a silence of days with its date, beside a name that fills the line",
  async () => {
    const { person } = await createPair(app.url);
    const agent = await createAgent(app.url, person, "builder".repeat(11));
    const body = { title: "Build", status: "in_progress", expect_update_within: 86_400 };
    const task = await createTask(agent.send, body);
    const since = Date.now() - 3 * 86_400_000;
    const silence = `update tasks set silent_since = ${since}, silent_due_at = null where id = '${task.id}'`;
    await store.write([statement(sql.raw(silence))({})]);
    const page = await openPage(app.url, { as: person, size: PHONE, at: "#/tasks" });
    const mark = page.getByRole("link", { name: /Build/ }).getByText("Silent since");
    const at = (options: object) => new Intl.DateTimeFormat("en-US", options).format(since);
    expect(await mark.textContent()).toContain(at({ month: "short", day: "numeric" }));
    const is_whole = await mark.evaluate(
      (text) =>
        text.getBoundingClientRect().right <= text.parentElement!.getBoundingClientRect().right,
    );
    expect(is_whole).toBe(true);
  },
);

webTest("a new task of the person says when a silent agent is reported", async () => {
  const { person } = await createPair(app.url);
  const page = await openPage(app.url, { as: person, at: "#/tasks/new" });
  await page.getByLabel("Title").fill("Sweep");
  await page.getByLabel("Tell me if the agent falls silent").selectOption("After 1 hour");
  await page.getByRole("button", { name: "Create task" }).click();
  await until(async () => {
    const { tasks } = (await person.send("GET /v1/tasks")).body;
    return tasks[0]?.expect_update_within === 3_600;
  });
});
