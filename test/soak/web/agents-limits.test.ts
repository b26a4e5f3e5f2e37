/** Agents' views after a lost stream, and with long names. */

import { expect } from "bun:test";
import { startTestApp } from "../../support/app.ts";
import { createAgent, createPair, createTask } from "../../support/client.ts";
import { browserTests, go, openPage } from "../../web/browser.ts";

const webTest = browserTests();
const app = await startTestApp();

webTest("unread counts are correct after a reload and after a lost stream", async () => {
  const { person, agent } = await createPair(app.url);
  const body = { key_id: agent.key.id, text: "Hello" };
  await person.send("POST /v1/messages", body);
  const page = await openPage(app.url, { as: person, at: "#/agents" });
  await page.getByText("1 unread by the agent").waitFor();
  await page.context().setOffline(true);
  await page.getByText(/^Offline\./).waitFor();
  await person.send("POST /v1/messages", body);
  await page.context().setOffline(false);
  await page.getByText("2 unread by the agent").waitFor();
});

webTest(
  "long and right-to-left names leave the time and the title readable at 320 px",
  async () => {
    const { person, agent } = await createPair(app.url);
    const hebrew = "עוזר המחקר";
    const far = await createAgent(app.url, person, hebrew);
    const answer = "the longest of all the answers that the person could type";
    const { body } = await agent.send("POST /v1/questions", { prompt: "Which one?", kind: "text" });
    await person.send(`POST /v1/questions/${body.id}/answer`, { answer });
    await far.send("POST /v1/messages", { key_id: agent.key.id, text: "From afar" });
    const long = await createAgent(app.url, person, "A name as long as a narrow phone allows");
    await createTask(long.send, { title: "Find the unicorn", status: "in_progress" });
    const size = { width: 320, height: 640 };
    const page = await openPage(app.url, { as: person, size, touch: true, at: "#/tasks" });
    await page.getByText("Find the unicorn").waitFor();
    const title = await page.getByRole("heading", { name: "Tasks" }).boundingBox();
    expect(title!.height).toBeLessThan(40);

    await go(page, "agents");
    const left = await page
      .getByText(hebrew)
      .first()
      .evaluate((element) => {
        const range = document.createRange();
        range.selectNodeContents(element);
        return range.getBoundingClientRect().left - element.getBoundingClientRect().left;
      });
    expect(left).toBe(0);

    const cutTimes = () =>
      page.locator("a time").evaluateAll((times) =>
        times.flatMap((time) => {
          const { right } = time.getBoundingClientRect();
          const line = time.closest("a")!.getBoundingClientRect();
          const cut = [time, time.parentElement!].some(
            (one) =>
              getComputedStyle(one).overflow === "hidden" &&
              (one.scrollWidth > one.clientWidth || right > one.getBoundingClientRect().right),
          );
          return cut || right > line.right ? [time.parentElement!.textContent] : [];
        }),
      );
    await go(page, `agents/${agent.key.id}`);
    await page.getByText(`Asked, you answered ${answer}`).waitFor();
    expect(await cutTimes()).toEqual([]);
    // A name of the other direction is isolated from the words around it.
    const message = page.getByRole("link", { name: "From afar" });
    await message.locator("bdi", { hasText: hebrew }).waitFor();

    await go(page, "search?q=unicorn");
    const hit = page.getByRole("list", { name: "Results" });
    await hit.getByText("A name as long").waitFor();
    expect(await cutTimes()).toEqual([]);
    const colors = await hit
      .getByText("In progress")
      .evaluate((badge) => getComputedStyle(badge).color);
    const accent = await page
      .getByRole("link", { name: "Search" })
      .evaluate((link) => getComputedStyle(link).color);
    expect(colors).toBe(accent);
  },
);
