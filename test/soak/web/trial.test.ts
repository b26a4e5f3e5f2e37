/** The trial of a browser added by a code: what is not offered, and how another device ends it (§4.1.6). */

import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { startTestApp } from "../../support/app.ts";
import {
  createAgent,
  createPerson,
  createTask,
  DEVICE,
  type Person,
  pair,
  WEBHOOK,
} from "../../support/client.ts";
import { connectClient } from "../../support/oauth.ts";
import { browserTests, openPage, PHONE } from "../../web/browser.ts";
import { expectNoOverflow, violations } from "../../web/page-checks.ts";

const webTest = browserTests();
const app = await startTestApp();

const go = (page: Page, hash: string) =>
  page.evaluate((next) => {
    location.hash = next;
  }, `#/${hash}`);

/** A person with one of everything, and a phone that was added just now. */
async function createScene() {
  const person = await createPerson(app.url);
  const { key, send } = await createAgent(app.url, person, "Builder");
  await person.send(`PUT /v1/devices/dev_${crypto.randomUUID()}`, DEVICE);
  await person.send("POST /v1/channels", WEBHOOK);
  await person.send(`PUT /v1/keys/${key.id}/webhook`, { url: "http://127.0.0.1:9/inbox" });
  await connectClient(app.url, person, { key_id: key.id });
  const task = await createTask(send, { title: "Deploy" });
  return { person, key, task, phone: await pair(app.url, person, "Safari on iPhone") };
}

/** Per view: names of buttons, links and fields that only a sign-in past its trial is offered. */
const KEPT_BACK = (key_id: string, task_id: string) =>
  [
    [
      "account",
      [
        "Add a device",
        "Add a channel",
        "Delete account",
        "Sign out Unnamed device",
        `Remove ${DEVICE.model}`,
        "Send a test",
        `Edit ${WEBHOOK.label}`,
        `Delete ${WEBHOOK.label}`,
      ],
    ],
    ["agents", ["New agent", "enter the code"]],
    ["agents/new", ["Create agent"]],
    [`agents/${key_id}`, ["Rename"]],
    [
      `agents/${key_id}/key`,
      [
        "Delete agent",
        "Replace the key",
        "Revoke the access of Test client",
        "Replace the webhook",
        "Remove the webhook",
      ],
    ],
    ["approve", ["Continue"]],
    [`tasks/${task_id}`, ["Delete"]],
  ] as const;

const offered = async (page: Page, name: string): Promise<boolean> => {
  const options = { name, exact: name !== "Send a test" && name !== "Create agent" };
  const found = page.getByRole("button", options).or(page.getByRole("link", options));
  return (await found.count()) > 0;
};

webTest(
  "a browser in its trial is offered nothing that would be refused, and everything once confirmed",
  async () => {
    const { person, key, task, phone } = await createScene();
    const page = await openPage(app.url, { as: phone, size: PHONE, at: "#/account" });
    const views = KEPT_BACK(key.id, task.id);
    for (const [view, names] of views) {
      await go(page, view);
      // Only a pencil is missing there.
      const says_why = view !== `agents/${key.id}`;
      if (says_why)
        await page
          .getByText(/choose “It was me” on/)
          .first()
          .waitFor();
      else await page.getByRole("heading", { name: "Builder" }).waitFor();
      for (const name of names)
        expect([view, name, await offered(page, name)]).toEqual([view, name, false]);
      await expectNoOverflow(page);
    }
    await go(page, "account");
    expect(await violations(page)).toEqual([]);
    const live_activities = page.getByRole("switch", { name: "Live activities" });
    expect(await live_activities.isDisabled()).toBe(true);
    // It may rename itself.
    expect(await offered(page, "Rename Safari on iPhone")).toBe(true);

    await person.send(`POST /v1/sessions/${phone.session.id}/confirm`);
    await page.getByRole("button", { name: "Add a device" }).waitFor();
    expect(await live_activities.isDisabled()).toBe(false);
    expect(await page.getByText("It was me").count()).toBe(0);
    for (const [view, names] of views) {
      await go(page, view);
      for (const name of names) {
        if (view === "agents/new") await page.getByRole("heading", { name: "New agent" }).waitFor();
        else {
          const options = { name, exact: name !== "Send a test" };
          await page
            .getByRole("button", options)
            .or(page.getByRole("link", options))
            .first()
            .waitFor();
        }
      }
    }
  },
);

