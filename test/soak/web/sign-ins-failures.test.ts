/** Signing out when the server refuses or cannot be reached. */

import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { startTestApp } from "../../support/app.ts";
import { client, createPerson, pair, sessionsOf } from "../../support/client.ts";
import { until } from "../../support/until.ts";
import { browserTests, expectComplaints, openPage, untilLive } from "../../web/browser.ts";

const webTest = browserTests();
const app = await startTestApp();

const statusOf = async (token: string) => (await client(app.url, token)("GET /v1/account")).status;
const signOut = (page: Page) => page.getByRole("button", { name: "Sign out", exact: true });

webTest("a sign-out that the server refuses leaves the browser signed in", async () => {
  expectComplaints(/409/);
  const person = await createPerson(app.url);
  const phone = await pair(app.url, person);
  const page = await openPage(app.url, { as: person, at: "#/account" });
  await page.getByRole("button", { name: /^Sign out Unnamed/ }).waitFor();
  // The other sign-in ends, and this page hears of it too late.
  await page.route("**/trpc/sessions.delete", async (route) => {
    await phone.send(`DELETE /v1/sessions/${phone.session.id}`);
    await route.continue();
  });
  await signOut(page).click();
  const dialog = page.getByRole("alertdialog");
  await dialog.getByRole("button", { name: "Sign out" }).click();
  await dialog.getByRole("alert").getByText("your account's only sign-in").waitFor();
  await untilLive(page);
  // By now the page knows.
  await dialog.getByRole("switch", { name: "Keep the token valid" }).waitFor();
  expect(await statusOf(person.token)).toBe(200);
});

webTest("without the server, signing out still clears this browser", async () => {
  expectComplaints(/Failed to load resource|ERR_/);
  const person = await createPerson(app.url);
  const phone = await pair(app.url, person);
  const page = await openPage(app.url, { as: phone, at: "#/account" });
  await page.getByText(/it can't add devices/).waitFor();
  await page.context().setOffline(true);
  await signOut(page).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Sign out" }).click();
  await page.getByText("You're signed out").waitFor();
  await until(() => page.evaluate(() => localStorage.length === 0));
  // The person ends it from another device.
  expect(await sessionsOf(person)).toHaveLength(2);
});
