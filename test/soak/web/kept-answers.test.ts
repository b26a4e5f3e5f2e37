/** Answers given while the server cannot be reached: kept, marked, and sent later. */

import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { startTestApp } from "../../support/app.ts";
import { ask, client, createPair, createPerson, pair } from "../../support/client.ts";
import { until } from "../../support/until.ts";
import {
  browserTests,
  card,
  expectComplaints,
  goOffline,
  openPage,
  PHONE,
  press,
  untilLive,
} from "../../web/browser.ts";
import { expectNoOverflow, untilSettled, violations } from "../../web/page-checks.ts";

const webTest = browserTests({ worker: true });
const app = await startTestApp();

/** Folder for screenshots to look at; none when unset. */
const PICTURES = process.env.RELAY_TEST_PICTURES;

const stored = (page: Page) => page.evaluate(() => localStorage.getItem("relay.answers"));

async function comeBack(page: Page): Promise<void> {
  await page.context().setOffline(false);
  await untilLive(page);
}

webTest(
  "an answer given offline survives a reload, and is sent once the server is back",
  async () => {
    const { person, agent } = await createPair(app.url);
    const { id } = await ask(agent.send, { prompt: "Kept?" });
    const words = await ask(agent.send, { prompt: "In words?", kind: "text" });
    const page = await openPage(app.url, { as: person, size: PHONE });
    await card(page, "In words?").waitFor();
    // It is shown without the server if it was saved before.
    await page.waitForFunction(
      () =>
        new Promise((resolve) => {
          const opening = indexedDB.open("relay");
          opening.onsuccess = () => {
            const all = opening.result.transaction("questions").objectStore("questions").getAll();
            all.onsuccess = () => {
              opening.result.close();
              resolve(all.result.length === 2);
            };
          };
        }),
    );
    await goOffline(page);
    await press(card(page, "Kept?").getByRole("button", { name: "Yes" }));
    await card(page, "Kept?").getByText("Waiting to be sent").waitFor();
    await card(page, "In words?").getByRole("textbox").fill("First words");
    await press(card(page, "In words?").getByRole("button", { name: "Send" }));
    // The person can take the answer back, and gets its text as a draft.
    await press(card(page, "In words?").getByRole("button", { name: "Change answer" }));
    const box = card(page, "In words?").getByRole("textbox");
    expect(await box.inputValue()).toBe("First words");
    await box.fill("Better words");
    await press(card(page, "In words?").getByRole("button", { name: "Send" }));
    await card(page, "In words?").getByText("Better words").waitFor();
    await untilSettled(page);
    await expectNoOverflow(page);
    expect(await violations(page)).toEqual([]);
    if (PICTURES) await page.screenshot({ path: `${PICTURES}/waiting.png`, fullPage: true });

    await page.reload();
    await page.getByText(/^Offline\./).waitFor();
    // The page may know that it is offline before it has read what it saved.
    await page.getByText("Waiting to be sent").nth(1).waitFor();
    expect(await page.getByText("Waiting to be sent").count()).toBe(2);
    await comeBack(page);
    await page.getByText("All caught up").waitFor();
    const answerOf = async (of: string) =>
      (await agent.send(`GET /v1/questions/${of}`)).body.answer;
    expect([await answerOf(id), await answerOf(words.id)]).toEqual(["Yes", "Better words"]);
    await page.getByText("Answer sent").first().waitFor();
    expect(await stored(page)).toBeNull();
  },
);

webTest(
  "an answer whose response was lost is sent again under the same idempotency key",
  async () => {
    const { person, agent } = await createPair(app.url);
    const { id } = await ask(agent.send, { prompt: "Twice?" });
    const page = await openPage(app.url, { as: person });
    expectComplaints(/ERR_FAILED/);
    const keys: (string | undefined)[] = [];
    await page.route("**/trpc/questions.answer", async (route) => {
      keys.push(route.request().headers()["idempotency-key"]);
      return keys.length === 1 ? route.abort() : route.continue();
    });
    await press(card(page, "Twice?").getByRole("button", { name: "No", exact: true }));
    await card(page, "Twice?").getByText("Waiting to be sent").waitFor();
    await page.getByText("All caught up").waitFor();
    expect(keys).toHaveLength(2);
    expect(keys[0]).toMatch(/./);
    expect(keys[1]).toBe(keys[0]);
    expect((await agent.send(`GET /v1/questions/${id}`)).body.answer).toBe("No");
  },
);

