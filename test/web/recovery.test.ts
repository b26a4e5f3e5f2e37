/** Recovery codes on the page: shown once, saved or put off, replaced, and used; and what a browser that was signed out offers. */

import { expect } from "bun:test";
import type { Page, Route } from "playwright-core";
import { startTestApp } from "../support/app.ts";
import { client, createPerson, newToken, pair } from "../support/client.ts";
import { until } from "../support/until.ts";
import {
  browserTests,
  DESK,
  expectComplaints,
  openPage,
  PHONE,
  tokenIn,
  untilLive,
} from "./browser.ts";
import { expectNoOverflow, violations } from "./page-checks.ts";
import { button, codeOn, field } from "./recovery-scene.ts";

const webTest = browserTests();
const app = await startTestApp();

const check = async (page: Page) => {
  expect(await violations(page)).toEqual([]);
  await expectNoOverflow(page);
};
/** Whether the code signs in. It is used up. */
const signsIn = async (code: string) =>
  (await client(app.url)("POST /v1/sessions/recover", { code, token: newToken() })).status === 201;

for (const [name, size] of Object.entries({ phone: PHONE, desk: DESK })) {
  webTest(
    `a new account's recovery code is saved to a file, printed and copied: ${name}`,
    async () => {
      const page = await openPage(app.url, { size });
      await button(page, "Create account").click();
      await page.getByRole("heading", { name: "Your account is ready" }).waitFor();
      const code = await codeOn(page);
      await check(page);
      const download = page.waitForEvent("download");
      await button(page, "Save to a file").click();
      const file = await download;
      expect(file.suggestedFilename()).toMatch(/^relay-recovery-code-[\w.-]+\.txt$/);
      const text = await Bun.file(await file.path()).text();
      expect(text).toContain(`\n${code}\n`);
      expect(text).toContain(app.url);
      await button(page, /^Continue$/).waitFor();
      // What is printed has the code and the address, and no buttons.
      await page.emulateMedia({ media: "print" });
      expect(await page.locator("code").isVisible()).toBe(true);
      expect(await page.getByText(`${app.url}/`, { exact: true }).isVisible()).toBe(true);
      expect(await page.getByRole("button").count()).toBe(0);
      await page.emulateMedia({ media: "screen" });
      await page.evaluate(() => {
        window.print = () => document.body.setAttribute("data-printed", "");
      });
      await button(page, "Print").click();
      await page.locator("body[data-printed]").waitFor();
      await button(page, /^Continue$/).press("Enter");
      await button(page, "Not now").click();
      await untilLive(page);
      expect(await page.getByText("You haven't saved a recovery code").count()).toBe(0);
      // The code is nowhere in the browser, nor in a log line, and can be used.
      const stored = await page.evaluate(() => JSON.stringify([localStorage, sessionStorage]));
      expect(stored).not.toContain(code.slice(0, 9));
      for (const line of app.lines) expect(line).not.toContain(code);
      expect(await signsIn(code)).toBe(true);
    },
  );
}

