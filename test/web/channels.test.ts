/** Notification channels in the account view (§19). */

import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { startTestApp } from "../support/app.ts";
import { createAgent, createPair, createPerson, type Person } from "../support/client.ts";
import { startNtfy } from "../support/ntfy.ts";
import { startReceiver } from "../support/receiver.ts";
import { until } from "../support/until.ts";
import { browserTests, DESK, expectComplaints, go, openPage, PHONE } from "./browser.ts";
import { expectNoOverflow, untilSettled, violations } from "./page-checks.ts";

const webTest = browserTests();
const app = await startTestApp();
const ntfy = await startNtfy();
const receiver = startReceiver();

const channelsOf = async ({ send }: Person): Promise<any[]> =>
  (await send("GET /v1/channels")).body.channels;

async function create(person: Person, body: object) {
  const { status, body: made } = await person.send("POST /v1/channels", body);
  expect(status).toBe(201);
  return made.channel;
}

const section = (page: Page) =>
  page.locator("section", { has: page.getByRole("heading", { name: "Channels" }) });
const row = (page: Page, label: string) => section(page).locator("li", { hasText: label });

webTest(
  "a webhook can be added, shows its secret once, and can be tested, edited and deleted",
  async () => {
    const person = await createPerson(app.url);
    const page = await openPage(app.url, { as: person, at: "#/account" });
    await page.getByText("No channels yet").waitFor();
    await page.getByRole("button", { name: "Add a channel" }).click();
    const form = page.getByRole("dialog");
    await form.getByRole("button", { name: /^Webhook/ }).click();
    await form.getByLabel("Name").fill("Chat bot");
    await form.getByLabel("URL").fill(receiver.url("/chat-bot"));
    await form.getByRole("switch", { name: "Questions" }).uncheck();
    await form.getByLabel("Lowest task priority").selectOption("high");
    await form.getByRole("button", { name: "Add webhook" }).click();
    await page.getByText("Copy the secret of Chat bot now").waitFor();
    const secret = (await section(page).locator("code").textContent())!;
    expect(secret).toMatch(/^whsec_[\w+/=]{44}$/);
    // The secret survives a visit to another view, but not a reload.
    await page.getByRole("link", { name: "Tasks" }).click();
    await page.getByRole("link", { name: "Account" }).click();
    await page.getByText(secret).waitFor();
    expect(
      await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }])),
    ).not.toContain(secret.slice(6, 16));
    receiver.expect("/chat-bot", secret);
    await page.getByRole("button", { name: "Done" }).click();
    expect(await page.content()).not.toContain(secret);

    const listed = row(page, "Chat bot");
    await listed.getByText("Tasks of high priority or above").waitFor();
    await listed.getByText(`Webhook · ${new URL(receiver.url("/")).origin}/…-bot`).waitFor();
    await listed.getByRole("button", { name: "Send a test to Chat bot" }).click();
    await listed.getByText("Test sent").waitFor();
    await listed.getByText(/^Queued at \d+:\d\d:\d\d/).waitFor();
    await listed.getByText(/^Accepted at \d+:\d\d:\d\d.+ later\)/).waitFor();
    await listed.getByText("Last sent").waitFor();
    expect(receiver.got.filter(({ path }) => path === "/chat-bot").length).toBeGreaterThan(0);
    expect(receiver.faults).toEqual([]);

    await page.getByRole("button", { name: "Edit Chat bot" }).click();
    await form.getByLabel("Name").fill("Home");
    await form.getByRole("switch", { name: "Questions" }).check();
    await form.getByRole("switch", { name: "Tasks" }).uncheck();
    // One of the two remains.
    await form.getByRole("switch", { name: "Questions" }).click({ force: true });
    expect(await form.getByRole("switch", { name: "Questions" }).isChecked()).toBe(true);
    await form.getByRole("button", { name: "Save" }).click();
    await row(page, "Home").getByText("Questions", { exact: true }).waitFor();
    expect(await channelsOf(person)).toMatchObject([{ label: "Home", sends: ["questions"] }]);

    await page.getByRole("button", { name: "Delete Home" }).click();
    const confirm = page.getByRole("alertdialog");
    await confirm.getByRole("button", { name: "Delete channel" }).click();
    await page.getByText("No channels yet").waitFor();
    expect(await channelsOf(person)).toEqual([]);
  },
);

