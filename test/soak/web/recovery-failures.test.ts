/** Recovery codes when a response is lost, or another browser makes one. */

import { expect } from "bun:test";
import { startTestApp } from "../../support/app.ts";
import { client, createPerson } from "../../support/client.ts";
import { browserTests, expectComplaints, openPage, tokenIn, untilLive } from "../../web/browser.ts";
import { button, codeOn, field } from "../../web/recovery-scene.ts";

const webTest = browserTests();
const app = await startTestApp();

webTest("a code made in another browser ends the reminder here", async () => {
  const page = await openPage(app.url);
  await button(page, "Create account").click();
  await codeOn(page);
  await button(page, "Continue and save one later").click();
  await button(page, "Not now").click();
  await untilLive(page);
  await client(app.url, (await tokenIn(page))!)("POST /v1/account/recovery-code", {});
  await page.reload();
  await page.getByText("You have a recovery code now").waitFor();
  await page.reload();
  await untilLive(page);
  expect(await page.getByText("recovery code").count()).toBe(0);
});

webTest(
  "a recovery whose response is lost is finished with the same sign-in and code",
  async () => {
    expectComplaints(/Failed to load resource|ERR_/);
    for (const replaced of [false, true]) {
      const person = await createPerson(app.url);
      const { code } = (await person.send("POST /v1/account/recovery-code", {})).body;
      const page = await openPage(app.url);
      let answer: { result: { data: { recovery_code: string; token: string } } } | undefined;
      await page.route(
        "**/trpc/recovery.claim",
        async (route) => {
          answer = await (await route.fetch()).json();
          await route.abort();
        },
        { times: 1 },
      );
      await field(page).fill(code);
      await button(page, "Sign in").click();
      await page.getByRole("alert").getByText("Couldn't reach the server").waitFor();
      // The code that the lost response had may be replaced by now: the sign-in is there all the same.
      if (replaced) await person.send("POST /v1/account/recovery-code", {});
      // The server is still out of reach after the first reload.
      await page.route("**/trpc/recovery.claim", (route) => route.abort(), { times: 1 });
      await page.reload();
      await page.getByText("Signing in with this code didn't finish").waitFor();
      if (replaced) await button(page, "Sign in").click();
      else await page.reload();
      const { recovery_code, token } = answer!.result.data;
      if (replaced) await untilLive(page);
      else {
        await page.getByRole("heading", { name: "You're signed in again" }).waitFor();
        expect(await codeOn(page)).toBe(recovery_code);
      }
      if (!replaced) {
        await button(page, "I wrote it down").click();
        await button(page, /^Continue$/).click();
        await untilLive(page);
      }
      expect(await tokenIn(page)).toBe(token);
      expect((await person.send("GET /v1/sessions")).body.sessions).toHaveLength(2);
      expect(await page.evaluate(() => localStorage.getItem("relay.recovery"))).toBeNull();
      if (replaced) continue;
      // In its trial the browser takes its code along, and the dialog says so.
      await page.getByRole("link", { name: "Account" }).click();
      await page.getByText("it can't add devices").waitFor();
      await button(page, /^Sign out$/).click();
      await page.getByText("The recovery code that this browser got stops working").waitFor();
    }
  },
);
