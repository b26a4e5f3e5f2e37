/** Channels when a response is lost or slow. */

import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { startTestApp } from "../../support/app.ts";
import { createPerson, type Person } from "../../support/client.ts";
import { startNtfy } from "../../support/ntfy.ts";
import { gate, startReceiver } from "../../support/receiver.ts";
import { browserTests, expectComplaints, openPage } from "../../web/browser.ts";

const webTest = browserTests();
const app = await startTestApp();
const ntfy = await startNtfy();
const receiver = startReceiver();

async function create(person: Person, body: object) {
  const { status, body: made } = await person.send("POST /v1/channels", body);
  expect(status).toBe(201);
  return made.channel;
}

const section = (page: Page) =>
  page.locator("section", { has: page.getByRole("heading", { name: "Channels" }) });
const row = (page: Page, label: string) => section(page).locator("li", { hasText: label });

webTest("a deleted channel leaves the list even if the response was lost", async () => {
  expectComplaints(/Failed to load resource|404/);
  const person = await createPerson(app.url);
  await create(person, { type: "webhook", label: "Lost", url: receiver.url("/lost") });
  const page = await openPage(app.url, { as: person, at: "#/account" });
  await page.route(
    "**/trpc/channels.delete",
    async (route) => {
      await route.fetch();
      await route.abort();
    },
    { times: 1 },
  );
  await page.getByRole("button", { name: "Delete Lost" }).click();
  const confirm = page.getByRole("alertdialog");
  await confirm.getByRole("button", { name: "Delete channel" }).click();
  await row(page, "Lost").waitFor({ state: "detached" });
  await confirm.getByRole("button", { name: "Delete channel" }).click();
  await confirm.waitFor({ state: "detached" });
  await page.getByText("No channels yet").waitFor();
});

webTest("a slow channel test can't be sent twice, and the 7th in an hour is refused", async () => {
  expectComplaints(/429/);
  const limited = await startTestApp({ env: { RATE_LIMITS: "on" } });
  const person = await createPerson(limited.url);
  const { id } = await create(person, { type: "ntfy", label: "Slow", url: `${ntfy.url}/slow` });
  const held = gate();
  const page = await openPage(limited.url, { as: person, at: "#/account" });
  await page.route("**/trpc/channels.test", async (route) => {
    await held.opened;
    await route.continue();
  });
  const button = row(page, "Slow").getByRole("button", { name: "Send a test" });
  await button.click();
  await page.getByText("Sending a test…").waitFor();
  await button.click({ force: true });
  held.open();
  await page.getByText("Test sent").waitFor();
  expect(ntfy.take().filter(({ topic }) => topic === "slow").length).toBe(1);
  for (let i = 0; i < 5; i++) await person.send(`POST /v1/channels/${id}/test`, {});
  await button.click();
  const limit = /A channel can be tested at most 6 times in an hour\. Try again in \d+ minutes\./;
  await page.getByText(limit).waitFor();
});
