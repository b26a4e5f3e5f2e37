/** Subscribing this browser for real: Chromium, a stand-in of its push service, and Relay's pushes. */

import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { ask, type Person, pair } from "../support/client.ts";
import { until } from "../support/until.ts";
import { browserTests, expectComplaints, lookAt, openProfile, openTab } from "./browser.ts";
import { createSubscriber } from "./subscriber.ts";
import { clickOn, shownBy, shownIn, untilWorkerSees, workerOf } from "./worker-pushes.ts";

const webTest = browserTests({ notifications: true });
const { push, start, subscribe } = await createSubscriber();

const channelsOf = async ({ send }: Pick<Person, "send">): Promise<any[]> =>
  (await send("GET /v1/channels")).body.channels;

/** Endpoint of the browser's subscription; null without one. */
const endpointIn = (page: Page) =>
  page.evaluate(async () => {
    const { pushManager } = await navigator.serviceWorker.ready;
    return (await pushManager.getSubscription())?.endpoint ?? null;
  });

webTest(
  "one tap subscribes; a test arrives; a question is shown, and replaced by its end",
  async () => {
    const { app, person, agent } = await start();
    const { context, page } = await subscribe(app.url, person);
    const row = page.locator("li", { hasText: "Chrome on Linux" });
    await row.getByText("This browser").waitFor();
    await row.getByRole("button", { name: "Send a test" }).click();
    await row.getByText("Test sent").waitFor();
    for (const step of ["Queued at", "Accepted at", "Shown here at"]) {
      await row.getByText(step).waitFor();
    }
    const [{ id: channel_id }] = await channelsOf(person);
    expect(await shownIn(page)).toMatchObject([
      { title: "Relay", tag: channel_id, actions: ["It works"] },
    ]);
    await row.getByText("Tap It works in the notification").waitFor();
    await clickOn(await workerOf(page), channel_id, "reached");
    await row.getByText(/^Reached you in/).waitFor();
    expect((await channelsOf(person))[0].reached_at).not.toBeNull();
    expect(await shownIn(page)).toEqual([]);
    // The person turns to another window.
    const other = await openTab(context, "about:blank");
    await lookAt(other, { away: [page] });
    await untilWorkerSees(page, false);
    const { id } = await ask(agent.send, { prompt: "Publish <b>it</b>?" });
    const shown = async () => (await shownIn(page)).filter(({ tag }) => tag === id);
    await until(async () => (await shown())[0]?.actions.length === 2);
    expect(await shown()).toMatchObject([
      { title: "Question from agent", body: "Publish <b>it</b>?", actions: ["Yes", "No"] },
    ]);
    await person.send(`POST /v1/questions/${id}/answer`, { answer: "No" });
    await until(async () => (await shown())[0]?.body === "Answered: No");
    expect(await shown()).toMatchObject([{ silent: true, actions: [] }]);
    // The key of another server, or of this one before its store was lost.
    await page.bringToFront();
    await page.getByRole("button", { name: "Stop notifying this device" }).click();
    await page.getByRole("button", { name: "Notify this device" }).waitFor();
    expect(await channelsOf(person)).toEqual([]);
    expect(await endpointIn(page)).toBe(null);
    await page.evaluate(async () => {
      const { publicKey } = await crypto.subtle.generateKey(
        { name: "ECDSA", namedCurve: "P-256" },
        true,
        ["sign"],
      );
      const { pushManager } = await navigator.serviceWorker.ready;
      const applicationServerKey = await crypto.subtle.exportKey("raw", publicKey);
      await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey });
    });
    const foreign = await endpointIn(page);
    await page.getByRole("button", { name: "Notify this device" }).click();
    await row.getByText("OK", { exact: true }).waitFor();
    expect(await endpointIn(page)).not.toBe(foreign);
  },
);

webTest("a notification button answers by its ticket while no page is open", async () => {
  const { app, person, agent } = await start();
  const { context, page } = await subscribe(app.url, person);
  const [{ id: channel_id }] = await channelsOf(person);
  const worker = await workerOf(page, app.url);
  // This server has no page left, but another site has one.
  await page.goto("about:blank");
  const shownTo = async (wanted: string) =>
    (await shownBy(worker)).filter(({ tag }) => tag === wanted).map(({ body }) => body);
  expect(await shownBy(worker)).toEqual([]);
  const { id } = await ask(agent.send, { prompt: "Publish?" });
  await until(async () => (await shownTo(id))[0] === "Publish?");
  await clickOn(worker, id, "answer-0");
  await until(async () => (await shownTo(id))[0] === "Answered: Yes");
  const { body } = await person.send(`GET /v1/questions/${id}`);
  expect(body).toMatchObject({ status: "answered", answer: "Yes" });
  const delivery = async () => {
    const { deliveries } = (await person.send(`GET /v1/questions/${id}/deliveries`)).body;
    return deliveries.find(({ target }: any) => target.id === channel_id);
  };
  await until(async () => (await delivery()).opened_at !== null);
  expect((await delivery()).shown_at).toBeNumber();

  // A draft is approved by the same button, whose label stands for it.
  const mail = { prompt: "Send this?", kind: "text", draft: "Hello Ada,\nall is well." };
  const drafted = await ask(agent.send, mail);
  await until(async () => (await shownTo(drafted.id))[0]?.endsWith(mail.draft));
  await clickOn(worker, drafted.id, "answer-0");
  await until(async () => (await shownTo(drafted.id))[0] === "Answered: Approve");
  const approved = await person.send(`GET /v1/questions/${drafted.id}`);
  expect(approved.body).toMatchObject({ answer: mail.draft, edited: false });

  const late = await ask(agent.send, { prompt: "Late?" });
  await until(async () => (await shownTo(late.id))[0] === "Late?");
  // The end must not come first.
  push.behave(503);
  await agent.send(`DELETE /v1/questions/${late.id}`);
  await clickOn(worker, late.id, "answer-1");
  await until(async () => (await shownTo(late.id))[0]?.includes("Not sent"));
  expect(await shownTo(late.id)).toEqual(["Cancelled by the agent. Not sent: No"]);
  push.behave(null);
  expect(context.pages().length).toBeGreaterThan(1);
});

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

webTest("signing out ends the channel and the subscription, whatever else is kept", async () => {
  const { app, person } = await start();
  const { page } = await subscribe(app.url, person);
  await page.getByRole("button", { name: "Sign out", exact: true }).click();
  // The only sign-in: its token stays valid.
  await page.getByRole("alertdialog").getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("Account token").waitFor();
  await until(async () => (await channelsOf(person)).length === 0);
  await until(async () => (await endpointIn(page)) === null);
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
