/** Questions in the page: live, answered by mouse and keyboard, and closed elsewhere. */

import { expect } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { ask, createAgent, createPair, createTask } from "../support/client.ts";
import {
  browserTests,
  card,
  expectComplaints,
  inHistory,
  openPage,
  openProfile,
  PHONE,
  press,
  untilLive,
  untilSteady,
  withTimeHeld,
} from "./browser.ts";

const webTest = browserTests();
const app = await startTestApp();

webTest("a question appears at once, with agent, host and time left", async () => {
  const { person } = await createPair(app.url);
  const agent = await createAgent(app.url, person, "Release bot");
  const page = await openPage(app.url, { as: person, size: PHONE });
  await page.getByText("All caught up").waitFor();
  const task = await agent.send(
    "POST /v1/tasks",
    { title: "Release" },
    { headers: { "x-agent-host": "ci-7" } },
  );
  const question = { prompt: "Publish it?", task_id: task.body.id, expires_in: 590 };
  const { id } = await ask(agent.send, question);
  await card(page, "Publish it?").waitFor();
  const text = await card(page, "Publish it?").textContent();
  for (const part of ["Release bot", "ci-7", "Release", "Yes", "No"]) expect(text).toContain(part);
  const timer = card(page, "Publish it?").getByRole("timer");
  const first = await timer.textContent();
  expect(first).toMatch(/^9:[0-5]\d$/);
  // The countdown runs.
  await page.waitForFunction(
    ([from]) => document.querySelector("[role=timer]")?.textContent !== from,
    [first],
  );
  await press(card(page, "Publish it?").getByRole("button", { name: "Yes" }));
  await inHistory(page, "Publish it?").getByText("Answered").waitFor();
  expect(await card(page, "Publish it?").count()).toBe(0);
  expect((await agent.send(`GET /v1/questions/${id}`)).body).toMatchObject({
    status: "answered",
    answer: "Yes",
  });
});

webTest("answers to confirm, choice and text questions reach the waiting agent", async () => {
  const { person, agent } = await createPair(app.url);
  const page = await openPage(app.url, { as: person });
  const choice = agent.send("POST /v1/questions?wait=50", {
    prompt: "Which?",
    kind: "choice",
    options: ["First", "Second", "Third"],
  });
  await press(card(page, "Which?").getByRole("button", { name: "Second" }));
  expect((await choice).body.answer).toBe("Second");
  const typed = agent.send("POST /v1/questions?wait=50", { prompt: "Why?", kind: "text" });
  const box = card(page, "Why?").getByRole("textbox");
  expect(await card(page, "Why?").getByRole("button", { name: "Send" }).isDisabled()).toBe(true);
  await box.fill("Because\nof this");
  await press(card(page, "Why?").getByRole("button", { name: "Send" }));
  expect((await typed).body.answer).toBe("Because\nof this");
  await inHistory(page, "Why?").getByText("Because").waitFor();
});