webTest("an answer to a question that ended meanwhile says so until dismissed", async () => {
  const { person, agent } = await createPair(app.url);
  const cancelled = await ask(agent.send, { prompt: "Cancelled?" });
  const answered = await ask(agent.send, { prompt: "Elsewhere?" });
  const page = await openPage(app.url, { as: person, size: PHONE });
  for (const text of ["Cancelled?", "Elsewhere?"]) await card(page, text).waitFor();
  await goOffline(page);
  for (const text of ["Cancelled?", "Elsewhere?"]) {
    await press(card(page, text).getByRole("button", { name: "Yes" }));
  }
  await agent.send(`DELETE /v1/questions/${cancelled.id}`);
  await person.send(`POST /v1/questions/${answered.id}/answer`, { answer: "No" });
  expectComplaints(/Failed to load resource|ERR_|409/);
  await comeBack(page);
  const word = (why: string) =>
    page.getByText(`Your answer wasn't sent: the question had been ${why}.`);
  await word("cancelled").waitFor();
  await word("answered elsewhere").waitFor();
  await untilSettled(page);
  expect(await violations(page)).toEqual([]);
  await expectNoOverflow(page);
  if (PICTURES) await page.screenshot({ path: `${PICTURES}/refused.png` });
  await page.reload();
  await word("cancelled").waitFor();
  const ok = page.getByRole("button", { name: "OK, dismiss this answer" });
  await ok.first().click();
  await until(async () => (await ok.count()) === 1);
  await ok.click();
  await until(async () => (await stored(page)) === null);
  expect((await agent.send(`GET /v1/questions/${answered.id}`)).body.answer).toBe("No");
});

webTest("waiting answers are deleted at sign-out and never sent for another account", async () => {
  const { person, agent } = await createPair(app.url);
  const { id } = await ask(agent.send, { prompt: "Mine?" });
  const page = await openPage(app.url, { as: person });
  await card(page, "Mine?").waitFor();
  await goOffline(page);
  await press(card(page, "Mine?").getByRole("button", { name: "Yes" }));
  await card(page, "Mine?").getByText("Waiting to be sent").waitFor();
  const kept = (await stored(page))!;
  await page.getByRole("link", { name: "Account" }).click();
  await page.getByRole("button", { name: "Sign out", exact: true }).click();
  const dialog = page.getByRole("alertdialog");
  await dialog.getByText("1 answer hasn't been sent yet.").waitFor();
  await dialog.getByRole("button", { name: "Sign out" }).click();
  await page.getByText("You're signed out").waitFor();
  expect(await stored(page)).toBeNull();
  await page.context().setOffline(false);

  // What another account left behind is ignored.
  const other = await createPair(app.url);
  const sent: string[] = [];
  page.on("request", (request) => {
    if (request.url().includes("questions.answer")) sent.push(request.postData()!);
  });
  await page.evaluate(
    ([token, answers]) => {
      localStorage.setItem("relay.token", token!);
      localStorage.setItem("relay.answers", answers!);
    },
    [other.person.token, kept],
  );
  await page.reload();
  await untilLive(page);
  const theirs = await ask(other.agent.send, { prompt: "Theirs?" });
  await press(card(page, "Theirs?").getByRole("button", { name: "Yes" }));
  await page.getByText("Answer sent").waitFor();
  expect(sent.map((text) => JSON.parse(text).question_id)).toEqual([theirs.id]);
  const { body } = await client(app.url, person.token)(`GET /v1/questions/${id}`);
  expect(body.status).toBe("pending");
});

