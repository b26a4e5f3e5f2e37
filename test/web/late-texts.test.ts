/** Text that is being typed when its question, task, agent or sign-in ends stays: to copy, or to send as a message. */

import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { startTestApp } from "../support/app.ts";
import { callHook, commandOf } from "../support/approve.ts";
import { ask, createPair, createTask } from "../support/client.ts";
import { until } from "../support/until.ts";
import {
  browserTests,
  draftsIn,
  expectComplaints,
  go,
  openPage,
  press,
  untilLive,
} from "./browser.ts";

const webTest = browserTests();
const app = await startTestApp();

type Pair = Awaited<ReturnType<typeof createPair>>;

/** A text in view: a list that a question was opened from stays, hidden. */
const text = (page: Page, words: string) => page.getByText(words).filter({ visible: true });
const kept = (page: Page, why: string) => text(page, `Your draft wasn't sent: ${why}.`);
const messages = async ({ agent }: Pair) =>
  (await agent.send("GET /v1/inbox")).body.items.flatMap(({ text }: any) => text ?? []);

/** How a question ends while its answer is being written, what the page says, and what the message says. */
const ENDS = {
  "cancelled by the agent": {
    end: ({ agent }: Pair, id: string) => agent.send(`DELETE /v1/questions/${id}`),
    why: "the question had been cancelled",
    message: "My answer to “Write the mail”, which had been cancelled: Careful words",
  },
  "answered elsewhere": {
    end: ({ person }: Pair, id: string) =>
      person.send(`POST /v1/questions/${id}/answer`, { answer: "x" }),
    why: "the question had been answered elsewhere",
    message: "My answer to “Write the mail”, which had been answered: Careful words",
  },
  "whose task is deleted": {
    end: ({ agent }: Pair, _: string, task: string) => agent.send(`DELETE /v1/tasks/${task}`),
    why: "the question had been cancelled",
    message: "My answer to “Write the mail”, which had been cancelled: Careful words",
  },
  "whose agent is deleted": {
    end: ({ person, agent }: Pair) => person.send(`DELETE /v1/keys/${agent.key.id}`),
    why: "the question no longer exists",
    message: null,
  },
};

for (const [how, { end, why, message }] of Object.entries(ENDS)) {
  webTest(`text for a question ${how} is kept over a reload, to copy or to send`, async () => {
    // The question is read, and is not there.
    if (message === null) expectComplaints(/404/);
    const pair = await createPair(app.url);
    const task = await createTask(pair.agent.send);
    const asked = { prompt: "Write the mail", kind: "text", task_id: task.id };
    const { id } = await ask(pair.agent.send, asked);
    const page = await openPage(app.url, { as: pair.person });
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.getByRole("textbox", { name: "Your answer" }).fill("Careful words");
    await end(pair, id, task.id);
    await kept(page, why).waitFor();
    expect(await draftsIn(page)).toEqual([]);
    await page.reload();
    await untilLive(page);
    await go(page, `questions/${id}`);
    await kept(page, why).waitFor();
    await text(page, "“Careful words” to “Write the mail”").waitFor();
    await page.getByRole("button", { name: "Copy", exact: true }).click();
    await page.getByText("Copied", { exact: true }).waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe("Careful words");
    const send = page.getByRole("button", { name: "Send as a message" });
    if (message === null) {
      expect(await send.count()).toBe(0);
      await page.getByRole("button", { name: "OK, dismiss this answer" }).click();
    } else {
      await send.click();
      await until(async () => (await messages(pair)).includes(message));
    }
    await kept(page, why).waitFor({ state: "detached" });
  });
}

