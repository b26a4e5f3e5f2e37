/** Sessions under network failures and several tabs. */

import { expect } from "bun:test";
import { startTestApp } from "../../support/app.ts";
import { client, createPair, createPerson } from "../../support/client.ts";
import { until } from "../../support/until.ts";
import { browserTests, expectComplaints, keptIn, openPage, untilLive } from "../../web/browser.ts";

const webTest = browserTests({ worker: true });
const app = await startTestApp();

webTest(
  "signing out during an unconfirmed replacement finishes it first and shows the new token",
  async () => {
    expectComplaints(/Failed to load resource|ERR_|401|fetching the script/);
    const person = await createPerson(app.url);
    const page = await openPage(app.url, { as: person, at: "#/account" });
    await page.route(
      "**/trpc/accounts.replaceToken",
      async (route) => {
        await route.fetch();
        await page.context().setOffline(true);
        await route.abort();
      },
      { times: 1 },
    );
    await page.getByRole("button", { name: "Replace token" }).click();
    const dialog = page.getByRole("alertdialog");
    await dialog.getByRole("button", { name: "Replace" }).click();
    await dialog.getByRole("alert").getByText("may have been saved").waitFor();
    await page.keyboard.press("Escape");
    // Both tokens can be copied.
    await page.getByText("Keep both").waitFor();
    await page.getByRole("button", { name: "Show new account token" }).click();
    const next = await page.evaluate(() => localStorage.getItem("relay.next-token"));
    await page.getByText(next!).waitFor();
    // Signing out fails while offline, and the new token is kept.
    await page.getByRole("button", { name: "Sign out" }).click();
    await dialog.getByRole("button", { name: "Sign out" }).click();
    await dialog.getByRole("alert").waitFor();
    await page.context().setOffline(false);
    await until(async () => {
      const kept = await page.evaluate(() => localStorage.getItem("relay.token"));
      return kept === next;
    });
    await untilLive(page);
    expect(await page.evaluate(() => localStorage.getItem("relay.next-token"))).toBeNull();
    const { body } = await client(app.url, next!)("GET /v1/account");
    expect(body.id).toBe(person.account.id);
  },
);

webTest("a 401 that is not from Relay does not sign out", async () => {
  expectComplaints(/Failed to load resource/);
  const { person, agent } = await createPair(app.url);
  await agent.send("POST /v1/tasks", { title: "Kept", status: "in_progress" });
  const page = await openPage(app.url);
  let refused = 0;
  await page.route("**/v1/events", async (route) => {
    refused++;
    if (refused > 2) return route.continue();
    await route.fulfill({
      status: refused === 1 ? 401 : 403,
      contentType: "text/html",
      body: "Log in to this network",
    });
  });
  await page.evaluate((token) => localStorage.setItem("relay.token", token), person.token);
  await page.goto(`${app.url}/#/tasks`);
  await page.reload();
  await untilLive(page);
  expect(refused).toBeGreaterThan(2);
  await page.getByText("Kept").waitFor();
});

webTest("without a response the page shows the age of its data", async () => {
  expectComplaints(/Failed to load resource|ERR_/);
  const { person, agent } = await createPair(app.url);
  await agent.send("POST /v1/questions", { prompt: "Kept?" });
  const page = await openPage(app.url, { as: person });
  await page.getByText("Kept?").waitFor();
  await until(async () => (await keptIn(page, "questions")).length > 0);
  // The connection is open, and nothing responds.
  await page.route("**/v1/events", () => {});
  await page.clock.install();
  await page.reload();
  await page.getByText("Kept?").waitFor();
  await page.clock.runFor(4_500);
  await page.getByText(/^Connecting\. Last updated/).waitFor();
  await page.clock.runFor(12_000);
  await page.clock.runFor(12_000);
  await page.getByText(/^Offline\. Last updated/).waitFor();
});

webTest("if a token replacement is refused, the old token stays valid", async () => {
  expectComplaints(/Failed to load resource/);
  const person = await createPerson(app.url);
  const page = await openPage(app.url, { as: person, at: "#/account" });
  const data = { code_name: "rate_limited" };
  await page.route(
    "**/trpc/accounts.replaceToken",
    (route) =>
      route.fulfill({ status: 429, json: { error: { message: "busy", code: -32603, data } } }),
    { times: 1 },
  );
  await page.getByRole("button", { name: "Replace token" }).click();
  const dialog = page.getByRole("alertdialog");
  await dialog.getByRole("button", { name: "Replace" }).click();
  await dialog.getByRole("alert").getByText("Too many requests").waitFor();
  await page.keyboard.press("Escape");
  await untilLive(page);
  expect(await page.getByText("Keep both").count()).toBe(0);
  await page.getByRole("button", { name: "Sign out" }).click();
  await dialog.getByRole("button", { name: "Sign out" }).click();
  await page.getByText("You're signed out").waitFor();
  expect((await person.send("GET /v1/account")).status).toBe(200);
});

webTest("two tabs that replace the token at once continue with the same token", async () => {
  expectComplaints(/401/);
  const { person, agent } = await createPair(app.url);
  const page = await openPage(app.url, { as: person, at: "#/account" });
  const tab = await page.context().newPage();
  await tab.goto(`${app.url}/#/account`);
  await untilLive(tab);
  for (const one of [page, tab]) {
    await one.getByRole("button", { name: "Replace token" }).click();
  }
  const replace = (one: typeof page) =>
    one.getByRole("alertdialog").getByRole("button", { name: "Replace" }).click();
  // The response to the first tab arrives after the second tab has followed.
  await page.route("**/trpc/accounts.replaceToken", async (route) => {
    const response = await route.fetch();
    await until(() =>
      tab.evaluate((old) => localStorage.getItem("relay.token") !== old, person.token),
    );
    await route.fulfill({ response });
  });
  await replace(page);
  await replace(tab);
  const kept = () => page.evaluate(() => localStorage.getItem("relay.token"));
  // The second tab may replace the first one's new token once more.
  await until(async () => {
    const { body } = await client(app.url, (await kept())!)("GET /v1/account");
    return (await kept()) !== person.token && body.id === person.account.id;
  });
  await agent.send("POST /v1/questions", { prompt: "In both?" });
  for (const one of [page, tab]) {
    await one.waitForFunction(() => document.title.startsWith("(1)"));
    await untilLive(one);
  }
  expect(await page.evaluate(() => localStorage.getItem("relay.next-token"))).toBeNull();
});
