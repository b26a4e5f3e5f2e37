/** The account's devices when responses are lost. */

import { expect } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { createPerson, DEVICE } from "../support/client.ts";
import { browserTests, expectComplaints, goOffline, openPage, untilLive } from "./browser.ts";

const webTest = browserTests({ worker: true });
const app = await startTestApp();

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
