/** README's tour, step by step: from a key on the page to an agent in an MCP client. */

import { expect } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { createPerson } from "../support/client.ts";
import { codeIn, readText, runShell, sectionOf } from "../support/documents.ts";
import { browserTests, openPage, press, untilLive } from "./browser.ts";

const webTest = browserTests();
const app = await startTestApp();
const readme = await readText("README.md");

webTest(
  "README's tour leads from a new account to answered questions on the open page",
  async () => {
    const story = sectionOf(readme, "A tour with curl");
    const words = [...story.matchAll(/\*\*(.+?)\*\*/g)].map(([, word]) => word!);
    const [agents, add, , questions] = words as [string, ...string[]];
    const [yes, staging] = ["Yes", "Staging"];

    const person = await createPerson(app.url);
    const page = await openPage(app.url, { as: person });
    await untilLive(page);
    await page.getByRole("link", { name: agents }).click();
    await page.getByRole("link", { name: add! }).click();
    await page.getByLabel("Name").fill("Builder");
    await page.getByLabel("Name").press("Enter");
    const key = (await page.locator("code").first().textContent())!;
    expect(key).toMatch(/^mck_[\w-]{43}$/);

    const [ask = "", , tour = ""] = codeIn(story, "sh");
    const withKey = ask.replace(/mck_\S+/, key);
    using first = runShell(withKey, app.url);
    await page.getByRole("link", { name: questions! }).click();
    await page.getByText("Deploy now?").waitFor();
    await press(page.getByRole("button", { name: yes }));
    expect(await first.ended).toBe(0);
    expect(JSON.parse(first.output())).toMatchObject({ status: "answered", answer: "Yes" });

    using day = runShell(`${withKey.split("\n")[0]}\n${tour}`, app.url);
    await page.getByRole("link", { name: "Tasks" }).click();
    await page.getByText("Running the tests").waitFor();
    await page.getByRole("link", { name: questions! }).click();
    await press(page.getByRole("button", { name: staging }));
    expect(await day.ended).toBe(0);
    expect(day.output()).toContain('"status":"done"');

    // What an MCP client does with the same key.
    const prompt = "May I delete the old branch?";
    const call = { name: "ask_question", arguments: { prompt, wait_seconds: 50 } };
    const answer = fetch(`${app.url}/mcp`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: call }),
    });
    await page.getByRole("link", { name: questions! }).click();
    await page.getByText(prompt).waitFor();
    await press(page.getByRole("button", { name: yes }));
    const { result } = (await (await answer).json()) as { result: { structuredContent: object } };
    expect(result.structuredContent).toMatchObject({ prompt, answer: "Yes" });
  },
);
