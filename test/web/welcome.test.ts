/** Starting out: a new account, or signing in with a valid or an invalid token. */

import { expect } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { client, createAgent, createPerson } from "../support/client.ts";
import { browserTests, expectComplaints, openPage, PHONE, untilLive } from "./browser.ts";

const webTest = browserTests();
const app = await startTestApp();

webTest("a new account's token is kept in the browser", async () => {
  const page = await openPage(app.url, { size: PHONE });
  await page.getByRole("button", { name: "Create account" }).click();
  await page.getByRole("heading", { name: "Your account is ready" }).waitFor();
  const token = (await page.evaluate(() => localStorage.getItem("relay.token")))!;
  expect(token).toMatch(/^mca_[\w-]{43}$/);
  expect((await client(app.url, token)("GET /v1/account")).status).toBe(200);
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByRole("button", { name: "Not now" }).click();
  await untilLive(page);
  await page.reload();
  await untilLive(page);
  await page.getByText("All caught up").waitFor();
});

webTest("an account token signs in, and other text does not", async () => {
  expectComplaints(/401/);
  const person = await createPerson(app.url);
  const page = await openPage(app.url);
  const field = page.getByLabel("Account token");
  const submit = page.getByRole("button", { name: "Sign in" });
  await field.fill("mck_something");
  await submit.click();
  await page.getByText("This isn't a recovery code").waitFor();
  await field.fill("mca_nobody");
  await submit.click();
  await page.getByRole("alert").getByText("isn't valid").waitFor();
  await field.fill(` ${person.token}\n`);
  await field.press("Enter");
  await untilLive(page);
  // No address or log line contains the token.
  expect(page.url()).not.toContain("mca_");
  for (const line of app.lines) expect(line).not.toContain(person.token);
});

webTest("a server that takes no new accounts says so, and the page leads with a code", async () => {
  const closed = await startTestApp({ env: { ACCOUNT_CREATION: "off" } });
  const page = await openPage(closed.url);
  await page.getByText("This server doesn't accept new accounts").waitFor();
  expect(await page.getByRole("textbox").first().getAttribute("name")).toBe("code");
  await page.getByLabel("Account token").waitFor();
  const buttons = page.getByRole("button");
  expect(await buttons.allTextContents()).toEqual(["Use code", "Sign in"]);
});

webTest("a token that has ended signs the browser out", async () => {
  expectComplaints(/401/);
  const person = await createPerson(app.url);
  const page = await openPage(app.url, { as: person });
  await person.send("POST /v1/account/token", {});
  await page.getByText("no longer valid").waitFor();
  await page.waitForFunction(() => localStorage.length === 0);
});

webTest("a part of a view that fails says so, and the others work", async () => {
  expectComplaints(/broken/);
  const person = await createPerson(app.url);
  const page = await openPage(app.url, { as: person });
  // Makes an agent's card throw, by giving it a value that it cannot render.
  await page.evaluate(() => {
    Number.prototype.toLocaleString = () => {
      throw new Error("broken");
    };
  });
  await createAgent(app.url, person);
  await page.getByRole("link", { name: "Agents" }).click();
  await page.getByRole("alert").getByText("This agent can't be shown.").waitFor();
  await page.getByRole("link", { name: "New agent" }).waitFor();
  await page.getByRole("link", { name: "Account" }).click();
  await page.getByRole("heading", { name: "Token" }).waitFor();
});

webTest("a limit that lasts for an hour says so, not that it is a moment [§10.6.2]", async () => {
  expectComplaints(/429/);
  const limited = await startTestApp({ env: { RATE_LIMITS: "on" } });
  for (let i = 0; i < 5; i++) await createPerson(limited.url);
  const page = await openPage(limited.url);
  await page.getByRole("button", { name: "Create account" }).click();
  await page.getByText(/^Too many requests\. Try again in (60|59) minutes\.$/).waitFor();
});