webTest("the keyboard answers, and the focus moves to the next question", async () => {
  const { person, agent } = await createPair(app.url);
  const asked = [
    await ask(agent.send, { prompt: "One?", expires_in: 1_000 }),
    await ask(agent.send, {
      prompt: "Two?",
      kind: "choice",
      options: ["a", "b"],
      expires_in: 2_000,
    }),
    await ask(agent.send, { prompt: "Three?", kind: "text", expires_in: 3_000 }),
    await ask(agent.send, { prompt: "Four?", expires_in: 4_000 }),
  ];
  const page = await openPage(app.url, { as: person });
  await card(page, "Four?").waitFor();
  const focusedCard = () =>
    page.evaluate(() => document.activeElement?.closest("article")?.textContent);
  const gone = (text: string) => card(page, text).waitFor({ state: "detached" });
  const cardFocused = (text: string) =>
    page.waitForFunction(
      ([wanted]) =>
        document.activeElement?.tagName === "ARTICLE" &&
        document.activeElement.textContent?.includes(wanted!),
      [text],
    );
  await card(page, "One?").getByRole("button", { name: "Yes" }).focus();
  // Down and up again, then No.
  await page.keyboard.press("ArrowDown");
  expect(await focusedCard()).toContain("Two?");
  await page.keyboard.press("k");
  await untilSteady(card(page, "One?"));
  // Keys pressed right after the focus moved, or held down, do not answer.
  await withTimeHeld(page, async () => {
    await page.keyboard.press("n");
    await gone("One?");
    await cardFocused("Two?");
    await page.keyboard.down("1");
    await page.getByText("Press again to answer").waitFor();
  });
  await untilSteady(card(page, "Two?"));
  await page.keyboard.down("1");
  await page.keyboard.up("1");
  await page.keyboard.press("2");
  await gone("Two?");
  await cardFocused("Three?");
  await card(page, "Three?").getByRole("textbox").focus();
  // In the text field the keys type text.
  await page.keyboard.type("yn1");
  await page.keyboard.press("Shift+Enter");
  await page.keyboard.type("k");
  await page.keyboard.press("Enter");
  await gone("Three?");
  await cardFocused("Four?");
  await page.keyboard.press("Enter");
  // The agent, the time, and the first answer.
  for (let i = 0; i < 3; i++) await page.keyboard.press("Tab");
  expect(await page.evaluate(() => document.activeElement?.textContent)).toContain("Yes");
  await page.keyboard.press("Enter");
  await gone("Four?");
  const answers: unknown[] = [];
  for (const { id } of asked) answers.push((await agent.send(`GET /v1/questions/${id}`)).body);
  expect(answers).toMatchObject([
    { answer: "No" },
    { answer: "b" },
    { answer: "yn1\nk" },
    { answer: "Yes" },
  ]);
});

webTest("a question answered in one browser disappears from the other", async () => {
  const { person, agent } = await createPair(app.url);
  const [desk, phone] = [
    await openPage(app.url, { as: person }),
    await openPage(app.url, { as: person, size: PHONE }),
  ];
  await ask(agent.send, { prompt: "Who is first?" });
  for (const page of [desk, phone]) await card(page, "Who is first?").waitFor();
  await press(phone.getByRole("button", { name: "No", exact: true }));
  for (const page of [desk, phone]) {
    await inHistory(page, "Who is first?").getByText("No", { exact: true }).waitFor();
    expect(await card(page, "Who is first?").count()).toBe(0);
    expect(await page.title()).toBe("Questions · Relay");
  }
});

webTest("a second answer is refused, and the page shows the first", async () => {
  expectComplaints(/409/);
  const { person, agent } = await createPair(app.url);
  const { id } = await ask(agent.send, { prompt: "Late?" });
  const page = await openPage(app.url, { as: person });
  await card(page, "Late?").waitFor();
  // The page's stream is held back, and someone else answers first.
  await page.route("**/trpc/questions.answer", async (route) => {
    await person.send(`POST /v1/questions/${id}/answer`, { answer: "No" });
    await route.continue();
  });
  await press(page.getByRole("button", { name: "Yes" }));
  await page.getByText("This question is no longer open.").waitFor();
  await inHistory(page, "Late?").getByText("No", { exact: true }).waitFor();
});

webTest("a question cancelled by its agent or with its task moves to the history", async () => {
  const { person, agent } = await createPair(app.url);
  const page = await openPage(app.url, { as: person });
  const task = await createTask(agent.send);
  const { id } = await ask(agent.send, { prompt: "Mine?" });
  await ask(agent.send, { prompt: "The task's?", task_id: task.id });
  for (const text of ["Mine?", "The task's?"]) await card(page, text).waitFor();
  await agent.send(`DELETE /v1/questions/${id}`);
  await agent.send(`DELETE /v1/tasks/${task.id}`);
  for (const text of ["Mine?", "The task's?"])
    await inHistory(page, text).getByText("Cancelled").waitFor();
});

