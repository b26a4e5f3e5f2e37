/** The server carries out a request and the response is lost. */

import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { startTestApp } from "../../support/app.ts";
import { ask, client, createPair, createPerson } from "../../support/client.ts";
import { until } from "../../support/until.ts";
import {
  browserTests,
  expectComplaints,
  inHistory,
  openPage,
  openProfile,
  press,
} from "../../web/browser.ts";
import { drawn } from "../../web/page-checks.ts";

const webTest = browserTests();
const app = await startTestApp();

/** Drops the next response of this procedure, after the server carried it out. */
async function loseNext(page: Page, procedure: string): Promise<void> {
  expectComplaints(/Failed to load resource|ERR_FAILED|401/);
  await page.route(
    `**/trpc/${procedure}`,
    async (route) => {
      await route.fetch();
      await route.abort();
    },
    { times: 1 },
  );
}

const again = /Try again; it won't be sent twice/;

webTest("a task and a message that are sent again exist only once", async () => {
  const { person, agent } = await createPair(app.url);
  const page = await openPage(app.url, { as: person, at: "#/tasks/new" });
  await loseNext(page, "tasks.create");
  await page.getByLabel("Title").fill("Only one");
  const create = page.getByRole("button", { name: "Create task" });
  await create.click();
  await page.getByRole("alert").getByText(again).waitFor();
  await create.click();
  await page.getByRole("dialog").getByText("Created by").waitFor();
  expect((await agent.send("GET /v1/tasks")).body.tasks).toHaveLength(1);

  await page.goto(`${app.url}/#/agents/${agent.key.id}/inbox`);
  await loseNext(page, "messages.send");
  const text = page.getByLabel("Message to agent");
  const send = page.getByRole("button", { name: "Send message" });
  const inbox = async () => {
    const { body } = await person.send(`GET /v1/keys/${agent.key.id}/inbox`);
    return body.items.filter(({ type }: { type: string }) => type === "message").length;
  };
  await text.fill("Hello");
  await send.click();
  await page.getByRole("alert").getByText(again).waitFor();
  await send.click();
  await page.getByText("Message sent").waitFor();
  expect(await inbox()).toBe(1);
  // The same text again is another message.
  await text.fill("Hello");
  await send.click();
  await until(async () => (await inbox()) === 2);
});

webTest(
  "a task is created once despite retries and a reload; an edit makes it a new task",
  async () => {
    const { person, agent } = await createPair(app.url);
    const page = await openPage(app.url, { as: person, at: "#/tasks/new" });
    await loseNext(page, "tasks.create");
    const title = page.getByLabel("Title");
    await title.fill("Only one");
    const create = page.getByRole("button", { name: "Create task" });
    await create.click();
    await page.getByRole("alert").getByText(again).waitFor();
    // The second attempt meets a busy server, which says nothing about the first.
    expectComplaints(/Failed to load resource/);
    await page.route(
      "**/trpc/tasks.create",
      (route) =>
        route.fulfill({
          status: 503,
          json: {
            error: { message: "busy", code: -32603, data: { code_name: "store_unavailable" } },
          },
        }),
      { times: 1 },
    );
    await create.click();
    await page.getByRole("alert").getByText("can't access its data").waitFor();
    await page.reload();
    expect(await title.inputValue()).toBe("Only one");
    await create.click();
    await page.getByRole("dialog").getByText("Created by").waitFor();
    const tasks = async () => (await agent.send("GET /v1/tasks")).body.tasks.length;
    expect(await tasks()).toBe(1);

    // The same text typed again is a new task.
    await page.goto(`${app.url}/#/tasks/new`);
    await loseNext(page, "tasks.create");
    await title.fill("Another");
    await create.click();
    await page.getByRole("alert").getByText(again).waitFor();
    await title.fill("");
    await title.fill("Another");
    await create.click();
    await page.getByRole("dialog").getByText("Created by").waitFor();
    expect(await tasks()).toBe(3);
  },
);

