/** The account view: settings, token, devices, signing out and deletion. */

import { expect } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { createPair, createPerson, DEVICE } from "../support/client.ts";
import { until } from "../support/until.ts";
import { browserTests, expectComplaints, openPage, openProfile, untilLive } from "./browser.ts";
import { untilInDialog } from "./keys.ts";

const webTest = browserTests({ worker: true });
const app = await startTestApp();

webTest("changed settings and devices are saved on the server", async () => {
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
  await live.press("Space");
  await until(async () => {
    const { body } = await person.send("GET /v1/account");
    return body.settings.live_activities === false;
  });
  await until(async () => !(await live.isChecked()));
  await page.locator("li", { hasText: "iPhone18,1" }).getByText("Notifications on").waitFor();
  expect(
    await page.locator("li", { hasText: "iPad17,3" }).getByText("Notifications on").count(),
  ).toBe(0);
  await page.getByRole("button", { name: "Remove iPhone18,1" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Remove device" }).click();
  await page.locator("li", { hasText: "iPhone18,1" }).waitFor({ state: "detached" });
  const { body } = await person.send("GET /v1/devices");
  expect(body.devices.map(({ model }: { model: string }) => model)).toEqual(["iPad17,3"]);
});

webTest(
  "the account token is hidden and can be copied; replacing it signs other browsers out",
  async () => {
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

    await page.getByRole("button", { name: "Replace token" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Replace" }).click();
    await other.getByText("no longer valid").waitFor();
    await untilLive(page);
    const token = await page.evaluate(() => localStorage.getItem("relay.token"));
    expect(token).toMatch(/^mca_/);
    expect(token).not.toBe(person.token);
    expect((await person.send("GET /v1/account")).status).toBe(401);
  },
);

webTest("signing out clears the browser's data, in other tabs too", async () => {
  const { person, agent } = await createPair(app.url);
  await agent.send("POST /v1/tasks", { title: "Private words" });
  const page = await openPage(app.url, { as: person, at: "#/account" });
  const tab = await page.context().newPage();
  await tab.goto(`${app.url}/#/tasks`);
  await untilLive(tab);
  await tab.getByText("Private words").waitFor();
  // Wait until the service worker has cached the page.
  await until(() => page.evaluate(async () => (await caches.keys()).length > 0));
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Sign out" }).click();
  for (const one of [page, tab]) await one.getByText("You're signed out").waitFor();
  const left = () =>
    page.evaluate(async () => [
      localStorage.length,
      sessionStorage.length,
      (await indexedDB.databases()).length,
      document.cookie,
    ]);
  await until(async () => JSON.stringify(await left()) === JSON.stringify([0, 0, 0, ""]));
  // The cache of the page's files is the same for everybody, so it may stay.
  const files = await page.evaluate(async () => {
    const [name] = await caches.keys();
    return (await (await caches.open(name!)).keys()).map(({ url }) => new URL(url).pathname);
  });
  for (const path of files) expect(path).toMatch(/^\/(assets\/|[\w.-]*$)/);
  expect((await person.send("GET /v1/account")).status).toBe(200);
});

webTest("deleting the account needs a confirmation and signs out every browser", async () => {
  const { person, agent } = await createPair(app.url);
  const page = await openPage(app.url, { as: person, at: "#/account" });
  const other = await openPage(app.url, { as: person });
  await page.getByRole("button", { name: "Delete account" }).click();
  await untilInDialog(page);
  await page.keyboard.press("Escape");
  await page.getByRole("alertdialog").waitFor({ state: "detached" });
  expect((await person.send("GET /v1/account")).status).toBe(200);
  await page.getByRole("button", { name: "Delete account" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Delete everything" }).click();
  for (const one of [page, other])
    await one.getByText("Your account and all its data were deleted").waitFor();
  expect((await agent.send("GET /v1/tasks")).status).toBe(401);
});
