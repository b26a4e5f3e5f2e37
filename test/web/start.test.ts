/** A start link: the first account of a server that creates only one (§5.2.1). */

import { expect } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { client } from "../support/client.ts";
import { browserTests, expectComplaints, go, openPage, PHONE, untilLive } from "./browser.ts";
import { violations } from "./page-checks.ts";

const webTest = browserTests({ worker: true });
const env = { ACCOUNT_CREATION: "first" };
const app = await startTestApp({ env });
const code = (await app.startCode())!;

webTest(
  "a start link creates the first account, only on request, and leaves the address",
  async () => {
    expectComplaints(/422|403/);
    const wrong = await openPage(app.url, { at: `#/start/${"x".repeat(22)}` });
    await wrong.getByRole("button", { name: "Create account" }).click();
    await wrong.getByRole("alert").getByText("This link isn't valid.").waitFor();
    expect(await wrong.evaluate(() => localStorage.length)).toBe(0);

    const page = await openPage(app.url, { size: PHONE, at: `#/start/${code}` });
    const late = await openPage(app.url, { at: `#/start/${code}` });
    await page.getByRole("heading", { name: "Create the first account" }).waitFor();
    expect(page.url()).toBe(`${app.url}/#/`);
    expect(await violations(page)).toEqual([]);
    expect(await page.evaluate(() => localStorage.length)).toBe(0);
    // A reload does not lose the start code.
    await page.reload();
    await page.getByRole("heading", { name: "Create the first account" }).waitFor();
    // The link was looked at, and nothing was created.
    expect(await app.startCode()).toBe(code);
    await page.getByRole("button", { name: "Create account" }).click();
    await page.getByRole("heading", { name: "Your account is ready" }).waitFor();
    const token = (await page.evaluate(() => localStorage.getItem("relay.token")))!;
    expect((await client(app.url, token)("GET /v1/account")).status).toBe(200);
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByRole("button", { name: "Not now" }).click();
    await untilLive(page);

    await late.getByRole("button", { name: "Create account" }).click();
    await late.getByRole("alert").getByText("already has its first account").waitFor();
    await late.getByRole("button", { name: "Sign in instead" }).click();
    await late.getByLabel("Account token").waitFor();
    // Pages that open from now on offer no account.
    const later = await openPage(app.url, { at: `#/start/${code}` });
    await later.getByText("This server doesn't accept new accounts.").waitFor();
    await later.getByLabel("I have a code").waitFor();
    for (const one of [later, late]) {
      expect(await one.getByRole("button", { name: "Create account" }).count()).toBe(0);
    }
    const kept = await Promise.all(
      [page, late, later].map((one) => one.evaluate(() => JSON.stringify(sessionStorage))),
    );
    for (const storage of kept) expect(storage).not.toContain(code);
  },
);

webTest("the first view names the terminal where an account needs the start code", async () => {
  const fresh = await startTestApp({ env });
  const page = await openPage(fresh.url);
  await page.getByText("open the address that Relay shows in its terminal").waitFor();
  expect(await page.getByRole("button", { name: "Create account" }).count()).toBe(0);
  expect(await violations(page)).toEqual([]);
  // A link opened in a tab that already shows the page.
  await go(page, `start/${code}`);
  await page.getByRole("heading", { name: "Create the first account" }).waitFor();
  expect(page.url()).toBe(`${fresh.url}/#/`);
});

webTest(
  "a start link changes nothing for a signed-in person, or where anyone may create accounts",
  async () => {
    const used = await startTestApp({ env });
    const start_code = (await used.startCode())!;
    const { body } = await client(used.url)("POST /v1/accounts", { start_code });
    const page = await openPage(used.url, { as: body, at: `#/start/${start_code}` });
    await page.getByRole("heading", { name: "Questions" }).waitFor();
    const open = await startTestApp();
    const stranger = await openPage(open.url, { at: `#/start/${code}` });
    await stranger.getByRole("button", { name: "Create account" }).waitFor();
    await stranger.getByLabel("Account token").waitFor();
    expect([page.url(), stranger.url()]).toEqual([`${used.url}/#/`, `${open.url}/#/`]);
  },
);
