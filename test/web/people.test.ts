/** The people on the admin page: invite, name, let back in, block and delete, on a desk and a phone. */

import { expect } from "bun:test";
import { ADMIN, adminClient } from "../support/admin.ts";
import { startTestApp } from "../support/app.ts";
import { ask, claim, client, createAgent, createPerson } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { until } from "../support/until.ts";
import { lookAgain, people, signIn, untilLive } from "./admin-page.ts";
import {
  browserTests,
  DESK,
  expectComplaints,
  openPage,
  openProfile,
  PHONE,
  untilLive as untilPersonLive,
} from "./browser.ts";
import { untilFocused } from "./keys.ts";
import { expectNoOverflow, untilSettled, violations } from "./page-checks.ts";

const webTest = browserTests();

const HOSTILE = `\u202e${"Wolfeschlegelsteinhausenbergerdorff".repeat(2)}`;

for (const [name, size] of Object.entries({ phone: PHONE, desk: DESK })) {
  webTest(
    `an administrator invites a person, names, lets back in, blocks, unblocks and deletes: ${name}`,
    async () => {
      expectComplaints(/401|403|404/);
      // That a busy machine let the process stand still would be worth a look.
      const timers = createTestClock();
      const app = await startTestApp({ timers, env: { ...ADMIN, ACCOUNT_CREATION: "off" } });
      const admin = adminClient(app.url);
      const context = await openProfile(app.url, { size });
      const page = await context.newPage();
      await page.goto(`${app.url}/admin`);
      await signIn(page);
      await untilLive(page);
      const found: Record<string, string[]> = {};
      const check = async (view: string, part?: string) => {
        await untilSettled(page);
        found[view] = await violations(page, part);
        await expectNoOverflow(page);
      };
      const health = page.getByRole("region", { name: "Health" });
      await health.getByRole("heading", { name: "Everything is well" }).waitFor();
      await health.getByText(/^The database answers in/).waitFor();
      await page.getByText("Nobody has an account yet").waitFor();
      await check("nobody");

      // Invite, by keyboard alone.
      await page.getByRole("button", { name: "Invite" }).focus();
      await page.keyboard.press("Enter");
      const dialog = page.getByRole("dialog");
      await untilFocused(page, /^input: /);
      await page.keyboard.type("Oma");
      await check("invite", "[role=dialog]");
      await page.keyboard.press("Enter");
      const link = (await dialog.locator("pre").textContent())!;
      expect(link).toMatch(/\/#\/invite\/[\w-]{22}$/);
      await dialog.getByText("This link works on this machine only.").waitFor();
      await check("link", "[role=dialog]");
      await page.keyboard.press("Escape");
      await dialog.waitFor({ state: "detached" });
      const open = page.getByRole("list", { name: "Open invitations" });
      await open.getByText("Oma").waitFor();
      expect(await page.content()).not.toContain(link.slice(-22));

      // The person opens it in a browser of their own; the link works once.
      const person = await openPage(app.url, { size, at: new URL(link).hash });
      await person.getByRole("heading", { name: "You're invited" }).waitFor();
      expect(person.url()).not.toContain("invite");
      await expectNoOverflow(person);
      expect(await violations(person)).toEqual([]);
      await person.getByRole("button", { name: "Create account" }).click();
      await until(async () => (await admin.overview.query()).counts?.accounts === 1);
      const late = await openPage(app.url, { at: new URL(link).hash });
      await late.getByRole("button", { name: "Create account" }).click();
      await late.getByText("Ask the administrator for a new one").waitFor();

      // Name.
      await page.reload();
      await people(page).first().getByText("Oma").waitFor();
      expect(await open.count()).toBe(0);
      await people(page).first().click();
      await dialog.getByRole("button", { name: "Rename" }).click();
      await dialog.getByLabel("Name").fill(HOSTILE);
      await page.keyboard.press("Enter");
      await dialog.getByRole("heading", { name: HOSTILE }).waitFor();
      await check("person", "[role=dialog]");

      // Let back in.
      await dialog.getByRole("button", { name: "Make code" }).click();
      const code = (await dialog.getByText(/^[0-9A-Z]{4}-[0-9A-Z]{4}$/).textContent())!;
      const { body } = await claim(app.url, { code });
      expect(body.session.made_by).toBe("administrator");
      const me = { ...body, send: client(app.url, body.token) };

      // Block: the dialog names the person; nothing happens on Cancel.
      await dialog.getByRole("button", { name: "Block…" }).click();
      const asked = page.getByRole("alertdialog");
      await asked.getByText(HOSTILE).waitFor();
      await check("block", "[role=alertdialog]");
      await asked.getByRole("button", { name: "Cancel" }).click();
      expect((await me.send("GET /v1/account")).status).toBe(200);
      await dialog.getByRole("button", { name: "Block…" }).click();
      await asked.getByRole("button", { name: "Block" }).click();
      await dialog.getByRole("heading", { name: "This account is blocked" }).waitFor();
      await check("blocked", "[role=dialog]");
      expect((await me.send("GET /v1/account")).status).toBe(403);
      await dialog.getByRole("button", { name: "Unblock" }).click();
      await dialog.getByRole("heading", { name: "Let back in" }).waitFor();
      expect((await me.send("GET /v1/account")).status).toBe(200);

      // Delete, after a dialog that names the person.
      await dialog.getByRole("button", { name: "Delete account…" }).click();
      await asked.getByText(HOSTILE).waitFor();
      await asked.getByRole("button", { name: "Delete account" }).click();
      await page.getByText("Nobody has an account yet").waitFor();
      expect((await me.send("GET /v1/account")).body.ended).toBe(true);

      // Revoke.
      const { code: revoked } = await admin.invite.mutate({ name: "Nobody" });
      await page.reload();
      await open.getByRole("button", { name: "Revoke the invitation: Nobody" }).click();
      await open.waitFor({ state: "detached" });
      const answer = await client(app.url)("POST /v1/accounts", { start_code: revoked });
      expect(answer.body.code).toBe("account_creation_off");
      expect(Object.entries(found).filter(([, list]) => list.length > 0)).toEqual([]);
    },
    300_000,
  );
}

webTest(
  "the page of a blocked person says so, keeps everything, and goes on after the block",
  async () => {
    expectComplaints(/403/);
    const app = await startTestApp({ env: ADMIN });
    const person = await createPerson(app.url);
    const agent = await createAgent(app.url, person);
    await ask(agent.send, { prompt: "Still there?" });
    const page = await openPage(app.url, { as: person });
    await untilPersonLive(page);
    const account_id = person.account.id;
    const admin = adminClient(app.url);
    await admin.setBlocked.mutate({ account_id, blocked: true });
    await page.getByText("The administrator of this server has blocked this account").waitFor();
    expect(await page.getByText("Offline.").count()).toBe(0);
    await page.reload();
    await page.getByText("The administrator of this server has blocked this account").waitFor();
    await admin.setBlocked.mutate({ account_id, blocked: false });
    await page.getByRole("button", { name: "Retry" }).click();
    await untilPersonLive(page);
    await page.getByText("Still there?").waitFor();
  },
);

webTest("a hundred people load in pages, and a fault is told in the admin's words", async () => {
  const app = await startTestApp({ timers: createTestClock(), env: ADMIN });
  const admin = adminClient(app.url);
  for (let i = 0; i < 100; i++) {
    const { account } = await createPerson(app.url);
    if (i % 3) await admin.setName.mutate({ account_id: account.id, name: `Person ${i}` });
  }
  const page = await (await openProfile(app.url, { size: PHONE })).newPage();
  await page.route("**/admin/trpc/**", async (route) => {
    const response = await route.fetch();
    const body = (await response.text()).replace(
      /"state":"ok","text":"No errors since Relay started."/,
      '"state":"warning","text":"Last error: The disk is full, so nothing could be saved."',
    );
    await route.fulfill({
      response,
      body: body.replace('"data":{"state":"ok"', '"data":{"state":"warning"'),
    });
  });
  await page.goto(`${app.url}/admin`);
  await signIn(page);
  await page.getByRole("heading", { name: "Something is worth a look" }).waitFor();
  const checks = page.getByRole("list", { name: "Checks" }).getByRole("listitem");
  expect(await checks.first().textContent()).toContain("The disk is full");
  for (let shown = 25; shown < 100; shown += 25) {
    await until(async () => (await people(page).count()) === shown);
    await page.getByRole("button", { name: "Show more" }).click();
  }
  await until(async () => (await people(page).count()) === 100);
  await expectNoOverflow(page);

  // One of them is found by a part of the name, from any page.
  const field = page.getByLabel("Find by name");
  for (const name of ["Person 98's aunt", "Uncle"]) await admin.invite.mutate({ name });
  await lookAgain(page);
  const invited = page.getByRole("list", { name: "Open invitations" }).getByRole("listitem");
  await until(async () => (await invited.count()) === 2);
  await field.fill(" pERSON 98 ");
  await page.getByText("1 person", { exact: true }).waitFor();
  expect(await people(page).allTextContents()).toEqual([expect.stringMatching(/^Person 98/)]);
  expect(await invited.allTextContents()).toEqual([expect.stringMatching(/^Person 98's aunt/)]);
  await field.fill("nobody");
  await page.getByText("No account has this in its name.").waitFor();
  expect(await people(page).count()).toBe(0);
  expect(await violations(page)).toEqual([]);
  // A person who leaves the list by a new name stays open.
  await field.fill("person 2");
  await page.getByText("8 people", { exact: true }).waitFor();
  await people(page).last().click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Rename" }).click();
  await dialog.getByLabel("Name").fill("Aunt");
  await page.keyboard.press("Enter");
  await dialog.getByRole("heading", { name: "Aunt" }).waitFor();
  await lookAgain(page);
  await until(async () => !(await people(page).allTextContents()).join().includes("Aunt"));
  await dialog.getByRole("heading", { name: "Aunt" }).waitFor();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await field.fill("");
  await until(async () => (await people(page).count()) === 25);
});