webTest(
  "a question that disappears never passes the focus to another question's answers",
  async () => {
    const { person, agent } = await createPair(app.url);
    const first = await ask(agent.send, { prompt: "One?", expires_in: 1_000 });
    const second = await ask(agent.send, { prompt: "Two?", kind: "text", expires_in: 2_000 });
    const third = await ask(agent.send, { prompt: "Three?", expires_in: 3_000 });
    const page = await openPage(app.url, { as: person });
    const headingFocused = () =>
      page.waitForFunction(() => document.activeElement?.tagName === "H1");
    await card(page, "One?").getByRole("button", { name: "Yes" }).focus();
    await person.send(`POST /v1/questions/${first.id}/answer`, { answer: "No" });
    await page.getByRole("status").getByText("Question answered elsewhere.").waitFor();
    await headingFocused();
    await page.keyboard.press("Enter");
    await page.keyboard.press("y");
    // Unsent text is reported, wherever the focus is.
    await card(page, "Two?").getByRole("textbox").fill("half of an ans");
    await card(page, "Three?").getByRole("button", { name: "Yes" }).focus();
    await agent.send(`DELETE /v1/questions/${second.id}`);
    await page.getByText("Question cancelled. What you typed is kept.").waitFor();
    expect(await page.evaluate(() => document.activeElement?.textContent)).toContain("Yes");
    // The same holds for the last question.
    await agent.send(`DELETE /v1/questions/${third.id}`);
    await headingFocused();
    for (const { id } of [second, third]) {
      expect((await agent.send(`GET /v1/questions/${id}`)).body.status).toBe("cancelled");
    }
  },
);

webTest(
  "a click on an item that has just appeared or moved is refused, and the page says so",
  async () => {
    const { person, agent } = await createPair(app.url);
    const below = await ask(agent.send, { prompt: "Below?", expires_in: 3_000 });
    const page = await openPage(app.url, { as: person });
    const yes = (text: string) => card(page, text).getByRole("button", { name: "Yes" });
    await untilSteady(yes("Below?"));
    let calls = 0;
    page.on("request", (request) => {
      if (request.url().includes("questions.answer")) calls++;
    });
    // The page itself clicks in the first frame, faster than a test could.
    await page.evaluate(() => {
      const pressed = new MutationObserver(() => {
        const cards = document.querySelectorAll("article");
        if (cards.length < 2) return;
        pressed.disconnect();
        for (const one of cards) {
          const options = { bubbles: true, cancelable: true, detail: 1 };
          one.querySelector("[data-careful]")!.dispatchEvent(new MouseEvent("click", options));
        }
        document.title = "pressed";
      });
      pressed.observe(document.body, { childList: true, subtree: true });
    });
    const above = await ask(agent.send, { prompt: "Above?", expires_in: 2_000 });
    await card(page, "Above?").waitFor();
    await page.getByText("Tap again to answer").waitFor();
    await untilSteady(yes("Above?"));
    // The second click of a double click does not hit the item that moves up under it.
    await yes("Above?").dispatchEvent("click", { detail: 2 });
    expect(calls).toBe(0);
    await yes("Above?").dblclick();
    await inHistory(page, "Above?").getByText("Answered").waitFor();
    await untilSteady(yes("Below?"));
    expect(calls).toBe(1);
    expect((await agent.send(`GET /v1/questions/${below.id}`)).body.status).toBe("pending");
    expect((await agent.send(`GET /v1/questions/${above.id}`)).body.answer).toBe("Yes");
  },
);

webTest("an answer that the server does not confirm in time waits to be sent", async () => {
  const { person, agent } = await createPair(app.url);
  const { id } = await ask(agent.send, { prompt: "Slow?" });
  const context = await openProfile(app.url, { as: person });
  // The time limit of calls, divided by 100.
  await context.addInitScript(() => {
    const real = AbortSignal.timeout.bind(AbortSignal);
    AbortSignal.timeout = (limit) => {
      if (limit === 15_000 && document.title.endsWith("Impatient")) return real(150);
      return real(limit);
    };
  });
  const page = await context.newPage();
  await page.goto(app.url);
  await untilLive(page);
  await card(page, "Slow?").waitFor();
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route("**/trpc/questions.answer", async (route) => {
    await released;
    await route.abort();
  });
  await page.evaluate(() => {
    document.title = "Impatient";
  });
  await press(page.getByRole("button", { name: "Yes" }));
  await card(page, "Slow?").getByText("Waiting to be sent").waitFor();
  release();
  expect((await agent.send(`GET /v1/questions/${id}`)).body.status).toBe("pending");
});
