/** Adding a browser when a response is lost, or a link or code is not valid any more. */

import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { startTestApp } from "../../support/app.ts";
import { client, createPerson, newToken, sessionsOf } from "../../support/client.ts";
import { until } from "../../support/until.ts";
import {
  browserTests,
  expectComplaints,
  go,
  openPage,
  tokenIn,
  untilLive,
} from "../../web/browser.ts";
import { violations } from "../../web/page-checks.ts";
import { OF_PLAIN_HTTP, pairingsAt } from "../../web/pairing-scene.ts";

const webTest = browserTests();
const app = await startTestApp();
const { lan, atOf, newCode } = pairingsAt(app.url);

/** The server claims the code, and its response is lost. */
const loseClaim = (page: Page) =>
  page.route(
    "**/trpc/pairings.claim",
    async (route) => {
      await route.fetch();
      await route.abort();
    },
    { times: 1 },
  );

webTest("after a lost response, trying again gives the same sign-in", async () => {
  expectComplaints(/Failed to load resource|ERR_/);
  const person = await createPerson(app.url);
  const page = await openPage(app.url);
  await loseClaim(page);
  await page.getByLabel("I have a code").fill((await newCode(person)).code);
  await page.getByRole("button", { name: "Use code" }).click();
  await page.getByRole("alert").getByText("Couldn't reach the server").waitFor();
  await page.getByRole("button", { name: "Use code" }).click();
  await untilLive(page);
  expect(await sessionsOf(person)).toHaveLength(2);

  // Also after a reload, which claims nothing by itself.
  const again = await openPage(app.url, { at: atOf((await newCode(person)).url) });
  await loseClaim(again);
  await again.getByRole("button", { name: "Add this browser" }).click();
  await again.getByRole("alert").waitFor();
  let claims = 0;
  await again.route("**/trpc/pairings.claim", (route) => {
    claims++;
    return route.continue();
  });
  await again.reload();
  await again.getByText("didn't finish").waitFor();
  expect([claims, await tokenIn(again)]).toEqual([0, null]);
  await again.getByRole("button", { name: "Try again" }).click();
  await untilLive(again);
  expect(await sessionsOf(person)).toHaveLength(3);
});

webTest("a used or expired pairing link does not offer to sign in", async () => {
  expectComplaints(/404/);
  const person = await createPerson(app.url);
  const { url, code } = await newCode(person);
  await client(app.url)("POST /v1/pairings/claim", { code, token: newToken() });
  const page = await openPage(app.url, { at: atOf(url) });
  await page.getByRole("heading", { name: "This code isn't valid" }).waitFor();
  expect(await page.getByRole("button", { name: "Add this browser" }).count()).toBe(0);
  expect(await violations(page)).toEqual([]);
  await page.getByRole("button", { name: "Back" }).click();
  await page.getByLabel("I have a code").waitFor();
});

webTest(
  "cancelling after a lost response ends the sign-in that the lost request created",
  async () => {
    expectComplaints(/Failed to load resource|ERR_|401/);
    const person = await createPerson(app.url);
    const page = await openPage(app.url, { at: atOf((await newCode(person)).url) });
    await loseClaim(page);
    await page.getByRole("button", { name: "Add this browser" }).click();
    await page.getByRole("alert").waitFor();
    expect(await sessionsOf(person)).toHaveLength(2);
    // The server can't be reached now, so the next load ends the sign-in.
    await page.route("**/trpc/sessions.*", (route) => route.abort());
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByLabel("I have a code").waitFor();
    expect(await sessionsOf(person)).toHaveLength(2);
    await page.unroute("**/trpc/sessions.*");
    await page.reload();
    await until(async () => (await sessionsOf(person)).length === 1);
    await page.waitForFunction(() => localStorage.length === 0);

    // A claim that never arrived leaves nothing to end.
    const other = await openPage(app.url, { at: atOf((await newCode(person)).url) });
    await other.route("**/trpc/pairings.claim", (route) => route.abort());
    await other.getByRole("button", { name: "Add this browser" }).click();
    await other.getByRole("alert").waitFor();
    await other.getByRole("button", { name: "Cancel" }).click();
    await other.waitForFunction(() => localStorage.length === 0);
    expect(await sessionsOf(person)).toHaveLength(1);
  },
);

webTest("an unfinished claim that the server has forgotten continues by its token", async () => {
  expectComplaints(/Failed to load resource|ERR_|404/);
  const person = await createPerson(app.url);
  const { code } = await newCode(person);
  const page = await openPage(app.url);
  await loseClaim(page);
  await page.getByLabel("I have a code").fill(code);
  await page.getByRole("button", { name: "Use code" }).click();
  await page.getByRole("alert").waitFor();
  // As after the hour for which the server remembers it.
  const { token } = JSON.parse(
    (await page.evaluate(() => localStorage.getItem("relay.claim")))!,
  ) as { token: string };
  await page.evaluate(
    (kept) =>
      localStorage.setItem("relay.claim", JSON.stringify({ code: "ABCD-2345", token: kept })),
    token,
  );
  await page.reload();
  await page.getByRole("button", { name: "Try again" }).click();
  await untilLive(page);
  expect(await tokenIn(page)).toBe(token);
});

webTest(
  "a pairing link changes nothing in a browser that is signed in to any account",
  async () => {
    expectComplaints(OF_PLAIN_HTTP);
    const [mine, attacker] = [await createPerson(app.url), await createPerson(app.url)];
    for (const account of [attacker, mine]) {
      const { url } = await newCode(account);
      const page = await openPage(lan, { as: mine });
      await go(page, atOf(url).slice(2));
      await page.getByRole("heading", { name: "You're already signed in" }).waitFor();
      expect(page.url()).toBe(`${lan}/#/`);
      if (account === mine) await go(page, "questions");
      else await page.getByRole("button", { name: "Stay signed in" }).click();
      await page.getByRole("heading", { name: "Questions" }).waitFor();
      expect(await tokenIn(page)).toBe(mine.token);
      await page.reload();
      await untilLive(page);
    }
    for (const person of [mine, attacker]) expect(await sessionsOf(person)).toHaveLength(1);
  },
);

webTest("an expired pairing code is replaced when the person asks for it", async () => {
  const person = await createPerson(app.url);
  const page = await openPage(app.url, { as: person, at: "#/account" });
  const add = page.getByRole("button", { name: "Add a device" });
  await page.route(
    "**/trpc/pairings.create",
    async (route) => {
      const response = await route.fetch();
      const { result } = await response.json();
      const expires_at = Date.now() / 1000;
      await route.fulfill({ json: { result: { data: { ...result.data, expires_at } } } });
    },
    { times: 1 },
  );
  await add.click();
  await page.getByText("This code has expired").waitFor();
  const made = page.waitForResponse("**/trpc/pairings.create");
  await page.getByRole("button", { name: "New code" }).click();
  const { code } = (await (await made).json()).result.data;
  await page.getByText(code).waitFor();
  // On loopback there is no address for another device.
  await page.getByText("There's no QR code").waitFor();
});
