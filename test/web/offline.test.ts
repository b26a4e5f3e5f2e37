/** The page while the server is away: it shows what it knew, says so, and catches up. */

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
  press,
  untilLive,
} from "./browser.ts";

const webTest = browserTests();

const banner = /Offline\. You see what was known at \d\d:\d\d/;

webTest(
  "the server is stopped and started under the page",
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
    // Kept for later: the files of the page, and what it knows.
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
    // An answer cannot be given, and says so.
    await go(page, "questions");
    await press(page.getByRole("button", { name: "Yes" }));
    await page.getByRole("alert").getByText("cannot be reached").waitFor();

    // Opened anew, without a server.
    await page.reload();
    await page.getByText(banner).waitFor();
    await page.getByText("Still there?").waitFor();
    await go(page, "tasks");
    await page.getByText("Before").waitFor();

    const attempt = page.waitForRequest("**/v1/events");
    await page.getByRole("button", { name: "Try now" }).click();
    await attempt;
    relay = await startProcess(env);
    const task = await agent.send("POST /v1/tasks", { title: "After", status: "in_progress" });
    expect(task.status).toBe(201);
    await untilLive(page);
    await page.getByText("After").waitFor();
    expect(await page.getByText(banner).count()).toBe(0);

    // And by itself, with what is gone meanwhile.
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
    // The token was in no line of the log and in no address.
    expect(relay.log()).not.toContain(person.token);
    expect(page.url()).not.toContain("mca_");
  },
  60_000,
);

webTest(
  "what happens while lists still come is not lost, and nothing deleted comes back",
  async () => {
    const app = await startTestApp();
    const { person, agent } = await createPair(app.url);
    const made: string[] = [];
    for (let i = 0; i < 4; i++) made.push((await createTask(agent.send, { title: `No. ${i}` })).id);
    const doomed = await createAgent(app.url, person, "Doomed");
    await createTask(doomed.send, { title: "Its task" });
    const page = await openHeldBack(app.url, person);
    // The lists have been read at the server, and are on their way.
    const { release } = page;
    await agent.send(`DELETE /v1/tasks/${made[0]}`);
    await agent.send(`PATCH /v1/tasks/${made[1]}`, { title: "Changed", status: "in_progress" });
    await person.send(`DELETE /v1/keys/${doomed.key.id}`);
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
  },
);

/** A page whose lists of tasks were answered, and do not reach it until they are released. */
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

webTest("the time left is the server's, also offline and where the clock is wrong", async () => {
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
  // Until it is kept.
  await page.clock.runFor(3_000);
  await until(async () =>
    (await keptIn(page, "about")).some(({ ahead }) => (ahead as number) > 3_500),
  );
  await page.context().setOffline(true);
  await page.reload();
  await page.getByText(/^Offline\./).waitFor();
  await left.waitFor();
});