webTest(
  "an answer that was waiting when its sign-in ended is shown, and sent after signing in again",
  async () => {
    expectComplaints(/401|ERR_/);
    const { person, agent } = await createPair(app.url);
    const { id } = await ask(agent.send, { prompt: "**Lost**?" });
    const endPhone = async () => {
      const { body } = await person.send("GET /v1/sessions");
      const phone = body.sessions.find(({ current }: { current: boolean }) => !current);
      expect((await person.send(`DELETE /v1/sessions/${phone.id}`)).status).toBe(204);
    };
    const page = await openPage(app.url, { as: await pair(app.url, person, "Phone"), size: PHONE });
    const signInAs = async (token: string) => {
      await page.getByLabel("Account token").fill(token);
      await page.getByRole("button", { name: "Sign in", exact: true }).click();
      await untilLive(page);
    };
    await card(page, "Lost?").waitFor();
    await goOffline(page);
    await press(card(page, "Lost?").getByRole("button", { name: "Yes" }));
    await card(page, "Lost?").getByText("Waiting to be sent").waitFor();
    await endPhone();
    await page.context().setOffline(false);
    const status = page.getByRole("status");
    await status.getByText("1 answer wasn't sent:").waitFor();
    await status.getByRole("listitem").getByText("“Yes” to “Lost?”").waitFor();
    expect(await page.evaluate(() => localStorage.length + sessionStorage.length)).toBe(0);
    await untilSettled(page);
    await expectNoOverflow(page);
    expect(await violations(page)).toEqual([]);
    if (PICTURES) await page.screenshot({ path: `${PICTURES}/unsent.png` });
    await signInAs((await pair(app.url, person, "Phone")).token);
    await page.getByText("Answer sent").waitFor();
    expect((await agent.send(`GET /v1/questions/${id}`)).body.answer).toBe("Yes");

    // Another account does not get it, and then it is forgotten.
    const again = await ask(agent.send, { prompt: "Again?" });
    await card(page, "Again?").waitFor();
    await goOffline(page);
    await press(card(page, "Again?").getByRole("button", { name: "Yes" }));
    await card(page, "Again?").getByText("Waiting to be sent").waitFor();
    await endPhone();
    await page.context().setOffline(false);
    await status.getByText("1 answer wasn't sent:").waitFor();
    await signInAs((await createPerson(app.url)).token);
    expect(await stored(page)).toBeNull();
    expect((await agent.send(`GET /v1/questions/${again.id}`)).body.status).toBe("pending");
  },
);

webTest(
  "every tab shows what was not sent when its sign-in ended, and a sign-in in any tab sends it",
  async () => {
    expectComplaints(/401|ERR_/);
    const { person, agent } = await createPair(app.url);
    const { id } = await ask(agent.send, { prompt: "In two tabs?" });
    const phone = await pair(app.url, person, "Phone");
    const page = await openPage(app.url, { as: phone });
    const other = await page.context().newPage();
    await other.goto(app.url);
    await untilLive(other);
    await card(page, "In two tabs?").waitFor();
    await page.context().setOffline(true);
    await page.getByText(/^Offline\./).waitFor();
    await press(card(page, "In two tabs?").getByRole("button", { name: "Yes" }));
    await card(page, "In two tabs?").getByText("Waiting to be sent").waitFor();
    const { body } = await person.send("GET /v1/sessions");
    const ended = body.sessions.find(({ current }: { current: boolean }) => !current);
    expect((await person.send(`DELETE /v1/sessions/${ended.id}`)).status).toBe(204);
    // The tab in which the person answered learns of it only from the other tab.
    await page.route("**/*", (route) => route.abort());
    await page.context().setOffline(false);
    for (const tab of [page, other]) await tab.getByText("1 answer wasn't sent:").waitFor();
    await page.unrouteAll();
    // A tab that knows nothing of the answer signs in.
    const fresh = await page.context().newPage();
    await fresh.goto(app.url);
    await fresh.getByLabel("Account token").fill((await pair(app.url, person, "Phone")).token);
    await fresh.getByRole("button", { name: "Sign in", exact: true }).click();
    await until(async () => (await agent.send(`GET /v1/questions/${id}`)).body.answer === "Yes");
    // The first tab follows, and has nothing left to send.
    await untilLive(page);
    expect(await page.getByText("wasn't sent").count()).toBe(0);
  },
);
