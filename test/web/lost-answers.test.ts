/** The server does what it is asked, and its answer is lost on the way. */

import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { startTestApp } from "../support/app.ts";
import { ask, client, createPair, createPerson } from "../support/client.ts";
import { until } from "../support/until.ts";
import { browserTests, expectComplaints, openPage, openProfile, press } from "./browser.ts";

const webTest = browserTests();
const app = await startTestApp();

/** The next answer of this procedure does not come, though the server made it. */
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

const again = /Try again without a change/;

webTest("a task and a message that are sent again are there once", async () => {
  const { person, agent } = await createPair(app.url);
  const page = await openPage(app.url, { as: person, at: "#/tasks/new" });
  await loseNext(page, "tasks.create");
  await page.getByLabel("Title").fill("Only one");
  const create = page.getByRole("button", { name: "Create task" });
  await create.click();
  await page.getByRole("alert").getByText(again).waitFor();
  await create.click();
  await page.getByRole("dialog").getByText("Made by").waitFor();
  expect((await agent.send("GET /v1/tasks")).body.tasks).toHaveLength(1);

  await page.goto(`${app.url}/#/agents/${agent.key.id}/inbox`);
  await loseNext(page, "messages.send");
  const text = page.getByLabel("Message to the agent");
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
  // The same words once more are another message.
  await text.fill("Hello");
  await send.click();
  await until(async () => (await inbox()) === 2);
});

webTest("it stays once through a busy server and a reload, and ends with a change", async () => {
  const { person, agent } = await createPair(app.url);
  const page = await openPage(app.url, { as: person, at: "#/tasks/new" });
  await loseNext(page, "tasks.create");
  const title = page.getByLabel("Title");
  await title.fill("Only one");
  const create = page.getByRole("button", { name: "Create task" });
  await create.click();
  await page.getByRole("alert").getByText(again).waitFor();
  // The second attempt comes to a server that is busy, which says nothing about the first.
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
  await page.getByRole("alert").getByText("cannot reach its data").waitFor();
  await page.reload();
  expect(await title.inputValue()).toBe("Only one");
  await create.click();
  await page.getByRole("dialog").getByText("Made by").waitFor();
  const tasks = async () => (await agent.send("GET /v1/tasks")).body.tasks.length;
  expect(await tasks()).toBe(1);

  // The same words, written anew, are meant anew.
  await page.goto(`${app.url}/#/tasks/new`);
  await loseNext(page, "tasks.create");
  await title.fill("Another");
  await create.click();
  await page.getByRole("alert").getByText(again).waitFor();
  await title.fill("");
  await title.fill("Another");
  await create.click();
  await page.getByRole("dialog").getByText("Made by").waitFor();
  expect(await tasks()).toBe(3);
});

webTest("it stays once though the token is replaced in between", async () => {
  const { person, agent } = await createPair(app.url);
  const page = await openPage(app.url, { as: person, at: `#/agents/${agent.key.id}/inbox` });
  await loseNext(page, "messages.send");
  await page.getByLabel("Message to the agent").fill("Hello");
  const send = page.getByRole("button", { name: "Send message" });
  await send.click();
  await page.getByRole("alert").getByText(again).waitFor();
  await page.getByRole("link", { name: "Account" }).click();
  await page.getByRole("button", { name: "Replace the token" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Replace token" }).click();
  await page.getByText("The token is replaced").waitFor();
  await page.goBack();
  await send.click();
  await page.getByText("Message sent").waitFor();
  const { items } = (await agent.send("GET /v1/inbox?peek=true")).body;
  expect(items).toHaveLength(1);
});

webTest("an answer whose confirmation is lost counts as given", async () => {
  const { person, agent } = await createPair(app.url);
  const page = await openPage(app.url, { as: person });
  await loseNext(page, "questions.answer");
  const { id } = await ask(agent.send, { prompt: "Really?" });
  await press(page.getByRole("button", { name: "Yes" }));
  // The event comes all the same, and nobody else gave it.
  await page.getByText("Nothing waits for you").waitFor();
  await page.getByText("Answered", { exact: true }).waitFor();
  expect(await page.getByText("elsewhere").count()).toBe(0);
  expect((await agent.send(`GET /v1/questions/${id}`)).body.answer).toBe("Yes");
});

webTest(
  "a token that was replaced is known here, though the server's answer was lost",
  async () => {
    const person = await createPerson(app.url);
    const context = await openProfile(app.url, { as: person });
    const page = await context.newPage();
    await page.goto(`${app.url}/#/account`);
    const tab = await context.newPage();
    await tab.goto(`${app.url}/#/account`);
    await loseNext(page, "accounts.replaceToken");
    await page.getByRole("button", { name: "Replace the token" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Replace token" }).click();
    const kept = () => page.evaluate(() => localStorage.getItem("relay.token"));
    await until(async () => (await kept()) !== person.token);
    expect((await person.send("GET /v1/account")).status).toBe(401);
    for (const one of [page, tab]) {
      await one.locator("[data-link=live]").waitFor({ state: "attached" });
      await one.getByText((await kept())!.slice(0, 4)).waitFor();
    }
    const { body } = await client(app.url, (await kept())!)("GET /v1/account");
    expect(body.id).toBe(person.account.id);
    expect(await page.evaluate(() => localStorage.getItem("relay.next-token"))).toBeNull();
  },
);

webTest("what comes after the person left is not told to the next one", async () => {
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
  await page.getByLabel("Message to the agent").fill("Hello");
  await page.getByRole("button", { name: "Send message" }).click();
  await page.getByRole("link", { name: "Account" }).click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Sign out" }).click();
  await page.getByText("You are signed out").waitFor();
  const answered = page.waitForResponse("**/trpc/messages.send");
  release();
  await (await answered).finished();
  await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 50)));
  expect(await page.getByText("Message sent").count()).toBe(0);
});
