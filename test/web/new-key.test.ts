/** A new agent's key is shown until the person confirms it, and kept nowhere afterwards. */

import { expect } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { client, createPerson } from "../support/client.ts";
import { browserTests, openPage, openProfile, untilLive } from "./browser.ts";
import { createInPage, duplicate, shown, stored } from "./new-key-scene.ts";

const webTest = browserTests();
const app = await startTestApp();

webTest("a new key survives a reload until the person chooses Done", async () => {
  const person = await createPerson(app.url);
  const page = await openPage(app.url, { as: person });
  const secret = await createInPage(app.url, page);
  await page.getByRole("button", { name: "Show QR code" }).click();
  // A QR code of this length has 29 modules per side, plus a quiet zone of 2 on each side.
  const code = page.getByRole("img", { name: "QR code for key" });
  expect(await code.getAttribute("viewBox")).toBe("0 0 33 33");
  await page.reload();
  await page.getByText(secret, { exact: true }).waitFor();
  await page.getByRole("link", { name: "Account" }).click();
  await page.getByText("The key for Laptop is shown only once").waitFor();
  await page.goBack();
  await page.getByText(secret, { exact: true }).waitFor();
  expect((await client(app.url, secret)("GET /v1/tasks")).status).toBe(200);
  // Neither half of what is stored contains the key.
  expect(await stored(page)).not.toContain(secret.slice(4));
  expect(page.url()).not.toContain("mck_");
  await page.getByRole("link", { name: "Done" }).click();
  await page.getByRole("link", { name: "View tasks" }).waitFor();
  expect(await page.content()).not.toContain(secret);
  expect(await stored(page)).not.toContain("relay.new-key");
  await page.reload();
  await untilLive(page);
  expect(await page.getByText("is shown only once").count()).toBe(0);
});

webTest(
  "Done removes the key from every tab, and from a copy of the tab that opens later",
  async () => {
    const person = await createPerson(app.url);
    const context = await openProfile(app.url, { as: person });
    const page = await context.newPage();
    const secret = await createInPage(app.url, page);
    const [now, later] = [
      await duplicate(app.url, context, page),
      await duplicate(app.url, context, page),
    ];
    await now.goto(page.url());
    await now.getByText(secret, { exact: true }).waitFor();
    // A new tab of its own has nothing to show.
    const other = await context.newPage();
    await other.goto(page.url());
    await untilLive(other);
    await other.getByLabel("Sign-in").selectOption("The agent's key");
    await other.getByText("Put the key you saved in place of").waitFor();
    await page.getByRole("link", { name: "Done" }).click();
    await shown(now).waitFor({ state: "detached" });
    await later.goto(`${app.url}/#/agents`);
    await untilLive(later);
    expect(await later.getByText("is shown only once").count()).toBe(0);
    expect(await stored(later)).not.toContain("relay.new-key");
  },
);
