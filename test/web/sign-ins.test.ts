/** The list of sign-ins, notices of new sign-ins, and signing out (§5.13). */

import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { startTestApp } from "../support/app.ts";
import { client, createPair, createPerson, pair, sessionsOf } from "../support/client.ts";
import { browserTests, expectComplaints, openPage, PHONE, untilLive } from "./browser.ts";
import { expectNoOverflow } from "./page-checks.ts";

const webTest = browserTests();
const app = await startTestApp();

const statusOf = async (token: string) => (await client(app.url, token)("GET /v1/account")).status;
const signOut = (page: Page) => page.getByRole("button", { name: "Sign out", exact: true });

webTest("the list of sign-ins begins with this browser, and labels can be changed", async () => {
  expectComplaints(/422/);
  const person = await createPerson(app.url);
  await pair(app.url, person, "Safari on iPhone");
  const page = await openPage(app.url, { as: person, size: PHONE, at: "#/account" });
  const rows = page.locator("section", { hasText: "Sign-ins" }).locator("li");
  await rows.nth(1).waitFor();
  await rows.nth(0).getByText("This browser").waitFor();
  await rows.nth(0).getByText("Created with the account").waitFor();
  await rows.nth(1).getByText("Safari on iPhone").waitFor();
  // This browser was added just now.
  expect(await rows.nth(1).getByText("Never used").count()).toBe(0);
  expect(await rows.nth(0).getByRole("button", { name: "Sign out" }).count()).toBe(0);
  await expectNoOverflow(page);

  await page.getByRole("button", { name: "Rename Safari on iPhone" }).click();
  const name = rows.getByRole("textbox", { name: "Name" });
  await name.fill(" ");
  await name.press("Enter");
  await page.getByText("must hold a visible character").waitFor();
  await name.fill("My phone");
  await name.press("Enter");
  await rows.nth(1).getByText("My phone").waitFor();
  expect(await sessionsOf(person)).toMatchObject([{ label: "My phone" }, {}]);
});

webTest("a new sign-in shows on every other device, where it can be signed out", async () => {
  expectComplaints(/401/);
  const person = await createPerson(app.url);
  const [desk, away] = [
    await openPage(app.url, { as: person, at: "#/tasks" }),
    await openPage(app.url, { as: person }),
  ];
  // It learns of the sign-in when it is back.
  await away.goto("about:blank");
  const phone = await pair(app.url, person, "Safari on iPhone");
  const phone_page = await openPage(app.url, { as: phone, size: PHONE });
  const notice = "Safari on iPhone signed in to your account with a code from 127.0.0.1.";
  await desk.getByRole("status").getByText(notice).waitFor();
  await expectNoOverflow(desk);
  // A new sign-in is told neither of itself nor of earlier ones.
  expect(await phone_page.getByText("signed in to your account").count()).toBe(0);
  await away.goto(`${app.url}/#/questions`);
  await away.getByRole("status").getByText(notice).waitFor();
  await away.getByRole("button", { name: "It was me, Safari on iPhone" }).first().click();
  await away.getByText(notice).waitFor({ state: "detached" });
  await away.reload();
  await untilLive(away);
  expect(await away.getByText(notice).count()).toBe(0);

  await desk.getByRole("button", { name: "Sign it out, Safari on iPhone" }).click();
  await desk.getByRole("alertdialog").getByRole("button", { name: "Sign out" }).click();
  await phone_page.getByText("This browser was signed out from another device.").waitFor();
  await phone_page.waitForFunction(() => localStorage.length === 0);
  await desk.getByText(notice).waitFor({ state: "detached" });
  expect(await statusOf(phone.token)).toBe(401);
  expect(await sessionsOf(person)).toHaveLength(1);
});

webTest("signing out ends the sign-in if the account has others", async () => {
  // Requests that the account view is still loading.
  expectComplaints(/401/);
  const person = await createPerson(app.url);
  const phone = await pair(app.url, person);
  const page = await openPage(app.url, { as: phone, at: "#/account" });
  await page.getByText(/it can't add devices/).waitFor();
  await signOut(page).click();
  await page.getByRole("alertdialog").getByText("from another device").waitFor();
  await page.getByRole("alertdialog").getByRole("button", { name: "Sign out" }).click();
  await page.getByText("You're signed out").waitFor();
  expect([await statusOf(phone.token), await statusOf(person.token)]).toEqual([401, 200]);
});

webTest("the only sign-in ends only if the person says so", async () => {
  expectComplaints(/401/);
  const { person, agent } = await createPair(app.url);
  for (const keeps of [true, false]) {
    const page = await openPage(app.url, { as: person, at: "#/account" });
    await page.getByText("This browser", { exact: true }).waitFor();
    await signOut(page).click();
    const dialog = page.getByRole("alertdialog");
    await dialog.getByText("you need your token to sign in again").waitFor();
    if (!keeps) {
      await dialog.getByRole("switch", { name: "Keep the token valid" }).uncheck();
      await dialog.getByText("only this server's administrator can let you back in").waitFor();
    }
    await dialog.getByRole("button", { name: "Sign out" }).click();
    await page.getByText("You're signed out").waitFor();
    expect(await statusOf(person.token)).toBe(keeps ? 200 : 401);
  }
  expect((await agent.send("GET /v1/tasks")).status).toBe(200);
});