webTest(
  "the device that showed the code sees the new device's label and address, and confirms it",
  async () => {
    const { person, phone: tablet } = await createScene();
    const desk = await openPage(app.url, { as: person, at: "#/account" });
    await desk.getByRole("button", { name: "It was me, Safari on iPhone" }).first().waitFor();
    await desk.getByRole("button", { name: "Add a device" }).click();
    const dialog = desk.getByRole("dialog");
    await dialog.getByText("Waiting for the device").waitFor();
    const phone = await pair(app.url, person, "Firefox on Android");
    const phone_page = await openPage(app.url, { as: phone, size: PHONE, at: "#/agents" });
    await phone_page.getByText(/it can't add agents/).waitFor();
    await dialog.getByText("Firefox on Android signed in").waitFor();
    await dialog.getByText("127.0.0.1").waitFor();
    expect(await violations(desk)).toEqual([]);
    await dialog.getByRole("button", { name: "It was me, Firefox on Android" }).click();
    // At once on both devices.
    await phone_page.getByRole("link", { name: "New agent" }).waitFor();
    await dialog.getByText("It has full access to your account").waitFor();
    await dialog.getByRole("button", { name: "Done" }).click();
    const ends = await trials(person);
    expect([ends.get(phone.session.id), ends.get(tablet.session.id)]).toEqual([
      null,
      expect.any(Number),
    ]);
  },
);

webTest("a sign-in that was not the person's can be ended where the code was shown", async () => {
  const person = await createPerson(app.url);
  const desk = await openPage(app.url, { as: person, at: "#/account" });
  await desk.getByRole("button", { name: "Add a device" }).click();
  const dialog = desk.getByRole("dialog");
  await dialog.getByText("Waiting for the device").waitFor();
  await pair(app.url, person, "Chrome on Windows");
  await dialog.getByRole("button", { name: "Sign it out" }).click();
  await desk.getByRole("alertdialog").getByRole("button", { name: "Sign out" }).click();
  // A new code, for the right device.
  await dialog.getByText("Waiting for the device").waitFor();
  expect((await trials(person)).size).toBe(1);
});

webTest(
  "the notice and the list offer to confirm, and stop once another device has confirmed",
  async () => {
    const person = await createPerson(app.url);
    const [first, second] = [
      await openPage(app.url, { as: person, at: "#/account" }),
      await openPage(app.url, { as: person, size: PHONE, at: "#/account" }),
    ];
    await pair(app.url, person, "Safari on iPhone");
    const row = (page: Page) => page.locator("li", { hasText: "Safari on iPhone" });
    for (const page of [first, second]) {
      await page.getByText("with a code from 127.0.0.1.").waitFor();
      await row(page).getByText("Not confirmed").waitFor();
      await row(page).getByText("From 127.0.0.1").waitFor();
      expect(await violations(page)).toEqual([]);
      await expectNoOverflow(page);
    }
    await row(first).getByRole("button", { name: "It was me, Safari on iPhone" }).click();
    await first.getByText("Safari on iPhone has full access now").waitFor();
    await first.getByText("with a code from").waitFor({ state: "detached" });
    for (const page of [first, second]) {
      await row(page).getByText("Not confirmed").waitFor({ state: "detached" });
    }
    // The other device still tells the person, who has nothing more to confirm.
    await second.getByRole("button", { name: "OK, Safari on iPhone is mine" }).click();
    await second.getByText("with a code from").waitFor({ state: "detached" });
  },
);

/** When the trial of each sign-in ends, by its id. */
async function trials({ send }: Pick<Person, "send">): Promise<Map<string, number | null>> {
  const { sessions } = (await send("GET /v1/sessions")).body;
  return new Map(
    sessions.map(({ id, trial_ends_at }: { id: string; trial_ends_at: number | null }) => [
      id,
      trial_ends_at,
    ]),
  );
}
