/** Signing out beside other tabs and without the server. */

import { expect } from "bun:test";
import { startTestApp } from "../../support/app.ts";
import { createPair, createPerson } from "../../support/client.ts";
import { browserTests, expectComplaints, openPage, untilLive } from "../../web/browser.ts";

const webTest = browserTests({ worker: true });
const app = await startTestApp();

webTest("a late sign-out event does not end a newer session of another tab", async () => {
  const first = await createPerson(app.url);
  const { person: second, agent } = await createPair(app.url);
  await agent.send("POST /v1/tasks", { title: "Of the second" });
  const page = await openPage(app.url, { as: first, at: "#/account" });
  const tab = await page.context().newPage();
  // Its storage event is held back, since this listener comes first.
  await tab.addInitScript(() => {
    window.addEventListener("storage", (event) => {
      if (event.isTrusted) event.stopImmediatePropagation();
    });
  });
  await tab.goto(`${app.url}/#/tasks`);
  await untilLive(tab);
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("Account token").fill(second.token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await untilLive(page);
  const reloaded = tab.waitForEvent("load");
  await tab.evaluate(() => {
    window.dispatchEvent(new StorageEvent("storage", { key: null, newValue: null }));
  });
  await reloaded;
  await tab.goto(`${app.url}/#/tasks`);
  await tab.getByText("Of the second").waitFor();
  const kept = await page.evaluate(() => localStorage.getItem("relay.token"));
  expect(kept).toBe(second.token);
  await untilLive(page);
  const names = await page.evaluate(async () =>
    (await indexedDB.databases()).map(({ name }) => name),
  );
  expect(names).toEqual(["relay"]);
});

webTest("after signing out and in again, the page opens without the server", async () => {
  expectComplaints(/Failed to load resource|ERR_/);
  const { person } = await createPair(app.url);
  const page = await openPage(app.url, { as: person, at: "#/account" });
  await page.evaluate(() => navigator.serviceWorker.ready.then(() => null));
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("Account token").fill(person.token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await untilLive(page);
  await page.context().setOffline(true);
  await page.reload();
  await page.getByText(/^Offline\./).waitFor();
});
