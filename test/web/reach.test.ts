/** "How should Relay reach you?": each way is set up, and proven by an answered test. */

import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { startTestApp } from "../support/app.ts";
import { createPerson, type Person } from "../support/client.ts";
import { startNtfy, tap } from "../support/ntfy.ts";
import { startTelegram } from "../support/telegram.ts";
import { until } from "../support/until.ts";
import {
  browserTests,
  DESK,
  expectComplaints,
  go,
  LAN_NAME,
  openPage,
  PHONE,
  untilLive,
} from "./browser.ts";
import { expectNoOverflow, untilSettled, violations } from "./page-checks.ts";

const webTest = browserTests();
const ntfy = await startNtfy();
const telegram = await startTelegram({ strict: false });
const shared = telegram.newBot("shared_relay_bot");
const env = { NTFY_SERVER: ntfy.url, TELEGRAM_API_ROOT: telegram.url };
const app = await startTestApp({ env: { ...env, TELEGRAM_BOT_TOKEN: shared.token } });
/** A server without a bot. */
const bare = await startTestApp({ env });

const channelsOf = async ({ send }: Person): Promise<any[]> =>
  (await send("GET /v1/channels")).body.channels;

/** The accessibility of a view on a phone, in both schemes, and that nothing overflows on a phone and on a desk. */
async function check(page: Page) {
  for (const size of [DESK, PHONE]) {
    await page.setViewportSize(size);
    await untilSettled(page);
    await expectNoOverflow(page);
  }
  expect(await violations(page)).toEqual([]);
}

/** The view of the choice, for a person who is signed in. */
async function openReach(url: string, person: Person, size = DESK) {
  const page = await openPage(url, { as: person, size });
  await go(page, "reach");
  await page.getByRole("heading", { name: "How should Relay reach you?" }).waitFor();
  return page;
}

const press = (page: Page, name: string | RegExp) => page.getByRole("button", { name }).click();

