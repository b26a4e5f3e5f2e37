/** Text made to break pages is shown as plain text. */

import { expect } from "bun:test";
import { mkdir } from "node:fs/promises";
import { startTestApp } from "../support/app.ts";
import { ask, createAgent, createPerson, createTask } from "../support/client.ts";
import { until } from "../support/until.ts";
import { browserTests, DESK, openPage, PHONE } from "./browser.ts";
import { expectNoOverflow } from "./page-checks.ts";
import { resumeTime, stopTime } from "./page-time.ts";

const webTest = browserTests();
const app = await startTestApp();

/** Folder for screenshots to look at; none when unset. */
const PICTURES = process.env.RELAY_TEST_PICTURES;

const TEXTS: Readonly<Record<string, string>> = {
  html: '<img src=x onerror="window.hit=1"><b>bold</b><script>window.hit=1</script>',
  link: "javascript:window.hit=1 {{hit}} $\u007Bhit} &lt;i&gt; \" ' ` </textarea></title>",
  direction: "\u202Egnirts desrever\u202C \u2067אבג\u2069 العربية abc \u202Dx",
  long: `${"W".repeat(80)}`,
  emoji:
    "👩‍👩‍👧‍👦🏳️‍🌈🇨🇭👍🏿 e\u0301\u0323\u0323\u0323 Z\u0351\u036B\u0343\u036A\u0302\u036B\u033D\u034F\u0334\u0319\u0324 \uFEFF\u200B",
  spaces: "a\t\tb \u00A0\u00A0\u00A0 c\u2003\u2003d",
};

for (const [name, size] of Object.entries({ phone: PHONE, desk: DESK })) {
  webTest(
    `hostile titles, prompts, labels and messages do not break the page or run: ${name}`,
    async () => {
      const person = await createPerson(app.url);
      const agents = [];
      for (const text of Object.values(TEXTS)) {
        agents.push(await createAgent(app.url, person, [...text].slice(0, 80).join("")));
      }
      const [first] = agents;
      const all = Object.values(TEXTS).join("\n");
      for (const [at, text] of Object.values(TEXTS).entries()) {
        const agent = agents[at]!;
        const title = [...text.repeat(3)].slice(0, 200).join("");
        const task = await createTask(agent.send, {
          title,
          description: all.repeat(3),
          status: "in_progress",
          priority: "urgent",
        });
        await agent.send(`PATCH /v1/tasks/${task.id}`, {
          progress: 50,
          status_note: title.replace(/[\n\t]/g, " "),
        });
        await ask(agent.send, { prompt: all, task_id: task.id, expires_in: 600 + at });
        await ask(agent.send, {
          prompt: text.repeat(5),
          kind: "choice",
          options: [text.slice(0, 80), `b ${text.slice(0, 70)}`, "M".repeat(80)],
        });
        const headers = { headers: { "x-agent-host": "h".repeat(253) } };
        await agent.send("GET /v1/tasks", undefined, headers);
        const answered = await ask(agent.send, { prompt: text, kind: "text" });
        await person.send(`POST /v1/questions/${answered.id}/answer`, { answer: all });
        await person.send("POST /v1/messages", { key_id: first!.key.id, text: all });
        await person.send(`PATCH /v1/tasks/${task.id}`, { priority: "high" });
      }
      const { body } = await first!.send("GET /v1/tasks");
      const [task] = body.tasks;

      const page = await openPage(app.url, { as: person, size });
      const views = {
        questions: "#/questions",
        tasks: "#/tasks",
        task: `#/tasks/${task.id}`,
        agents: "#/agents",
        agent: `#/agents/${first!.key.id}`,
        inbox: `#/agents/${first!.key.id}/inbox`,
        activity: `#/agents/${first!.key.id}/activity`,
      };
      for (const [view, address] of Object.entries(views)) {
        await page.goto(`${app.url}/${address}`);
        await page.locator("h1, [role=dialog] h2").filter({ visible: true }).last().waitFor();
        await until(async () => (await page.getByLabel(/^Loading/).count()) === 0);
        await expectNoOverflow(page);
        if (view === "task") {
          // The text is shown as it was written.
          expect(await page.getByRole("dialog").getByRole("heading").first().textContent()).toBe(
            task.title,
          );
          // The time to undo does not run out meanwhile.
          await page.clock.install();
          await stopTime(page);
          await page.getByRole("button", { name: "Delete" }).click();
          const undo = page.getByRole("button", { name: "Undo", exact: true });
          await undo.waitFor();
          await expectNoOverflow(page);
          await undo.click();
          await resumeTime(page);
        }
        if (PICTURES) {
          await mkdir(PICTURES, { recursive: true });
          await page.screenshot({ path: `${PICTURES}/hostile-${view}-${name}.png` });
        }
      }
      await page.goto(`${app.url}/#/questions`);
      await page.getByText(TEXTS.html!).first().waitFor();
      // Nothing in it became an element or ran.
      expect(await page.locator("main b, main i, main img, main script").count()).toBe(0);
      expect(await page.evaluate(() => "hit" in window)).toBe(false);
      // The prompt's text direction is isolated: the agent's name beside it stays in place.
      const wrapped = await page.evaluate(() =>
        [...document.querySelectorAll("article p[dir=auto]")].every(
          (one) => getComputedStyle(one).unicodeBidi === "isolate",
        ),
      );
      expect(wrapped).toBe(true);
    },
    300_000,
  );
}
