/** How far questions got: the receipts that the page sends, and what it says about the devices. */

import { expect } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { startApple } from "../support/apple.ts";
import { ask, createPair, DEVICE, type Person } from "../support/client.ts";
import { until } from "../support/until.ts";
import { browserTests, card, DESK, openPage, PHONE, press } from "./browser.ts";
import { deliveriesOf, isShown, pageOf, receiptsOf } from "./deliveries-scene.ts";
import { untilSettled, violations } from "./page-checks.ts";

const webTest = browserTests();
const apple = await startApple();
const app = await startTestApp({ env: apple.env("SANDBOX") });

const LONG = "A line of the prompt.\n".repeat(60);

const isOpened = async (person: Person, id: string) =>
  (await pageOf(person, id))?.opened_at != null;

webTest(
  "a card that was in view for a second is reported as shown, once; other cards are not [§5.7.8(4)]",
  async () => {
    const { person, agent } = await createPair(app.url);
    const first = await ask(agent.send, { prompt: `First\n${LONG}`, expires_in: 1_000 });
    const last = await ask(agent.send, { prompt: `Last\n${LONG}`, expires_in: 2_000 });
    const page = await openPage(app.url, { as: person, size: PHONE, at: "#/tasks" });
    const sent = receiptsOf(page);
    await page.getByRole("link", { name: "Questions" }).click();
    await until(() => isShown(person, first.id));
    expect(await isShown(person, last.id)).toBe(false);
    await card(page, "Last").getByRole("button", { name: "Yes" }).scrollIntoViewIfNeeded();
    await until(() => isShown(person, last.id));
    // Out of view and back again: nothing more to report.
    await page.getByRole("link", { name: "Tasks" }).click();
    await page.getByRole("link", { name: "Questions" }).click();
    await card(page, "First").waitFor();
    const third = await ask(agent.send, { prompt: "Third", expires_in: 600 });
    await until(() => isShown(person, third.id));
    // The driver hears of a request a moment after the server.
    await until(() => sent.length > 2);
    expect(sent).toEqual([`shown ${first.id}`, `shown ${last.id}`, `shown ${third.id}`]);
  },
);

webTest("an answer or a deep link reports a question as opened", async () => {
  const { person, agent } = await createPair(app.url);
  const answered = await ask(agent.send, { prompt: "Answered" });
  const linked = await ask(agent.send, { prompt: "Linked" });
  const page = await openPage(app.url, { as: person });
  await press(card(page, "Answered").getByRole("button", { name: "Yes" }));
  await until(() => isOpened(person, answered.id));
  expect(await isOpened(person, linked.id)).toBe(false);
  await page.goto(`${app.url}/#/questions/${linked.id}`);
  await until(() => isOpened(person, linked.id));
});

webTest("the card says in one line how far the question got, and passes axe", async () => {
  const { person, agent } = await createPair(app.url);
  const phones = ["ios", "ipados"].map((platform, i) => ({
    id: `dev_${crypto.randomUUID()}`,
    body: { ...DEVICE, platform, apns_token: `ab0${i}` },
  }));
  for (const { id, body } of phones) await person.send(`PUT /v1/devices/${id}`, body);
  const sent = await ask(agent.send, { prompt: "Sent", expires_in: 1_000 });
  await app.sender.settled();
  apple.behave(() => ({ status: 400, reason: "BadTopic" }));
  await ask(agent.send, { prompt: "Failed", expires_in: 2_000 });
  await app.sender.settled();
  apple.behave(() => undefined);
  const receipt = { event: "shown", device_id: phones[0]!.id };
  await person.send(`POST /v1/questions/${sent.id}/receipts`, receipt);
  const shown_at = (await deliveriesOf(person, sent.id)).find(
    (one) => one.shown_at !== null,
  ).shown_at;
  for (const [size, scheme] of [
    [PHONE, "light"],
    [DESK, "dark"],
  ] as const) {
    const page = await openPage(app.url, { as: person, size, scheme });
    const time = await page.evaluate(
      (at) => new Intl.DateTimeFormat(undefined, { timeStyle: "short" }).format(at * 1000),
      shown_at,
    );
    const plain = async (text: string) =>
      (await card(page, text).textContent())?.replaceAll(/[\u2068\u2069]/g, "");
    await until(async () => (await plain("Sent"))?.includes("Sent to"));
    const named = /(iPhone and iPad|iPad and iPhone)/.source;
    expect(await plain("Sent")).toMatch(new RegExp(`Sent to ${named}, seen ${time}`));
    await until(async () => (await plain("Failed"))?.includes("Not delivered"));
    expect(await plain("Failed")).toMatch(new RegExp(`Not delivered to ${named}`));
    await untilSettled(page);
    expect(await violations(page)).toEqual([]);
  }
});
