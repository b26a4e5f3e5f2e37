/** Parts of a question that do not load, do not fit, or come too late. */

import { expect } from "bun:test";
import { startTestApp } from "../../support/app.ts";
import { ask, createPair } from "../../support/client.ts";
import { createTestClock } from "../../support/clock.ts";
import { until } from "../../support/until.ts";
import { browserTests, card, expectComplaints, openPage, PHONE, press } from "../../web/browser.ts";

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

webTest("a context that does not load says so, and loads on demand", async () => {
  expectComplaints(/Failed to load resource|ERR_/);
  const { person, agent } = await createPair(app.url);
  const page = await openPage(app.url, { as: person });
  await page.getByText("All caught up").waitFor();
  await page.route("**/trpc/questions.get*", (route) => route.abort());
  await ask(agent.send, RICH);
  await page.getByText("The context didn't load.").waitFor();
  await page.unroute("**/trpc/questions.get*");
  await press(page.getByRole("button", { name: "Try again" }));
  await page.getByText("new line").waitFor();
});

webTest("a note that is too long is not cut, and its answer is not sent", async () => {
  const { person, agent } = await createPair(app.url);
  const { id } = await ask(agent.send, { prompt: "Long?" });
  const page = await openPage(app.url, { as: person });
  const long = card(page, "Long?");
  await press(long.getByRole("button", { name: "Add a note" }));
  const note = long.getByRole("textbox", { name: "Note" });
  const limit = "😀".repeat(1_000);
  await note.fill(`${limit}!`);
  await long.getByText("This must have at most 1,000 characters.").waitFor();
  await press(long.getByRole("button", { name: "Yes" }));
  await long.getByText("Nothing was sent: a note can have at most 1,000 characters.").waitFor();
  expect((await agent.send(`GET /v1/questions/${id}`)).body.status).toBe("pending");
  await note.fill(limit);
  await press(long.getByRole("button", { name: "Yes" }));
  await until(async () => (await agent.send(`GET /v1/questions/${id}`)).body.note === limit);
});

webTest("a link's whole host is shown, and a long fallback's time and end", async () => {
  const { person, agent } = await createPair(app.url);
  const host = `www.bank.example.${"login.".repeat(20)}evil.example`;
  const fallback = `Keep it.${"\nNothing is deleted.".repeat(9)}\nThen delete the backups`;
  const prompt = "Where to?";
  await ask(agent.send, { prompt, kind: "text", url: `https://${host}/x`, fallback });
  const page = await openPage(app.url, { as: person, size: PHONE });
  const link = card(page, prompt).getByRole("link", { name: host });
  const shown = link.getByText(host);
  const size = (one: Element) => [one.scrollWidth, one.getBoundingClientRect().width];
  const [wanted, given] = await shown.evaluate(size);
  expect(given!).toBeGreaterThan(0);
  expect(wanted!).toBeLessThanOrEqual(given! + 1);
  const { right } = await shown.evaluate((one) => one.getBoundingClientRect().toJSON());
  expect(right).toBeLessThanOrEqual(PHONE.width);
  await card(page, prompt)
    .getByText(/^If you don't answer \(\d+:\d\d left\):$/)
    .waitFor();
  await card(page, prompt).getByRole("button", { name: "Show all" }).click();
  const end = await card(page, prompt).getByText("Then delete the backups").boundingBox();
  const { y: below } = (await card(page, prompt).getByRole("textbox").boundingBox())!;
  expect(end!.y + end!.height).toBeLessThanOrEqual(below);
});

webTest("text being written when a question expires can be sent as a message", async () => {
  const { person, agent } = await createPair(app.url);
  await ask(agent.send, { prompt: "Name?", kind: "text", expires_in: 100 });
  await ask(agent.send, { prompt: "Yes?", expires_in: 100 });
  const page = await openPage(app.url, { as: person });
  await card(page, "Name?").getByRole("textbox").fill("Half a name");
  await press(card(page, "Yes?").getByRole("button", { name: "Add a note" }));
  await card(page, "Yes?").getByRole("textbox", { name: "Note" }).fill("Not now");
  await page.evaluate(() => {
    location.hash = "#/tasks";
  });
  await page.getByRole("heading", { name: "Tasks", exact: true }).waitFor();
  await clock.skip(100);
  await agent.send("GET /v1/questions");
  await page.evaluate(() => {
    location.hash = "#/questions";
  });
  const late = page.getByRole("button", { name: "Send as a message" });
  await until(async () => (await late.count()) === 2);
  expect(await page.getByText("Your draft wasn't sent: the question had expired.").count()).toBe(2);
  await press(late.first());
  await until(async () => (await late.count()) === 1);
  await press(late);
  await until(async () => (await late.count()) === 0);
  const { items } = (await agent.send("GET /v1/inbox?peek=true")).body;
  expect(items.map(({ text }: any) => text).sort()).toEqual([
    "My answer to “Name?”, which had expired: Half a name",
    "My answer to “Yes?”, which had expired: Not now",
  ]);
});
