/** The page without its server shows saved data, says so, and catches up. */

import { expect } from "bun:test";
import { join } from "node:path";
import { startTestApp } from "../support/app.ts";
import { ask, createAgent, createPair, createTask, type Person } from "../support/client.ts";
import { startProcess } from "../support/process.ts";
import { freePort } from "../support/sqld.ts";
import { tempFolder } from "../support/temp.ts";
import { until } from "../support/until.ts";
import {
  browserTests,
  expectComplaints,
  go,
  keptIn,
  openPage,
  PHONE,
  untilLive,
} from "./browser.ts";

const webTest = browserTests({ worker: true });

const banner = /Offline\. Last updated \d+:\d\d\s[AP]M/;

webTest(
  "the page works through a restart of the server",
  async () => {
    expectComplaints(/Failed to load resource|ERR_/);
    const env = {
      DATABASE_URL: `file:${join(tempFolder(), "relay.db")}`,
      PORT: String(freePort()),
    };
    let relay = await startProcess(env);
    const { person, agent } = await createPair(relay.url);
    await createTask(agent.send, { title: "Before", status: "in_progress" });
    await ask(agent.send, { prompt: "Still there?" });
    const page = await openPage(relay.url, { as: person, size: PHONE });
    await page.getByText("Still there?").waitFor();
    // Wait until the page's files and data are saved.
    await until(() =>
      page.evaluate(() =>
        navigator.serviceWorker.ready.then((one) => one.active?.state === "activated"),
      ),
    );
    await until(async () => (await keptIn(page, "tasks")).length > 0);

    relay.kill("SIGTERM");
    await relay.exited;
    await page.getByText(banner).waitFor();
    await page.getByText("Still there?").waitFor();
    await go(page, "tasks");
    await page.getByText("Before").waitFor();
    await go(page, "questions");
    await page.getByText("Still there?").waitFor();

    // Reloaded without a server.
    await page.reload();
    await page.getByText(banner).waitFor();
    await page.getByText("Still there?").waitFor();
    await go(page, "tasks");
    await page.getByText("Before").waitFor();

    const attempt = page.waitForRequest("**/v1/events");
    await page.getByRole("button", { name: "Retry" }).click();
    await attempt;
    relay = await startProcess(env);
    const task = await agent.send("POST /v1/tasks", { title: "After", status: "in_progress" });
    expect(task.status).toBe(201);
    await untilLive(page);
    await page.getByText("After").waitFor();
    expect(await page.getByText(banner).count()).toBe(0);

    // The page reconnects by itself, and drops what was deleted meanwhile.
    relay.kill("SIGKILL");
    await relay.exited;
    await page.getByText(banner).waitFor();
    relay = await startProcess(env);
    await agent.send(`DELETE /v1/tasks/${task.body.id}`);
    await untilLive(page);
    await page.getByText("After").waitFor({ state: "detached" });
    await page.getByText("Before").waitFor();
    await agent.send("POST /v1/tasks", { title: "Live again", status: "in_progress" });
    await page.getByText("Live again").waitFor();
    // No log line or address contains the token.
    expect(relay.log()).not.toContain(person.token);
    expect(page.url()).not.toContain("mca_");
  },
  300_000,
);

webTest("changes during a load are not lost, and deleted resources do not come back", async () => {
  const app = await startTestApp();
  const { person, agent } = await createPair(app.url);
  const made: string[] = [];
  for (let i = 0; i < 4; i++) made.push((await createTask(agent.send, { title: `No. ${i}` })).id);
  const deleted = await createAgent(app.url, person, "Doomed");
  await createTask(deleted.send, { title: "Its task" });
  const page = await openHeldBack(app.url, person);
  // The server has read the lists, and they are on their way.
  const { release } = page;
  await agent.send(`DELETE /v1/tasks/${made[0]}`);
  await agent.send(`PATCH /v1/tasks/${made[1]}`, { title: "Changed", status: "in_progress" });
  await person.send(`DELETE /v1/keys/${deleted.key.id}`);
  await createTask(agent.send, { title: "Added" });
  await page.tab.getByText("Added").waitFor();
  release();
  await untilLive(page.tab);
  for (const title of ["Changed", "Added", "No. 2", "No. 3"]) {
    await page.tab.getByText(title, { exact: true }).waitFor();
  }
  for (const title of ["No. 0", "No. 1", "Its task"]) {
    expect(await page.tab.getByText(title, { exact: true }).count()).toBe(0);
  }
});

/** A page whose task lists are held back until released. */
async function openHeldBack(url: string, person: Person) {
  const tab = await openPage(url);
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  let asked = () => {};
  const answered = new Promise<void>((resolve) => {
    asked = resolve;
  });
  await tab.route("**/trpc/tasks.list*", async (route) => {
    const response = await route.fetch();
    asked();
    await released;
    await route.fulfill({ response });
  });
  await tab.evaluate((token) => localStorage.setItem("relay.token", token), person.token);
  await tab.goto(`${url}/#/tasks`);
  await tab.reload();
  await answered;
  return { tab, release };
}

webTest(
  "the remaining time follows the server's clock, also offline and with a wrong local clock",
  async () => {
    expectComplaints(/Failed to load resource|ERR_/);
    const app = await startTestApp();
    const { person, agent } = await createPair(app.url);
    await ask(agent.send, { prompt: "In time?", expires_in: 7_200 });
    const page = await openPage(app.url);
    await page.clock.install({ time: Date.now() - 3_600_000 });
    await page.evaluate((token) => localStorage.setItem("relay.token", token), person.token);
    await page.reload();
    await untilLive(page);
    const left = page.getByText(/^1 h 5\d min$/);
    await left.waitFor();
    await page.evaluate(() => navigator.serviceWorker.ready.then(() => null));
    // Wait until it is saved.
    await page.clock.runFor(3_000);
    await until(async () =>
      (await keptIn(page, "about")).some(({ ahead }) => (ahead as number) > 3_500),
    );
    await page.context().setOffline(true);
    await page.reload();
    await page.getByText(/^Offline\./).waitFor();
    await left.waitFor();
  },
);