webTest("a code that is put off is offered again, and replaced under Account", async () => {
  expectComplaints(/Failed to load resource|ERR_/);
  const page = await openPage(app.url, { size: PHONE, touch: true });
  await page.route("**/trpc/recovery.replace", (route) => route.abort(), { times: 1 });
  await button(page, "Create account").tap();
  await page.getByRole("alert").getByText("Couldn't reach the server").waitFor();
  await check(page);
  await page.reload();
  // The page was left before it had shown a code.
  await page.getByText("You haven't saved a recovery code").waitFor();
  await button(page, "Save a recovery code").tap();
  const first = await codeOn(page);
  await button(page, "Continue and save one later").press("Enter");
  await untilLive(page);
  await page.reload();
  await page.getByText("You haven't saved a recovery code").waitFor();
  await check(page);
  await button(page, "Save a recovery code").press("Enter");
  await page.getByRole("heading", { name: "Your new recovery code" }).waitFor();
  const second = await codeOn(page);
  expect(await signsIn(first)).toBe(false);
  await check(page);
  await button(page, "I wrote it down").click();
  await button(page, /^Continue$/).click();
  await untilLive(page);
  await page.getByText("All caught up").waitFor();
  expect(await page.getByText("You haven't saved a recovery code").count()).toBe(0);

  await page.getByRole("link", { name: "Account" }).click();
  await page.getByText("The last one was made").waitFor();
  await button(page, "Replace the recovery code").click();
  const dialog = page.getByRole("alertdialog");
  await dialog.getByText("stops working").waitFor();
  await check(page);
  await dialog.getByRole("button", { name: "Replace" }).click();
  await page.getByRole("heading", { name: "Your new recovery code" }).waitFor();
  const third = await codeOn(page);
  await button(page, "Continue and save one later").click();
  await page.getByText("You haven't saved one").waitFor();
  // A response from before the code was made comes after it.
  await page.evaluate(() => {
    const key = "relay.unsaved-recovery-code";
    localStorage.setItem(key, String(Number(localStorage.getItem(key)) + 60));
  });
  await page.reload();
  await page.getByText("You haven't saved one").waitFor();
  expect([await signsIn(second), await signsIn(third)]).toEqual([false, true]);

  // Replaced, but the response is lost: the saved code has ended, and nobody has seen the new one.
  await button(page, "Make a recovery code").click();
  await page.getByRole("heading", { name: "Your new recovery code" }).waitFor();
  await button(page, "Copy").click();
  await button(page, /^Continue$/).click();
  await page.getByText("The last one was made").waitFor();
  const lose = async (route: Route) => {
    await route.fetch();
    await route.abort();
  };
  await page.route("**/trpc/recovery.replace", lose, { times: 1 });
  await button(page, "Replace the recovery code").click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Replace" }).click();
  await page.getByText("Couldn't reach the server").waitFor();
  await page.reload();
  await page.getByText("You haven't saved one").waitFor();
});

webTest("a recovery code signs in once, as it was typed, and shows the next one", async () => {
  expectComplaints(/404|Failed to load resource/);
  const person = await createPerson(app.url);
  const { code } = (await person.send("POST /v1/account/recovery-code", {})).body;
  const other = await openPage(app.url, { as: person });
  await untilLive(other);
  const page = await openPage(app.url, { size: PHONE });
  await field(page).fill("ABCD");
  await field(page).press("Enter");
  await page.getByText("isn't a recovery code").waitFor();
  await field(page).fill(code.toLowerCase().replaceAll("-", " "));
  await field(page).press("Enter");
  await page.getByRole("heading", { name: "You're signed in again" }).waitFor();
  const next = await codeOn(page);
  await check(page);
  // Until the person has seen the code, the sign-in sends no request, so that the used code is good again after a crash.
  await page.reload();
  await page.getByRole("heading", { name: "You're signed in again" }).waitFor();
  expect(await codeOn(page)).toBe(next);
  expect(await tokenIn(page)).toBeNull();
  const made = (await person.send("GET /v1/sessions")).body.sessions[0];
  expect([made.made_by, made.last_used_at]).toEqual(["recovery", null]);
  await button(page, "Copy").click();
  await button(page, /^Continue$/).click();
  await untilLive(page);
  expect(await page.evaluate(() => localStorage.getItem("relay.recovery"))).toBeNull();
  // The other browser tells the person of it.
  await other.getByText("signed in to your account with your recovery code").waitFor();
  await other.goto(`${app.url}/#/account`);
  await other.getByText("Signed in with the recovery code").waitFor();
  // The code that it got ends with it, so that the person is reminded to make another one.
  await button(other, "Sign it out").first().click();
  await other.getByRole("alertdialog").getByRole("button", { name: "Sign out" }).click();
  await page.getByText("signed out from another device").waitFor();
  // The dialog closes once the page knows what ended with the sign-in.
  await other.getByRole("alertdialog").waitFor({ state: "detached" });
  await other.getByText("You haven't saved one").waitFor();
  await other.goto(`${app.url}/#/questions`);
  await other.getByText("You haven't saved a recovery code").waitFor();
  await button(other, "Save a recovery code").click();
  const last = await codeOn(other);

  const again = await openPage(app.url);
  await again.getByLabel("I have a code").fill(code);
  await again.getByLabel("I have a code").press("Enter");
  await again.getByRole("alert").getByText("This recovery code isn't valid").waitFor();
  await again.reload();
  await field(again).fill(code);
  await button(again, "Sign in").click();
  await again.getByRole("alert").getByText("This recovery code isn't valid").waitFor();
  await check(again);
  await again.getByLabel("I have a code").fill(last);
  await button(again, "Use code").click();
  await again.getByRole("heading", { name: "You're signed in again" }).waitFor();
});

