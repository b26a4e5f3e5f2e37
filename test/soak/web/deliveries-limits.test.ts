/** Receipts without a connection, and long lines about how far a question got. */

import { expect } from "bun:test";
import { startTestApp } from "../../support/app.ts";
import { startApple } from "../../support/apple.ts";
import { ask, createPair, DEVICE } from "../../support/client.ts";
import { startNtfy } from "../../support/ntfy.ts";
import { until } from "../../support/until.ts";
import {
  browserTests,
  card,
  expectComplaints,
  openPage,
  PHONE,
  untilLive,
} from "../../web/browser.ts";
import { isShown, receiptsOf } from "../../web/deliveries-scene.ts";
import { untilSettled, violations } from "../../web/page-checks.ts";

const webTest = browserTests();
const apple = await startApple();
const ntfy = await startNtfy();
const app = await startTestApp({ env: apple.env("SANDBOX") });

webTest("receipts without a connection are sent once the page is back", async () => {
  expectComplaints(/Failed to load resource|ERR_/);
  const { person, agent } = await createPair(app.url);
  const { id } = await ask(agent.send, { prompt: "Meanwhile" });
  const page = await openPage(app.url, { as: person, at: "#/tasks" });
  const sent = receiptsOf(page);
  let refused = 0;
  await page.route("**/trpc/deliveries.receive*", (route) => {
    if (refused++ > 0) return route.continue();
    return route.abort();
  });
  await page.getByRole("link", { name: "Questions" }).click();
  await until(() => refused === 1);
  expect(await isShown(person, id)).toBe(false);
  await page.context().setOffline(true);
  await page.getByText("Offline.").waitFor();
  await page.context().setOffline(false);
  await untilLive(page);
  await until(() => isShown(person, id));
  expect(sent).toEqual([`shown ${id}`, `shown ${id}`]);
});

webTest(
  "the time at which a question was seen is never cut off, and stays after the end",
  async () => {
    const { person, agent } = await createPair(app.url);
    const id = `dev_${crypto.randomUUID()}`;
    await person.send(`PUT /v1/devices/${id}`, DEVICE);
    const channel = { type: "ntfy", label: "p".repeat(80), url: `${ntfy.url}/topic` };
    expect((await person.send("POST /v1/channels", channel)).status).toBe(201);
    const sent = await ask(agent.send, { prompt: "Sent" });
    await app.sender.settled();
    const receipt = { event: "shown", device_id: id };
    await person.send(`POST /v1/questions/${sent.id}/receipts`, receipt);
    const page = await openPage(app.url, { as: person, size: PHONE, at: `#/questions/${sent.id}` });
    const seen = card(page, "Sent").getByText(/^, seen /);
    const isWhole = async () => {
      await seen.waitFor();
      const { x, width } = (await seen.boundingBox())!;
      return x + width <= PHONE.width;
    };
    expect(await isWhole()).toBe(true);
    await person.send(`POST /v1/questions/${sent.id}/answer`, { answer: "Yes" });
    await page.getByText(/^You answered it/).waitFor();
    expect(await isWhole()).toBe(true);
    // Each target has a line of its own.
    await card(page, "Sent").getByText("Sent to the page").waitFor();
    await card(page, "Sent")
      .getByText(/^, opened /)
      .waitFor();
    await untilSettled(page);
    expect(await violations(page)).toEqual([]);
  },
);
