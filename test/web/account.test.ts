/** The account in the page: settings, token, devices, signing out, and the end. */

import { expect } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { createPair, createPerson, DEVICE } from "../support/client.ts";
import { until } from "../support/until.ts";
import { browserTests, expectComplaints, openPage, openProfile, untilLive } from "./browser.ts";

const webTest = browserTests();
const app = await startTestApp();

webTest("settings and devices are changed at the server", async () => {
  const person = await createPerson(app.url);
  for (const [model, apns_token] of [
    ["iPhone18,1", "aa01"],
    ["iPad17,3", null],
  ] as const) {
    const body = { ...DEVICE, model, apns_token };
    await person.send(`PUT /v1/devices/dev_${crypto.randomUUID()}`, body);
  }
  const page = await openPage(app.url, { as: person, at: "#/account" });
  const live = page.getByRole("switch", { name: "Live activities" });
  await until(async () => await live.isChecked());
  await live.focus();
  await page.keyboard.press("Space");
  await until(async () => {
    const { body } = await person.send("GET /v1/account");
    return body.settings.live_activities === false;
  });
  await until(async () => !(await live.isChecked()));
  await page.locator("li", { hasText: "iPhone18,1" }).getByText("Pushes").waitFor();
  expect(await page.locator("li", { hasText: "iPad17,3" }).getByText("Pushes").count()).toBe(0);
  await page.getByRole("button", { name: "Remove iPhone18,1" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Remove device" }).click();
  await page.locator("li", { hasText: "iPhone18,1" }).waitFor({ state: "detached" });
  const { body } = await person.send("GET /v1/devices");
  expect(body.devices.map(({ model }: { model: string }) => model)).toEqual(["iPad17,3"]);
});

webTest("the token is hidden, copied, and replaced, which ends the other browsers", async () => {
  expectComplaints(/401/);
  const person = await createPerson(app.url);
  const context = await openProfile(app.url, { as: person });
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const page = await context.newPage();
  await page.goto(`${app.url}/#/account`);
  const other = await openPage(app.url, { as: person });
  await page.getByRole("heading", { name: "Token" }).waitFor();
  expect(await page.content()).not.toContain(person.token);
  await page.getByRole("button", { name: "Copy account token" }).click();
  await page.getByText("Copied").waitFor();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(person.token);
  await page.getByRole("button", { name: "Show account token" }).click();
  await page.getByText(person.token).waitFor();

  await page.getByRole("button", { name: "Replace the token" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Replace token" }).click();
  await other.getByText("is not valid any more").waitFor();
  await untilLive(page);
  const token = await page.evaluate(() => localStorage.getItem("relay.token"));
  expect(token).toMatch(/^mca_/);
  expect(token).not.toBe(person.token);
  expect((await person.send("GET /v1/account")).status).toBe(401);
});

webTest("signing out clears the browser, in its other tabs too", async () => {
  const { person, agent } = await createPair(app.url);
  await agent.send("POST /v1/tasks", { title: "Private words" });
  const page = await openPage(app.url, { as: person, at: "#/account" });
  const tab = await page.context().newPage();
  await tab.goto(`${app.url}/#/tasks`);
  await untilLive(tab);
  await tab.getByText("Private words").waitFor();
  // Until the page has been kept for later.
  await until(() => page.evaluate(async () => (await caches.keys()).length > 0));
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Sign out" }).click();
  for (const one of [page, tab]) await one.getByText("You are signed out").waitFor();
  const left = () =>
    page.evaluate(async () => [
      localStorage.length,
      sessionStorage.length,
      (await indexedDB.databases()).length,
      document.cookie,
    ]);
  await until(async () => JSON.stringify(await left()) === JSON.stringify([0, 0, 0, ""]));
  // What is kept of the page for later is the same for everybody.
  const files = await page.evaluate(async () => {
    const [name] = await caches.keys();
    return (await (await caches.open(name!)).keys()).map(({ url }) => new URL(url).pathname);
  });
  for (const path of files) expect(path).toMatch(/^\/(assets\/|[\w.-]*$)/);
  expect((await person.send("GET /v1/account")).status).toBe(200);
});

webTest("deleting the account asks first, and ends it everywhere", async () => {
  const { person, agent } = await createPair(app.url);
  const page = await openPage(app.url, { as: person, at: "#/account" });
  const other = await openPage(app.url, { as: person });
  await page.getByRole("button", { name: "Delete account" }).click();
  await page.keyboard.press("Escape");
  expect((await person.send("GET /v1/account")).status).toBe(200);
  await page.getByRole("button", { name: "Delete account" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Delete everything" }).click();
  for (const one of [page, other]) await one.getByText("The account is deleted").waitFor();
  expect((await agent.send("GET /v1/tasks")).status).toBe(401);
});

webTest("a tab that hears late of a sign-out leaves alone who signed in meanwhile", async () => {
  const first = await createPerson(app.url);
  const { person: second, agent } = await createPair(app.url);
  await agent.send("POST /v1/tasks", { title: "Of the second" });
  const page = await openPage(app.url, { as: first, at: "#/account" });
  const tab = await page.context().newPage();
  // What it would hear is held back: the first to listen is the first to be told.
  await tab.addInitScript(() => {
    window.addEventListener("storage", (event) => {
      if (event.isTrusted) event.stopImmediatePropagation();
    });
  });
  await tab.goto(`${app.url}/#/tasks`);
  await untilLive(tab);
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("I have a token").fill(second.token);
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

webTest("after signing out and in again in one tab the page opens without the server", async () => {
  expectComplaints(/Failed to load resource|ERR_/);
  const { person } = await createPair(app.url);
  const page = await openPage(app.url, { as: person, at: "#/account" });
  await page.evaluate(() => navigator.serviceWorker.ready.then(() => null));
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("I have a token").fill(person.token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await untilLive(page);
  await page.context().setOffline(true);
  await page.reload();
  await page.getByText(/^Offline\./).waitFor();
});
