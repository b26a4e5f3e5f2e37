/** When a shown key is forgotten, and what would lose it. */

import { expect } from "bun:test";
import { startTestApp } from "../../support/app.ts";
import { createPerson } from "../../support/client.ts";
import { until } from "../../support/until.ts";
import { browserTests, go, openPage, openProfile, untilLive } from "../../web/browser.ts";
import { createInPage, duplicate, shown, stored } from "../../web/new-key-scene.ts";

const webTest = browserTests();
const app = await startTestApp();

webTest(
  "a shown key is forgotten at sign-out, when its agent is deleted, and after a day",
  async () => {
    const person = await createPerson(app.url);
    const context = await openProfile(app.url, { as: person });
    const page = await context.newPage();
    await createInPage(app.url, page);
    // A day later.
    await page.goto(`${app.url}/health`);
    await page.evaluate(() => {
      for (const [name, value] of Object.entries(localStorage)) {
        if (!name.startsWith("relay.new-key.")) continue;
        const part = JSON.parse(value);
        localStorage.setItem(name, JSON.stringify({ ...part, until: part.until - 86_400 }));
      }
    });
    await page.goto(`${app.url}/#/agents`);
    await untilLive(page);
    expect(await page.getByText("is shown only once").count()).toBe(0);
    expect(await stored(page)).not.toContain("relay.new-key");

    // Its agent is deleted while the page is closed.
    await createInPage(app.url, page);
    const [, id] = /agents\/(key_\w+)/.exec(page.url())!;
    await page.goto(`${app.url}/health`);
    await person.send(`DELETE /v1/keys/${id}`);
    await page.goto(`${app.url}/#/agents`);
    await untilLive(page);
    await until(async () => !(await stored(page)).includes("relay.new-key"));

    await createInPage(app.url, page);
    const copy = await duplicate(app.url, context, page);
    await go(page, "account");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByText("Save the new agent's key first").waitFor();
    await page.getByRole("alertdialog").getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("button", { name: "Create account" }).waitFor();
    expect(await stored(page)).toBe("[{},{}]");
    // The same person again, in a copy of the tab.
    await copy.goto(app.url);
    await copy.getByLabel("Account token").fill(person.token);
    await copy.keyboard.press("Enter");
    await untilLive(copy);
    expect(await copy.getByText("is shown only once").count()).toBe(0);
  },
);

webTest("the browser asks before a reload that would lose a key being created", async () => {
  const person = await createPerson(app.url);
  const page = await openPage(app.url, { as: person, at: "#/agents/new" });
  const held = Promise.withResolvers<void>();
  await page.route("**/trpc/keys.create", async (route) => {
    const response = await route.fetch();
    await held.promise;
    await route.fulfill({ response });
  });
  await page.getByLabel("Name").fill("Laptop");
  await page.getByLabel("Name").press("Enter");
  await page
    .getByRole("button", { name: "Create agent" })
    .and(page.locator("[aria-disabled]"))
    .waitFor();
  const asked = page.waitForEvent("dialog");
  await page.evaluate(() => void setTimeout(() => location.reload()));
  const dialog = await asked;
  expect(dialog.type()).toBe("beforeunload");
  await dialog.dismiss();
  held.resolve();
  await shown(page).waitFor();
});