webTest(
  "an agent's webhook can be set, shows its secret once and its state, and can be removed",
  async () => {
    const { person, agent } = await createPair(app.url);
    const page = await openPage(app.url, { as: person, at: `#/agents/${agent.key.id}/key` });
    const card = page.locator("section", {
      has: page.getByRole("heading", { name: "Webhook", exact: true }),
    });
    receiver.behave(() => 404);
    await card.getByRole("button", { name: "Set a webhook" }).click();
    await card.getByLabel("URL").fill(receiver.url("/agent"));
    await card.getByRole("button", { name: "Save" }).click();
    await card.getByText("Copy the secret of agent now").waitFor();
    const secret = (await card.locator("code").textContent())!;
    receiver.expect("/agent", secret);
    await card.getByText(`${new URL(receiver.url("/")).origin}/…gent`).waitFor();
    await card.getByRole("button", { name: "Done" }).click();
    expect(await page.content()).not.toContain(secret);
    await until(async () => {
      const { body } = await agent.send(`GET /v1/keys/${agent.key.id}/webhook`);
      return body.state === "failing";
    });
    await page.reload();
    await card.getByText("Failing").waitFor();
    await card.getByText("it doesn't know this address (404)").waitFor();
    await untilSettled(page);
    expect(await violations(page)).toEqual([]);
    await card.getByRole("button", { name: "Remove the webhook" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Remove" }).click();
    await card.getByText("None").waitFor();
    expect((await agent.send(`GET /v1/keys/${agent.key.id}/webhook`)).status).toBe(404);
    expect(receiver.faults).toEqual([]);
    receiver.behave(() => 200);
  },
);

webTest("a channel's quiet hours can be set; mistakes are reported at their fields", async () => {
  expectComplaints(/422/);
  const person = await createPerson(app.url);
  await create(person, { type: "ntfy", label: "My phone", url: `${ntfy.url}/relay-3nUq8sTx0f` });
  const page = await openPage(app.url, { as: person, size: PHONE, at: "#/account" });
  await page.getByRole("button", { name: "Edit My phone" }).click();
  const form = page.getByRole("dialog");
  await form.getByRole("switch", { name: "Quiet hours" }).check();
  await form.getByLabel("From").fill("23:30");
  await form.getByLabel("To", { exact: true }).fill("06:00");
  await form.getByLabel("Time zone").fill("Mars/Olympus");
  await untilSettled(page);
  expect(await violations(page)).toEqual([]);
  await expectNoOverflow(page);
  const save = form.getByRole("button", { name: "Save" });
  await form.getByLabel("To", { exact: true }).fill("23:30");
  await form.getByText("This must differ from the start.").waitFor();
  await form.getByLabel("To", { exact: true }).fill("06:00");
  await save.click();
  await form.getByText(/^This must be a time zone/).waitFor();
  await form.getByLabel("Time zone").fill("Europe/Berlin");
  await save.click();
  await form.waitFor({ state: "detached" });
  await row(page, "My phone").getByText("Silent from 23:30 to 06:00, Europe/Berlin").waitFor();
  expect(await channelsOf(person)).toMatchObject([
    { type: "ntfy", quiet_hours: { from: "23:30", to: "06:00", time_zone: "Europe/Berlin" } },
  ]);
  expect(await page.content()).not.toContain("3nUq8sTx");
});

webTest("the list says in words how each channel is doing, and passes axe", async () => {
  const person = await createPerson(app.url);
  ntfy.behave(403);
  await create(person, { type: "ntfy", label: "Refused", url: `${ntfy.url}/topic` });
  receiver.behave(({ path }) => (path === "/gone" ? 410 : 200));
  await create(person, { type: "webhook", label: "Left", url: receiver.url("/gone") });
  await create(person, { type: "webhook", label: "Good", url: receiver.url("/good") });
  await until(async () =>
    (await channelsOf(person)).some((one) => one.label === "Left" && one.state === "gone"),
  );
  await until(async () =>
    (await channelsOf(person)).some((one) => one.label === "Good" && one.last_sent_at !== null),
  );
  for (const size of [PHONE, DESK]) {
    const page = await openPage(app.url, { as: person, size, at: "#/account" });
    if (size === PHONE) {
      await row(page, "Refused").getByText("Nothing sent yet").waitFor();
      await row(page, "Refused").getByRole("button", { name: "Send a test" }).click();
      await row(page, "Refused").getByText("Test not sent: it refused access (403)").waitFor();
    }
    await row(page, "Refused").getByText("Failing", { exact: true }).waitFor();
    await row(page, "Refused").getByText("Not sent: it refused access (403)").first().waitFor();
    await row(page, "Left").getByText("Stopped", { exact: true }).waitFor();
    await row(page, "Left").getByText("Nothing more is sent until a test succeeds").waitFor();
    await row(page, "Good").getByText("OK", { exact: true }).waitFor();
    await untilSettled(page);
    expect(await violations(page, "main")).toEqual([]);
    await expectNoOverflow(page);
  }
  ntfy.behave("ok");
  receiver.behave(() => 200);
});

webTest("a form says before it saves what would not work here, by key and by touch", async () => {
  expectComplaints(/422/);
  const closed = await startTestApp({
    env: { NTFY_SERVER: "http://127.0.0.1:9", TELEGRAM_API_ROOT: "http://127.0.0.1:9" },
    outbound: {
      resolve: () => Promise.reject(Object.assign(new Error(), { code: "DNS_ETIMEOUT" })),
    },
  });
  const person = await createPerson(closed.url);
  const page = await openPage(closed.url, { as: person, at: "#/account" });
  const form = page.getByRole("dialog");
  const warning = form.getByRole("alert").filter({ hasText: "This won't work here." });
  const open = async (way: RegExp) => {
    await page.getByRole("button", { name: "Add a channel" }).click();
    await form.getByRole("button", { name: way }).click();
  };
  await open(/^Webhook/);
  await form.getByLabel("Name").fill("Nobody");
  await form.getByLabel("URL").fill("https://10.0.0.1/hook");
  await page.keyboard.press("Enter");
  await warning.getByText(/OUTBOUND_PRIVATE/).waitFor();
  // It would be refused, so nothing is offered.
  await form.getByRole("button", { name: "Add webhook" }).waitFor();
  expect(await channelsOf(person)).toEqual([]);
  for (const size of [PHONE, DESK]) {
    await page.setViewportSize(size);
    await untilSettled(page);
    expect(await violations(page)).toEqual([]);
    await expectNoOverflow(page);
  }
  // A change takes it back.
  await form.getByLabel("URL").fill("https://10.0.0.2/hook");
  expect(await warning.count()).toBe(0);
  await page.keyboard.press("Escape");
  await form.waitFor({ state: "detached" });

  // Before a bot is made that could not be used.
  await open(/^Telegram/);
  await warning.getByText(/cannot connect to 127\.0\.0\.1:9/).waitFor();
  await form.getByText("Make one, which takes a minute").waitFor();
  await form.getByRole("button", { name: "Other ways" }).click();
  await form.getByRole("button", { name: /^ntfy/ }).click();
  await form.getByRole("button", { name: "Make a topic" }).click();
  await warning.getByText(/cannot connect/).waitFor();
  expect(await channelsOf(person)).toEqual([]);
  await form.getByRole("button", { name: "Add it anyway" }).click();
  await until(async () => (await channelsOf(person)).length === 1);

  // An agent's own webhook is checked like a channel.
  const agent = await createAgent(closed.url, person);
  await page.keyboard.press("Escape");
  await form.waitFor({ state: "detached" });
  await go(page, `agents/${agent.key.id}/key`);
  await page.getByRole("button", { name: "Set a webhook" }).click();
  const found = page.getByRole("alert").filter({ hasText: "This won't work here." });
  await page.getByLabel("URL").fill("https://10.0.0.1/hook");
  await page.keyboard.press("Enter");
  await found.getByText(/OUTBOUND_PRIVATE/).waitFor();
  await page.getByRole("button", { name: "Save", exact: true }).waitFor();
  expect(await violations(page)).toEqual([]);
  // What may work later can be saved all the same.
  await page.getByLabel("URL").fill("https://slow.example/hook");
  expect(await found.count()).toBe(0);
  await page.keyboard.press("Enter");
  await found.getByText(/slow\.example/).waitFor();
  const hook = () => agent.send(`GET /v1/keys/${agent.key.id}/webhook`);
  expect((await hook()).status).toBe(404);
  await page.getByRole("button", { name: "Save anyway" }).click();
  await page.getByText("Copy the secret of agent now").waitFor();
  expect((await hook()).status).toBe(200);
});
