/** The start: a new account, a token that one has, and what is wrong with one that is none. */

import { expect } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { client, createAgent, createPerson } from "../support/client.ts";
import { browserTests, expectComplaints, openPage, PHONE, untilLive } from "./browser.ts";

const webTest = browserTests();
const app = await startTestApp();

webTest(
  "a new account: its token is shown before anything else, and kept in the browser",
  async () => {
    const page = await openPage(app.url, { size: PHONE });
    await page.getByRole("button", { name: "Create account" }).click();
    await page.getByRole("heading", { name: "Your account is ready" }).waitFor();
    const token = (await page.locator("code").textContent())!;
    expect(token).toMatch(/^mca_[\w-]{43}$/);
    expect((await client(app.url, token)("GET /v1/account")).status).toBe(200);
    await page.getByRole("button", { name: "Continue" }).click();
    await untilLive(page);
    await page.reload();
    await untilLive(page);
    await page.getByText("Nothing waits for you").waitFor();
  },
);

webTest(
  "a token that the person has opens the account; another kind of text does not",
  async () => {
    expectComplaints(/401/);
    const person = await createPerson(app.url);
    const page = await openPage(app.url);
    const field = page.getByLabel("I have a token");
    const submit = page.getByRole("button", { name: "Sign in" });
    await field.fill("mck_something");
    await submit.click();
    await page.getByText("This is no account token").waitFor();
    await field.fill("mca_nobody");
    await submit.click();
    await page.getByRole("alert").getByText("not valid").waitFor();
    await field.fill(` ${person.token}\n`);
    await field.press("Enter");
    await untilLive(page);
    // It is in no address and in no line of the log.
    expect(page.url()).not.toContain("mca_");
    for (const line of app.lines) expect(line).not.toContain(person.token);
  },
);

webTest("where no account can be made, the page says so", async () => {
  expectComplaints(/403/);
  const closed = await startTestApp({ env: { ACCOUNT_CREATION: "off" } });
  const page = await openPage(closed.url);
  await page.getByRole("button", { name: "Create account" }).click();
  await page.getByRole("alert").getByText("does not take new accounts").waitFor();
});

webTest("a token that ended signs the browser out", async () => {
  expectComplaints(/401/);
  const person = await createPerson(app.url);
  const page = await openPage(app.url, { as: person });
  await person.send("POST /v1/account/token", {});
  await page.getByText("is not valid any more").waitFor();
  expect(await page.evaluate(() => localStorage.length)).toBe(0);
});

webTest("a view that fails says so, and the others go on", async () => {
  expectComplaints(/broken/);
  const person = await createPerson(app.url);
  const page = await openPage(app.url, { as: person });
  // As a fault of a view would: the browser gives it something that it cannot show.
  await page.evaluate(() => {
    Number.prototype.toLocaleString = () => {
      throw new Error("broken");
    };
  });
  await createAgent(app.url, person);
  await page.getByRole("link", { name: "Agents" }).click();
  await page.getByRole("alert").getByText("This view has a fault").waitFor();
  await page.getByRole("link", { name: "Account" }).click();
  await page.getByRole("heading", { name: "Token" }).waitFor();
});
