/** Subscribing this browser for real: Chromium, a stand-in of its push service, and Relay's pushes. */

import { expect } from "bun:test";
import { ask } from "../support/client.ts";
import { until } from "../support/until.ts";
import { browserTests, lookAt, openTab } from "./browser.ts";
import { channelsOf, createSubscriber, endpointIn } from "./subscriber.ts";
import { clickOn, shownBy, shownIn, untilWorkerSees, workerOf } from "./worker-pushes.ts";

const webTest = browserTests({ notifications: true });
const { push, start, subscribe } = await createSubscriber();

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