webTest("a message is sent once even if the token is replaced in between", async () => {
  const { person, agent } = await createPair(app.url);
  const page = await openPage(app.url, { as: person, at: `#/agents/${agent.key.id}/inbox` });
  await loseNext(page, "messages.send");
  await page.getByLabel("Message to agent").fill("Hello");
  const send = page.getByRole("button", { name: "Send message" });
  await send.click();
  await page.getByRole("alert").getByText(again).waitFor();
  await page.getByRole("link", { name: "Account" }).click();
  await page.getByRole("button", { name: "Replace token" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Replace" }).click();
  await page.getByText("Token replaced").waitFor();
  await page.goBack();
  await send.click();
  await page.getByText("Message sent").waitFor();
  const { items } = (await agent.send("GET /v1/inbox?peek=true")).body;
  expect(items).toHaveLength(1);
});

webTest("an answer counts as given even if the response was lost", async () => {
  const { person, agent } = await createPair(app.url);
  const page = await openPage(app.url, { as: person });
  await loseNext(page, "questions.answer");
  const { id } = await ask(agent.send, { prompt: "Really?" });
  await press(page.getByRole("button", { name: "Yes" }));
  // The event arrives anyway, and nobody else answered.
  await page.getByText("All caught up").waitFor();
  await inHistory(page, "Really?").getByText("Answered").waitFor();
  expect(await page.getByText("elsewhere").count()).toBe(0);
  expect((await agent.send(`GET /v1/questions/${id}`)).body.answer).toBe("Yes");
});

webTest("the page learns a replaced token even if the response was lost", async () => {
  const person = await createPerson(app.url);
  const context = await openProfile(app.url, { as: person });
  const page = await context.newPage();
  await page.goto(`${app.url}/#/account`);
  const tab = await context.newPage();
  await tab.goto(`${app.url}/#/account`);
  await loseNext(page, "accounts.replaceToken");
  await page.getByRole("button", { name: "Replace token" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Replace" }).click();
  const kept = () => page.evaluate(() => localStorage.getItem("relay.token"));
  await until(async () => (await kept()) !== person.token);
  expect((await person.send("GET /v1/account")).status).toBe(401);
  for (const one of [page, tab]) {
    await one.locator("[data-connection=live]").waitFor({ state: "attached" });
    await one.getByText((await kept())!.slice(0, 4)).waitFor();
  }
  const { body } = await client(app.url, (await kept())!)("GET /v1/account");
  expect(body.id).toBe(person.account.id);
  expect(await page.evaluate(() => localStorage.getItem("relay.next-token"))).toBeNull();
});

/** The token of a requested account whose response was lost. */
const newTokenIn = (page: Page) => page.evaluate(() => localStorage.getItem("relay.new-token"));
const createButton = (page: Page) => page.getByRole("button", { name: "Create account" });
const lost = (page: Page) => page.getByRole("alert").getByText("Couldn't reach the server. Try");

/** The new account of the page. */
async function createdIn(page: Page) {
  await page.getByRole("heading", { name: "Your account is ready" }).waitFor();
  const token = (await page.evaluate(() => localStorage.getItem("relay.token")))!;
  expect(await newTokenIn(page)).toBeNull();
  const send = client(app.url, token);
  expect((await send("GET /v1/sessions")).body.sessions).toHaveLength(1);
  return { token, account: (await send("GET /v1/account")).body };
}

webTest(
  "an account is created once although responses are lost, even across a reload",
  async () => {
    for (const way of ["try again", "reload"]) {
      const page = await openPage(app.url);
      const made = page.waitForEvent("requestfailed");
      await loseNext(page, "accounts.create");
      await createButton(page).click();
      await lost(page).waitFor();
      const sent = (await made).postDataJSON();
      expect(await newTokenIn(page)).toBe(sent.token);
      const { body } = await client(app.url, sent.token)("GET /v1/account");
      if (way === "reload") await page.reload();
      else await createButton(page).click();
      expect(await createdIn(page)).toEqual({ token: sent.token, account: body });
    }
  },
);

webTest("an account that is created only after a reload is not lost either", async () => {
  expectComplaints(/Failed to load resource|ERR_FAILED|401/);
  const page = await openPage(app.url);
  const held: string[] = [];
  await page.route(
    "**/trpc/accounts.create",
    (route) => void held.push(route.request().postData()!),
    { times: 1 },
  );
  await createButton(page).click();
  await until(async () => held.length === 1);
  // The first lookup of the account comes too early.
  const looked = page.waitForResponse("**/trpc/accounts.get**");
  await page.reload();
  expect((await looked).status()).toBe(401);
  const { body } = await client(app.url)("POST /trpc/accounts.create", held[0]);
  await createButton(page).click();
  expect(await createdIn(page)).toEqual(body.result.data);
});

webTest("a kept token whose account has been deleted gives way to another one", async () => {
  expectComplaints(/Failed to load resource|401|422/);
  const gone = await createPerson(app.url);
  await gone.send("DELETE /v1/account");
  const page = await openPage(app.url);
  await page.evaluate((token) => localStorage.setItem("relay.new-token", token), gone.token);
  await createButton(page).click();
  expect((await createdIn(page)).token).not.toBe(gone.token);
});

webTest("the first account is not lost either, with its start code or without", async () => {
  expectComplaints(/Failed to load resource|ERR_FAILED/);
  for (const way of ["try again", "reload"]) {
    const first = await startTestApp({ env: { ACCOUNT_CREATION: "first" } });
    const at = `#/start/${await first.startCode()}`;
    const page = await openPage(first.url, { at });
    await loseNext(page, "accounts.create");
    await createButton(page).click();
    await lost(page).waitFor();
    const token = await newTokenIn(page);
    expect(await first.startCode()).toBeNull();
    // A reload forgets the start code.
    if (way === "reload") await page.reload();
    else await createButton(page).click();
    await page.getByRole("heading", { name: "Your account is ready" }).waitFor();
    expect(await page.evaluate(() => localStorage.getItem("relay.token"))).toBe(token);
    expect((await client(first.url, token!)("GET /v1/account")).status).toBe(200);
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByRole("button", { name: "Not now" }).click();
    await page.getByText("All caught up").waitFor();
  }
});

webTest("responses after a sign-out are not shown to the next account", async () => {
  const { person, agent } = await createPair(app.url);
  const page = await openPage(app.url, { as: person, at: `#/agents/${agent.key.id}/inbox` });
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route("**/trpc/messages.send", async (route) => {
    const response = await route.fetch();
    await held;
    await route.fulfill({ response });
  });
  await page.getByLabel("Message to agent").fill("Hello");
  await page.getByRole("button", { name: "Send message" }).click();
  await page.getByRole("link", { name: "Account" }).click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Sign out" }).click();
  await page.getByText("You're signed out").waitFor();
  const answered = page.waitForResponse("**/trpc/messages.send");
  release();
  await (await answered).finished();
  await drawn(page);
  expect(await page.getByText("Message sent").count()).toBe(0);
});