webTest(
  "a new account is asked; ntfy takes a topic that Relay makes, and an answered test",
  async () => {
    const page = await openPage(app.url, { size: PHONE });
    await press(page, "Create account");
    await page.getByRole("heading", { name: "Your account is ready" }).waitFor();
    const token = (await page.evaluate(() => localStorage.getItem("relay.token")))!;
    await press(page, "Continue");
    await page.getByRole("heading", { name: "How should Relay reach you?" }).waitFor();
    await check(page);
    await press(page, /^ntfy/);
    await page.getByText("Who sees what: whoever runs the ntfy server").waitFor();
    await check(page);
    await press(page, "Make a topic");
    await page.getByRole("img", { name: /^QR code that subscribes/ }).waitFor();
    const topic = (await page.locator("pre").textContent())!;
    expect(topic).toMatch(/^relay-[0-9a-f]{32}$/);
    const { host } = new URL(ntfy.url);
    expect(
      await page.getByRole("link", { name: "open it on this phone" }).getAttribute("href"),
    ).toBe(`ntfy://${host}/${topic}?secure=false`);
    await page.getByText("Your answers come back through the ntfy server").waitFor();
    await page.getByText(`enter ${ntfy.url}`).waitFor();
    await check(page);
    await press(page, /^3\. I've subscribed/);
    await page.getByText("Tap It works in the notification").waitFor();
    await check(page);
    const sent = await until(() => ntfy.published.findLast((one) => one.topic === topic));
    await tap(sent, "It works");
    await page.getByText(/^Reached you in [\d.]+ m?s$/).waitFor();
    await check(page);
    await press(page, "Continue");
    await untilLive(page);
    await page.getByText("All caught up").waitFor();
    expect(await page.getByText("You get no notifications").count()).toBe(0);
    expect(await page.content()).not.toContain(topic);
    expect(page.url()).not.toContain(token);
  },
);

webTest("Telegram shows who opened the link, and exists only once that is confirmed", async () => {
  const person = await createPerson(app.url);
  const page = await openPage(app.url, { as: person, at: "#/account" });
  await press(page, "Add a channel");
  await press(page, /^Telegram/);
  await page.getByRole("img", { name: /^QR code that opens the chat/ }).waitFor();
  await page.getByText("Waiting for you to press Start").waitFor();
  await check(page);
  const link = await page.getByRole("link", { name: "Open Telegram here" }).getAttribute("href");
  const user = telegram.newUser();
  user.start(shared, new URL(link!).searchParams.get("start")!);
  await page.getByText("pressed Start. Is this you?").waitFor();
  expect(await channelsOf(person)).toEqual([]);
  await check(page);
  await press(page, "Yes, confirm");
  await page.getByText("Tap It works in the notification").waitFor();
  const test = await until(() =>
    user.chat(shared).find(({ buttons }) => buttons.flat().length > 0),
  );
  user.tap(shared, test, "It works");
  await page.getByText(/^Reached you in/).waitFor();
  expect(await channelsOf(person)).toMatchObject([{ type: "telegram", label: "Telegram" }]);
  await page.keyboard.press("Escape");
  await page.locator("li", { hasText: "Telegram" }).getByText("OK", { exact: true }).waitFor();
});

webTest(
  "without a bot of the server, a token of an own one is asked for, and refused ones explained",
  async () => {
    expectComplaints(/422/);
    const person = await createPerson(bare.url);
    const page = await openReach(bare.url, person, PHONE);
    await press(page, /^Telegram/);
    await page.getByText("send it /newbot").waitFor();
    const field = page.getByLabel("Token of the bot");
    await check(page);
    await field.fill("123456:nobody-knows-this");
    await press(page, "Continue");
    await page.getByText("This is not the token of a bot").waitFor();
    const own = telegram.newBot("my_own_bot");
    await field.fill(own.token);
    await press(page, "Continue");
    const open = page.getByRole("link", { name: "Open Telegram here" });
    const link = new URL((await open.getAttribute("href"))!);
    expect(link.pathname).toBe("/my_own_bot");
    const stranger = telegram.newUser();
    stranger.start(own, link.searchParams.get("start")!);
    await press(page, "No, make a new link");
    await until(
      async () => (await open.count()) > 0 && (await open.getAttribute("href")) !== link.href,
    );
    expect(await channelsOf(person)).toEqual([]);
  },
);

webTest("a way that cannot work here says why, and what would make it work", async () => {
  expectComplaints(/Cross-Origin-Opener-Policy/);
  const person = await createPerson(app.url);
  const url = app.url.replace(/127\.0\.0\.1|localhost/, LAN_NAME);
  const page = await openReach(url, person);
  await page.getByText("Browsers allow notifications over HTTPS only").waitFor();
  expect(await page.getByRole("button", { name: /^This browser/ }).count()).toBe(0);
  await check(page);
});

webTest(
  "a line above the questions offers the choice until something can reach the person",
  async () => {
    const person = await createPerson(app.url);
    const page = await openPage(app.url, { as: person, at: "#/questions" });
    const line = page.getByText("You get no notifications while this page is closed");
    await line.waitFor();
    await check(page);
    await page.getByRole("link", { name: "Choose how Relay reaches you" }).click();
    await page.getByRole("heading", { name: "How should Relay reach you?" }).waitFor();
    await press(page, "Not now");
    await line.waitFor();
    await person.send("POST /v1/channels", {
      type: "ntfy",
      label: "Phone",
      url: `${ntfy.url}/typed`,
    });
    await page.reload();
    await until(async () => (await line.count()) === 0);
  },
);

webTest(
  "an own topic is added with its token; one without buttons says that it cannot be answered",
  async () => {
    expectComplaints(/422/);
    const person = await createPerson(app.url);
    const page = await openReach(app.url, person, PHONE);
    await press(page, /^ntfy/);
    await page.getByRole("switch", { name: "Use my own server or topic" }).check();
    const url = page.getByLabel("URL of the server or topic");
    const token = page.getByLabel("Access token");
    await url.fill(ntfy.url);
    await token.fill("tk_abc");
    await page.getByText("ntfy access everyone 'relay-reply-*' write-only").waitFor();
    await check(page);
    await url.fill(`${ntfy.url}/a/b`);
    const buttons = page.getByRole("switch", { name: "Buttons to answer questions" });
    expect(await buttons.isChecked()).toBe(true);
    await press(page, "Add this topic");
    await page.getByText(/^This must be .*topic/).waitFor();
    await url.fill(`${ntfy.url}/mine`);
    await token.fill("");
    expect(await buttons.isChecked()).toBe(false);
    await press(page, "Add this topic");
    await page.getByText("It has no button to press").waitFor();
    expect(await channelsOf(person)).toMatchObject([{ type: "ntfy", replies: false }]);
  },
);

webTest("the whole choice works from the keyboard", async () => {
  const person = await createPerson(app.url);
  const page = await openReach(app.url, person);
  const choice = page.getByRole("button", { name: /^ntfy/ });
  await choice.press("Enter");
  const make = page.getByRole("button", { name: "Make a topic" });
  await make.press("Enter");
  const send = page.getByRole("button", { name: /^3\. I've subscribed/ });
  await send.press("Enter");
  await page.getByText("Tap It works in the notification").waitFor();
});
