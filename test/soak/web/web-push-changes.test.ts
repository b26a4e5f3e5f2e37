/** Subscriptions of this browser that end, change or cannot be made. */

import { expect } from "bun:test";
import { ask, pair } from "../../support/client.ts";
import { until } from "../../support/until.ts";
import { browserTests, expectComplaints, openProfile, openTab } from "../../web/browser.ts";
import { channelsOf, createSubscriber, endpointIn } from "../../web/subscriber.ts";
import { workerOf } from "../../web/worker-pushes.ts";

const webTest = browserTests({ notifications: true });
const { push, start, subscribe } = await createSubscriber();

webTest(
  "a channel that is gone is created again with its settings when the page opens",
  async () => {
    expectComplaints(/401/);
    const { app, person, agent } = await start();
    const { context, page } = await subscribe(app.url, person);
    const [{ id, sends }] = await channelsOf(person);
    expect(sends).toEqual(["questions", "tasks"]);
    await person.send(`PATCH /v1/channels/${id}`, { label: "Desk", sends: ["questions"] });
    const before = await endpointIn(page);
    await page.close();
    push.behave(410);
    await ask(agent.send);
    await until(async () => (await channelsOf(person))[0].state === "gone");
    push.behave(null);
    const again = await openTab(context, `${app.url}/#/account`);
    await until(async () => (await channelsOf(person))[0]?.state === "ok");
    const made = await channelsOf(person);
    expect(made).toMatchObject([{ label: "Desk", sends: ["questions"], type: "web_push" }]);
    expect(made[0].id).not.toBe(id);
    expect(await endpointIn(again)).not.toBe(before);
    const test = await person.send(`POST /v1/channels/${made[0].id}/test`, {});
    expect(test.body.status).toBe("sent");

    // The channel goes with the old token, and is there with the new one.
    await again.getByRole("button", { name: "Replace token" }).click();
    await again.getByRole("alertdialog").getByRole("button", { name: "Replace" }).click();
    await again.getByText("Token replaced").waitFor();
    const token = await again.evaluate(() => localStorage.getItem("relay.token")!);
    const headers = { authorization: `Bearer ${token}` };
    const current = async () =>
      (await (await fetch(`${app.url}/v1/channels`, { headers })).json()).channels;
    await until(async () => (await current()).length === 1);
    expect(await current()).toMatchObject([{ label: "Desk", sends: ["questions"], state: "ok" }]);
  },
);

webTest("a subscription that the browser ended is renewed, with or without a page", async () => {
  const { app, person } = await start();
  const { context, page } = await subscribe(app.url, person);
  const [{ id }] = await channelsOf(person);
  await person.send(`PATCH /v1/channels/${id}`, { label: "Desk" });
  const worker = await workerOf(page, app.url);
  /** Ends the subscription and says so, as the browser does; returns the new endpoint. */
  const change = () =>
    worker.evaluate(async () => {
      const scope = globalThis as any;
      const { pushManager } = scope.registration;
      const oldSubscription = await pushManager.getSubscription();
      await oldSubscription.unsubscribe();
      const event = new scope.ExtendableEvent("pushsubscriptionchange");
      const done = Promise.withResolvers<unknown>();
      // Only the browser's own events keep a worker alive.
      Object.assign(event, { oldSubscription, waitUntil: done.resolve });
      scope.dispatchEvent(event);
      await done.promise;
      return ((await pushManager.getSubscription())?.endpoint as string | undefined) ?? null;
    });
  const renewed = async (before: string) => {
    await until(async () => {
      const found = await channelsOf(person);
      return found.length === 1 && found[0].id !== before;
    });
    const [channel] = await channelsOf(person);
    expect(channel).toMatchObject({ label: "Desk", state: "ok" });
    const { body } = await person.send(`POST /v1/channels/${channel.id}/test`, {});
    expect(body.status).toBe("sent");
    return channel.id as string;
  };
  const first = await endpointIn(page);
  const second = await change();
  expect([typeof second, second === first]).toEqual(["string", false]);
  const now = await renewed(id);
  // Without a page the browser renews it, and the server gets it from the next page.
  await page.goto("about:blank");
  const third = await change();
  expect([typeof third, third === second]).toEqual(["string", false]);
  expect((await channelsOf(person))[0].id).toBe(now);
  const again = await openTab(context, `${app.url}/#/account`);
  await renewed(now);
  expect(await endpointIn(again)).toBe(third);
});

webTest("a channel deleted on another device ends the subscription", async () => {
  const { app, person } = await start();
  const other = await pair(app.url, person);
  const { page } = await subscribe(app.url, other);
  const [{ id }] = await channelsOf(person);
  expect((await person.send(`DELETE /v1/channels/${id}`)).status).toBe(204);
  await page.reload();
  await page.getByRole("button", { name: "Notify this device" }).waitFor();
  await until(async () => (await endpointIn(page)) === null);
  expect(await channelsOf(person)).toEqual([]);
});

webTest(
  "where the browser cannot subscribe, the page shows notifications while it is open",
  async () => {
    expectComplaints(/./);
    const { app, person } = await start();
    // A profile that is not on disk.
    const context = await openProfile(app.url, { as: person });
    await context.grantPermissions(["notifications"], { origin: app.url });
    const page = await openTab(context, `${app.url}/#/account`);
    await page.getByRole("button", { name: "Notify this device" }).click();
    await page.getByText("Your browser couldn't reach its notification service").waitFor();
    expect(await page.evaluate(() => localStorage.getItem("relay.notify"))).toBe("on");
    expect(await channelsOf(person)).toEqual([]);
  },
);