webTest(
  "a browser that was signed out says so, after a reload too, and offers the ways back",
  async () => {
    expectComplaints(/401/);
    const start = await startTestApp({ env: { ACCOUNT_CREATION: "first" } });
    const start_code = await start.startCode();
    // Loaded before the account exists, as a kept page is.
    const page = await openPage(start.url, { at: `#/start/${start_code}` });
    await button(page, "Create account").click();
    await codeOn(page);
    await button(page, "Continue and save one later").click();
    await button(page, "Not now").click();
    await untilLive(page);
    const send = client(start.url, (await tokenIn(page))!);
    const other = await pair(start.url, { send });
    const { sessions } = (await send("GET /v1/sessions")).body;
    await send(`POST /v1/sessions/${other.session.id}/confirm`);
    const own = sessions.find(({ current }: { current: boolean }) => current);
    await other.send(`DELETE /v1/sessions/${own.id}`);
    for (const reloads of [false, true]) {
      if (reloads) await page.reload();
      await page.getByText("signed out from another device").waitFor();
      await page.getByLabel("I have a code").waitFor();
      await field(page).waitFor();
      await check(page);
      expect(await page.getByRole("button").allTextContents()).toEqual(["Use code", "Sign in"]);
      expect(await page.getByText("create the first account").count()).toBe(0);
    }
    await field(page).fill(other.token);
    await button(page, "Sign in").click();
    await untilLive(page);

    // Where anyone may create an account, the ways back come first.
    const person = await createPerson(app.url);
    const open = await openPage(app.url, { as: person });
    await untilLive(open);
    await person.send("POST /v1/account/token", {});
    await open.getByText("no longer valid").waitFor();
    expect(await open.getByRole("button").allTextContents()).toEqual([
      ...["Use code", "Sign in", "Create account"],
    ]);
  },
);

webTest("signing out ends this browser only, and the dialog says what ends with it", async () => {
  const person = await createPerson(app.url);
  const { code } = (await person.send("POST /v1/account/recovery-code", {})).body;
  const phone = await pair(app.url, person);
  const page = await openPage(app.url, { as: person, at: "#/account", size: PHONE });
  await page.getByText("The last one was made").waitFor();
  await page.evaluate(() =>
    localStorage.setItem(
      "relay.push-channel",
      JSON.stringify({ id: "chn_x", endpoint: "x", settings: {} }),
    ),
  );
  await button(page, /^Sign out$/).click();
  const dialog = page.getByRole("alertdialog");
  await dialog.getByText("or use your recovery code").waitFor();
  await dialog.getByText("Notifications in this browser stop").waitFor();
  await dialog.getByText("Your other browsers stay signed in").waitFor();
  await check(page);
  await dialog.getByRole("button", { name: "Sign out" }).click();
  await page.getByText("You're signed out").waitFor();
  expect((await phone.send("GET /v1/account")).status).toBe(200);

  // The last one: with a code as the way back, its token is not kept.
  const last = await openPage(app.url, { as: phone, at: "#/account" });
  await last.getByText("The last one was made").waitFor();
  await button(last, /^Sign out$/).click();
  await last.getByText("you need your recovery code to sign in again").waitFor();
  expect(await last.getByRole("switch", { name: "Keep the token valid" }).count()).toBe(0);
  await last.getByRole("alertdialog").getByRole("button", { name: "Sign out" }).click();
  await last.getByText("You're signed out").waitFor();
  await until(async () => (await phone.send("GET /v1/account")).status === 401);
  await field(last).fill(code);
  await field(last).press("Enter");
  await last.getByRole("heading", { name: "You're signed in again" }).waitFor();
});
