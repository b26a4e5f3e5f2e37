/** A message to an agent is one tap away from what it asks and does. */

import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { startTestApp } from "../support/app.ts";
import { ask, createPair, createTask } from "../support/client.ts";
import { browserTests, go, openPage, PHONE } from "./browser.ts";
import { untilFocused } from "./keys.ts";
import { expectNoOverflow, untilSettled, violations } from "./page-checks.ts";

const webTest = browserTests();
const app = await startTestApp();

/** Folder for screenshots to look at; none when unset. */
const PICTURES = process.env.RELAY_TEST_PICTURES;

const sheet = (page: Page) => page.getByRole("dialog");

webTest("Write to the agent and Remind me are one tap away on a phone", async () => {
  const { person, agent } = await createPair(app.url);
  const { id } = await createTask(agent.send, { title: "Its task" });
  const page = await openPage(app.url, { as: person, size: PHONE, touch: true });
  await agent.send("POST /v1/questions", {
    prompt: "Which one?",
    kind: "confirm",
    expires_in: 7_200,
  });
  const write = async (button = "Write to the agent") => {
    await page.getByRole("button", { name: button }).tap();
    await untilFocused(page, /^textarea/);
  };
  const send = async (text: string) => {
    await page.keyboard.type(text);
    await sheet(page).last().getByRole("button", { name: "Send message" }).tap();
    await sheet(page).filter({ hasText: "Send message" }).waitFor({ state: "detached" });
  };
  await go(page, "questions");
  await page.getByRole("button", { name: "In 10 min" }).waitFor();
  await untilSettled(page);
  await expectNoOverflow(page);
  if (PICTURES) await page.screenshot({ path: `${PICTURES}/write-question.png` });
  await write();
  if (PICTURES) await page.screenshot({ path: `${PICTURES}/write-sheet.png` });
  expect(await violations(page, "[role=dialog]")).toEqual([]);
  await send("From the question");
  await page.getByRole("button", { name: "In 10 min" }).tap();
  await page.getByText(/^It rings again at/).waitFor();
  // However much has happened to the task.
  for (const prompt of ["One?", "Two?", "Three?", "Four?"]) {
    await ask(agent.send, { prompt, task_id: id });
  }
  await go(page, `tasks/${id}`);
  await sheet(page).getByText("Four?").waitFor();
  await untilSettled(page);
  const at = await page.getByRole("button", { name: "Write to the agent" }).last().boundingBox();
  expect(at!.y + at!.height).toBeLessThan(PHONE.height);
  await write();
  await send("From the task");
  await go(page, "agents");
  await write(`Write to ${agent.key.label}`);
  await send("From the list");
  const { body } = await agent.send("GET /v1/inbox");
  expect(
    body.items
      .map(({ text }: { text: string | null }) => text)
      .filter(Boolean)
      .sort(),
  ).toEqual(["From the list", "From the question", "From the task"]);
  const answered = await person.send("GET /v1/questions");
  expect(answered.body.questions[0].status).toBe("pending");
});