webTest(
  "notes and changed drafts are kept too, but nothing once the person has answered here",
  async () => {
    const { person, agent } = await createPair(app.url);
    const page = await openPage(app.url, { as: person });
    const draft = await ask(agent.send, { prompt: "Send it?", kind: "text", draft: "Hello" });
    await page.getByLabel("Draft from").fill("Hello Ada");
    await agent.send(`DELETE /v1/questions/${draft.id}`);
    await page.getByText("“Hello Ada” to “Send it?”").waitFor();
    await page.getByRole("button", { name: "OK, dismiss this answer" }).click();

    const noted = await ask(agent.send, { prompt: "Ship?", allow_other: true });
    await page.getByRole("button", { name: "Add a note" }).click();
    await page.getByLabel("Note").fill("after lunch");
    await page.getByRole("button", { name: "Other…" }).click();
    await page.getByLabel("Your answer").fill("Perhaps");
    await person.send(`POST /v1/questions/${noted.id}/answer`, { answer: "No" });
    await page.getByText("“Perhaps after lunch” to “Ship?”").waitFor();
    await page.getByRole("button", { name: "OK, dismiss this answer" }).click();

    await ask(agent.send, { prompt: "Again?", allow_other: true });
    await page.getByRole("button", { name: "Other…" }).click();
    await page.getByLabel("Your answer").fill("Perhaps not");
    await press(page.getByRole("button", { name: "Yes" }));
    await page.getByText("Answer sent").waitFor();
    await until(async () => (await draftsIn(page)).length === 0);
    expect(await page.getByText("wasn't sent").count()).toBe(0);

    // A note on a request for permission that is decided at the desk.
    void callHook(app.url, agent.secret, commandOf("npm install"));
    await page.getByRole("button", { name: "Add a note" }).click();
    await page.getByLabel("Note").fill("use npm ci instead");
    const { body } = await person.send("GET /v1/questions?status=pending");
    await agent.send(`DELETE /v1/questions/${body.questions[0].id}`);
    await page.getByText("“use npm ci instead”").waitFor();
  },
);

webTest(
  "changes to a task and a message are kept when the task or the agent is deleted",
  async () => {
    const { person, agent } = await createPair(app.url);
    const { id } = await createTask(agent.send, { title: "Old" });
    const page = await openPage(app.url, { as: person, at: `#/tasks/${id}` });
    const sheet = page.getByRole("dialog");
    await sheet.getByRole("button", { name: "Edit" }).click();
    await sheet.getByLabel("Description").fill("Many careful words");
    // Closed by mistake, and then the task is deleted.
    await page.keyboard.press("Escape");
    await sheet.waitFor({ state: "detached" });
    await go(page, `agents/${agent.key.id}/inbox`);
    await page.getByLabel("Message to agent").fill("A long message");
    await agent.send(`DELETE /v1/tasks/${id}`);
    await go(page, "questions");
    await kept(page, "the task was deleted").waitFor();
    await page.getByText("“Many careful words” to “Old”").waitFor();
    await page.getByRole("button", { name: "OK, dismiss this answer" }).click();
    await go(page, `agents/${agent.key.id}/inbox`);
    expect(await page.getByLabel("Message to agent").inputValue()).toBe("A long message");
    await person.send(`DELETE /v1/keys/${agent.key.id}`);
    await kept(page, "the agent was deleted").waitFor();
    await page.getByText("“A long message” to “agent”").waitFor();
    expect(await page.getByRole("button", { name: "Send as a message" }).count()).toBe(0);
  },
);

webTest("what was typed is there again after the sign-in was ended elsewhere", async () => {
  expectComplaints(/401/);
  const { person, agent } = await createPair(app.url);
  await ask(agent.send, { prompt: "Write the mail", kind: "text" });
  const page = await openPage(app.url, { as: person });
  const field = page.getByRole("textbox", { name: "Your answer" });
  await field.fill("Careful words");
  const { body } = await person.send("POST /v1/account/token", {});
  await page.getByText("What you had typed is kept").waitFor();
  await page.getByLabel("Account token").fill(body.token);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await untilLive(page);
  expect(await field.inputValue()).toBe("Careful words");
});
