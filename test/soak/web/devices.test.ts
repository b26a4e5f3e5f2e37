/** The account's devices when responses are lost. */

import { expect } from "bun:test";
import { startTestApp } from "../../support/app.ts";
import { startApple } from "../../support/apple.ts";
import { createPerson, DEVICE } from "../../support/client.ts";
import {
  browserTests,
  expectComplaints,
  goOffline,
  openPage,
  untilLive,
} from "../../web/browser.ts";

const webTest = browserTests({ worker: true });
/** With a device channel, the page shows devices; without one, only if one is registered. */
const app = await startTestApp({ env: (await startApple()).env("SANDBOX") });
const plain = await startTestApp();

async function createOwner() {
  const person = await createPerson(app.url);
  await person.send(`PUT /v1/devices/dev_${crypto.randomUUID()}`, DEVICE);
  return person;
}

webTest("the list of devices loads once the server is reachable again", async () => {
  const page = await openPage(app.url, { as: await createOwner() });
  await goOffline(page);
  await page.getByRole("link", { name: "Account" }).click();
  const devices = page.locator("section", { has: page.getByRole("heading", { name: "Devices" }) });
  await devices.getByRole("alert").waitFor();
  await page.context().setOffline(false);
  await untilLive(page);
  await devices.getByText(DEVICE.model).waitFor();
  await devices.getByRole("alert").waitFor({ state: "detached" });
});

webTest("without an app, the page mentions none", async () => {
  const page = await openPage(plain.url, { as: await createPerson(plain.url), at: "#/account" });
  await page.getByRole("switch", { name: "Nudges" }).waitFor();
  await page.getByText("No channels yet").waitFor();
  const words = await page.locator("main").textContent();
  expect(words).not.toMatch(/Live activities|\bDevices\b|\bthe app\b/);
  // With one that is registered all the same, its section is there.
  const owner = await createPerson(plain.url);
  await owner.send(`PUT /v1/devices/dev_${crypto.randomUUID()}`, DEVICE);
  const other = await openPage(plain.url, { as: owner, at: "#/account" });
  await other.getByRole("heading", { name: "Devices" }).waitFor();
  await other.getByRole("switch", { name: "Live activities" }).waitFor();
});

webTest("a device is removed even if the response was lost", async () => {
  expectComplaints(/Failed to load resource|404/);
  const page = await openPage(app.url, { as: await createOwner(), at: "#/account" });
  await page.route(
    "**/trpc/devices.delete",
    async (route) => {
      await route.fetch();
      await route.abort();
    },
    { times: 1 },
  );
  await page.getByRole("button", { name: `Remove ${DEVICE.model}` }).click();
  const question = page.getByRole("alertdialog");
  const confirm = question.getByRole("button", { name: "Remove device" });
  await confirm.click();
  await question.getByRole("alert").waitFor();
  // Behind the dialog, the list matches the server.
  await page.locator("li", { hasText: DEVICE.model }).waitFor({ state: "detached" });
  await confirm.click();
  await question.waitFor({ state: "detached" });
  expect(await page.getByText("No devices yet").count()).toBe(1);
});
