/** Context, links, other answers, notes and fallbacks in the page (§2.5). */

import { expect } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { ask, createPair } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import {
  browserTests,
  card,
  expectComplaints,
  go,
  inHistory,
  openPage,
  PHONE,
  press,
} from "./browser.ts";
import { violations } from "./page-checks.ts";

const webTest = browserTests();
const clock = createTestClock();
const app = await startTestApp({ clock });

const RICH = {
  prompt: "Merge the change?",
  context: "# Plan\n\n```diff\n-old line\n+new line\n```\n\n**Yes** <button>Approve</button>",
  url: "https://user.example/pr/7?x=1",
  fallback: "No",
  allow_other: true,
  expires_in: 250,
};

webTest("context and link are below the prompt, in a frame that names the agent", async () => {
  const { person, agent } = await createPair(app.url);
  const page = await openPage(app.url, { as: person, size: PHONE });
  await page.getByText("All caught up").waitFor();
  // The event has no context, so the page reads the question.
  await ask(agent.send, RICH);
  const frame = card(page, RICH.prompt).getByRole("figure", { name: "From the agent" });
  await frame.getByText("new line").waitFor();
  const text = await frame.textContent();
  expect(text).toContain(`From ${agent.key.label}`);
  // Raw HTML is text, and the frame has no button but its own.
  expect(text).toContain("<button>Approve</button>");
  await frame.getByRole("button", { name: "Show as written" }).waitFor();
  expect(await frame.getByRole("button").count()).toBe(1);
  const link = frame.getByRole("link", { name: /user\.example/ });
  expect(await link.getAttribute("href")).toBe(RICH.url);
  expect(await link.getAttribute("rel")).toBe("noopener noreferrer");
  expect(await link.getAttribute("target")).toBe("_blank");
  expect(await card(page, RICH.prompt).textContent()).toMatch(
    /If you don't answer: No \([1-4]:\d\d left\)/,
  );
  expect(await violations(page, "main")).toEqual([]);
});

webTest("other words count as an answer, and any answer can have a note", async () => {
  const { person, agent } = await createPair(app.url);
  const page = await openPage(app.url, { as: person });
  const asked = agent.send("POST /v1/questions?wait=50", RICH);
  const rich = card(page, RICH.prompt);
  await press(rich.getByRole("button", { name: "Add a note" }));
  await rich.getByRole("textbox", { name: "Note" }).fill(" See the log\n");
  await rich.getByRole("button", { name: "Other…" }).click();
  const own = rich.getByRole("textbox", { name: "Your answer" });
  await own.fill("Only half of it");
  expect(await violations(page, "main")).toEqual([]);
  await press(rich.getByRole("button", { name: "Send" }));
  const { body } = await asked;
  expect([body.answer, body.note]).toEqual(["Only half of it", "See the log"]);
  await inHistory(page, RICH.prompt).getByText("See the log").waitFor();

  const plain = agent.send("POST /v1/questions?wait=50", { prompt: "Go on?" });
  const other = card(page, "Go on?");
  await other.waitFor();
  expect(await other.getByRole("button", { name: "Other…" }).count()).toBe(0);
  expect(await other.textContent()).not.toContain("If you don't answer");
  // The first note's draft is not used for the second, and keys type in the field.
  await press(other.getByRole("button", { name: "Add a note" }));
  await other.getByRole("textbox", { name: "Note" }).pressSequentially("yn");
  await press(other.getByRole("button", { name: "No", exact: true }));
  const { answer, note } = (await plain).body;
  expect([answer, note]).toEqual(["No", "yn"]);
});

webTest("an answer given offline keeps its note and is sent with it", async () => {
  expectComplaints(/Failed to load resource|ERR_/);
  const { person, agent } = await createPair(app.url);
  const { id } = await ask(agent.send, { prompt: "Deploy?" });
  const page = await openPage(app.url, { as: person });
  await press(card(page, "Deploy?").getByRole("button", { name: "Add a note" }));
  await card(page, "Deploy?").getByRole("textbox", { name: "Note" }).fill("After six");
  await page.context().setOffline(true);
  await page.getByText("Offline.").waitFor();
  await press(card(page, "Deploy?").getByRole("button", { name: "Yes" }));
  await page.getByText("Waiting to be sent").waitFor();
  expect(await card(page, "Deploy?").textContent()).toContain("After six");
  await page.context().setOffline(false);
  await inHistory(page, "Deploy?").getByText("After six").waitFor();
  const { answer, note } = (await agent.send(`GET /v1/questions/${id}`)).body;
  expect([answer, note]).toEqual(["Yes", "After six"]);
});

webTest("an answer that comes too late is sent as a message with one tap", async () => {
  expectComplaints(/Failed to load resource|ERR_|409/);
  const { person, agent } = await createPair(app.url);
  // Only its beginning goes into a message.
  const prompt = `Restart? ${"It has been up for long. ".repeat(5)}`;
  const begins = `${prompt.slice(0, 120)}…`;
  const { id } = await ask(agent.send, { prompt, fallback: "No", expires_in: 200 });
  const page = await openPage(app.url, { as: person });
  await card(page, "Restart?").waitFor();
  await press(card(page, "Restart?").getByRole("button", { name: "Add a note" }));
  await card(page, "Restart?").getByRole("textbox", { name: "Note" }).fill("Carefully");
  // It expires while the answer is on its way.
  await page.route("**/trpc/questions.answer*", async (route) => {
    await clock.skip(200);
    await route.continue();
  });
  await press(card(page, "Restart?").getByRole("button", { name: "Yes" }));
  await press(page.getByRole("button", { name: "Send as a message" }));
  await page.getByText("Message sent").first().waitFor();
  const texts = async () =>
    (await agent.send("GET /v1/inbox?peek=true")).body.items.map(({ text }: any) => text);
  expect(await texts()).toEqual([`My answer to “${begins}”, which had expired: Yes\nCarefully`]);
  expect(await page.getByRole("button", { name: "Send as a message" }).count()).toBe(0);

  // A link to the question says so, and another browser sends no second answer.
  await page.goto(`${app.url}/#/questions/${id}`);
  await page.getByText("You sent “Yes” as a message.").waitFor();
  expect(await page.getByRole("button", { name: "No", exact: true }).count()).toBe(0);
  const other = await openPage(app.url, { as: person, at: `#/questions/${id}` });
  await press(other.getByRole("button", { name: "No", exact: true }));
  await other.getByText("Not sent: you've already sent an answer to this question").waitFor();
  await other.getByText("You sent an answer as a message.").waitFor();
  expect(await texts()).toHaveLength(1);
  expect(await other.locator("article").textContent()).toContain("Without an answer: No");
  expect(await violations(other, "main")).toEqual([]);
  // Where nothing was sent, an option is sent from there.
  const later = await ask(agent.send, { prompt: "Again?", expires_in: 60 });
  await clock.skip(60);
  await agent.send("GET /v1/questions");
  await go(other, `questions/${later.id}`);
  await press(other.getByRole("button", { name: "Yes", exact: true }));
  await other.getByText("You sent “Yes” as a message.").waitFor();
  expect((await texts())[1]).toBe("My answer to “Again?”, which had expired: Yes");
  await other.reload();
  await other.getByText("You sent “Yes” as a message.").waitFor();
  await other.getByRole("button", { name: "Write to the agent" }).click();
  await other.getByRole("textbox", { name: "Message" }).waitFor();
});
