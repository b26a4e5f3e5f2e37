/** Connecting an agent: instructions for each client, and how the page shows the first request. */

import { expect } from "bun:test";
import type { Page } from "playwright-core";
import {
  FIRST_QUESTION,
  KEY_PLACEHOLDER,
  SET_UPS,
  type Step,
} from "../../src/web/person/agents/set-up.ts";
import { startTestApp } from "../support/app.ts";
import { ask, createAgent, createPair, createPerson } from "../support/client.ts";
import { initializeOn } from "../support/mcp.ts";
import { connectClient } from "../support/oauth.ts";
import { browserTests, go, openPage, openProfile, PHONE, press } from "./browser.ts";
import { expectNoOverflow, untilSettled, violations } from "./page-checks.ts";

const webTest = browserTests();
const app = await startTestApp();

/** The texts of the displayed instructions. */
const codes = (page: Page) => page.locator("ol pre").allInnerTexts();

const choose = (page: Page, name: string) => page.getByLabel("Client").selectOption(name);

webTest("each client has its own setup lines, with the key while it is known", async () => {
  const person = await createPerson(app.url);
  const context = await openProfile(app.url, { as: person });
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const page = await context.newPage();
  await page.goto(`${app.url}/#/agents/new`);
  await page.getByLabel("Name").fill("Laptop");
  await page.getByLabel("Name").press("Enter");
  await page.getByRole("heading", { name: "Copy the key now" }).waitFor();
  const secret = (await page.locator("code").first().textContent())!;
  const expected = (key: string, name: string) =>
    SET_UPS.find((one) => one.client === name)!
      .withKey(app.url, key)
      .flatMap(({ code }) => code ?? []);
  for (const { client: name } of SET_UPS) {
    await choose(page, name);
    expect(await codes(page)).toEqual(expected(secret, name));
  }
  await choose(page, "Codex");
  await page.getByRole("button", { name: "Copy step 1" }).click();
  await page.getByText("Copied").waitFor();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  expect([copied]).toEqual(expected(secret, "Codex"));
  await page.getByRole("link", { name: "Done" }).click();
  // They can be shown again, with a placeholder. The client is the one chosen last.
  await page.getByRole("link", { name: "Setup" }).click();
  await page.getByLabel("Sign-in").selectOption("The agent's key");
  await page.getByText("Put the key you saved in place of").waitFor();
  expect(await codes(page)).toEqual(expected(KEY_PLACEHOLDER, "Codex"));
  await choose(page, "Other / curl");
  const docs = page.getByRole("link", { name: "the HTTP interface" });
  expect(await docs.getAttribute("href")).toBe(`${app.url}/docs`);
});

webTest("the page says when the agent connects, and leads to its first question", async () => {
  const { person, agent } = await createPair(app.url);
  const at = `#/agents/${agent.key.id}/setup`;
  const page = await openPage(app.url, { as: person, at, size: PHONE });
  const status = page.getByRole("main").getByRole("status");
  await status.getByText("Waiting for its first request…").waitFor();
  await initializeOn(app.url, agent.secret, "studio.local");
  await status.getByText("Connected: Claude Code 2.1.197 on studio.local").waitFor();
  await page.getByText(FIRST_QUESTION).waitFor();
  await page.getByRole("button", { name: "Copy first message" }).waitFor();
  expect(await violations(page)).toEqual([]);
  await page.setViewportSize({ width: 320, height: 640 });
  await expectNoOverflow(page);
  await ask(agent.send, { prompt: "Can you see this question?" });
  await page.getByText("It's asking you a question.").waitFor();
  await page.getByRole("link", { name: "Answer" }).click();
  await press(page.getByRole("button", { name: "Yes" }));
  await page
    .getByRole("link", { name: /Can you see this question/ })
    .getByText("Answered")
    .waitFor();
});

webTest("where OAuth is offered, setup lines without a key come first", async () => {
  const person = await createPerson(app.url);
  const older = await createAgent(app.url, person, "Older");
  const page = await openPage(app.url, { as: person, at: "#/agents/new", size: PHONE });
  for (const { client: name, withoutKey } of SET_UPS) {
    await choose(page, name);
    const expected = withoutKey(app.url).flatMap(({ code }) => code ?? []);
    expect(await codes(page)).toEqual(expected);
    expect(expected.join()).not.toContain("Bearer");
  }
  await page.getByText("Waiting for your approval…").waitFor();
  await untilSettled(page);
  expect(await violations(page)).toEqual([]);
  await expectNoOverflow(page);
  // Another agent's requests don't count.
  await initializeOn(app.url, older.secret, "ci-7");
  const { tokens } = await connectClient(app.url, person);
  await page.getByText("Waiting for its first request…").waitFor();
  await initializeOn(app.url, tokens.access_token, "studio.local");
  await page.getByText("Connected: Claude Code 2.1.197 on studio.local").waitFor();
  await page.getByRole("link", { name: "Done" }).click();
  await page.getByRole("heading", { name: "Test client" }).waitFor();
  // Later both ways are offered.
  await page.getByRole("link", { name: "Setup" }).click();
  expect((await codes(page)).join()).not.toContain(KEY_PLACEHOLDER);
  await page.getByLabel("Sign-in").selectOption("The agent's key");
  await choose(page, "Claude Code");
  expect((await codes(page)).join()).toContain(KEY_PLACEHOLDER);
  // A key can be created instead.
  await page.goto(`${app.url}/#/agents/new`);
  await page.getByLabel("Name").fill("Script");
  await page.getByRole("button", { name: "Create agent" }).click();
  await page.getByRole("heading", { name: "Copy the key now" }).waitFor();
});

/** The clients that can send their permission prompts to the person. */
const ASKING = SET_UPS.filter(({ relay_name }) => relay_name !== undefined);
const ASK_BEFORE = "Also ask me before it runs something";

webTest("Claude Code and Codex can be set up to ask before they run something", async () => {
  const { person, agent } = await createPair(app.url);
  expect(ASKING.map(({ client: name }) => name)).toEqual(["Claude Code", "Codex"]);
  const page = await openPage(app.url, {
    as: person,
    at: "#/agents/new",
    size: PHONE,
    touch: true,
  });
  await choose(page, "Cursor");
  expect(await page.getByRole("switch").count()).toBe(0);
  const codesOf = (steps: readonly Step[]) => steps.flatMap(({ code }) => code ?? []);
  for (const { client: name, relay_name, withoutKey } of ASKING) {
    await choose(page, name);
    const ask_before = page.getByRole("switch", { name: ASK_BEFORE });
    await page.getByText(`When ${name} would ask you at its terminal`).waitFor();
    expect(await codes(page)).toEqual(codesOf(withoutKey(app.url)));
    await ask_before.press("Space");
    const [block, ...more] = await codes(page);
    expect([block, ...more]).toEqual(codesOf(withoutKey(app.url, true)));
    // One block is pasted, and it leads to the address that has the tool for hooks.
    expect(more).toEqual([]);
    expect(block).toContain(`'${app.url}/mcp?tools=approve'`);
    expect(block).toContain("approve_action");
    // The shell reads all of it before it runs a program that reads the terminal.
    expect(block).toMatch(/^\(\n.*\n\)$/s);
    const command = `npx -y bun@1.4.5 relay connect ${relay_name} --approve --url ${app.url}`;
    await page.getByText(command).waitFor();
    await ask_before.press("Space");
  }
  await page.getByRole("switch", { name: ASK_BEFORE }).tap();
  await untilSettled(page);
  expect(await violations(page)).toEqual([]);
  await page.setViewportSize({ width: 320, height: 640 });
  await expectNoOverflow(page);
  // With a key too; what was chosen last is kept.
  await go(page, `agents/${agent.key.id}/setup`);
  await page.getByLabel("Sign-in").selectOption("The agent's key");
  const codex = ASKING.find(({ client: name }) => name === "Codex")!;
  expect(await codes(page)).toEqual(codesOf(codex.withKey(app.url, KEY_PLACEHOLDER, true)));
});

webTest(
  "a server that runs from the executable offers it to agents on other machines",
  async () => {
    const { local_url } = await startTestApp({
      env: { PUBLIC_URL: "https://relay.example" },
      program: { path: "/nowhere/relay", platform: "linux-x64" },
    });
    const { person, agent } = await createPair(local_url);
    const at = `#/agents/${agent.key.id}/setup`;
    const page = await openPage(local_url, { as: person, at });
    await choose(page, "Claude Code");
    await page.getByRole("switch", { name: ASK_BEFORE }).check();
    await page.getByText("Or get relay from this server, for Linux on x64.").waitFor();
    const lines = page.getByText("curl -fO https://relay.example/downloads/relay-linux-x64");
    expect(await lines.textContent()).toBe(
      [
        "curl -fO https://relay.example/downloads/relay-linux-x64",
        "curl -f https://relay.example/downloads/relay-linux-x64.sha256 | sha256sum -c",
        "chmod +x relay-linux-x64",
        "./relay-linux-x64 connect claude --approve --url https://relay.example",
      ].join("\n"),
    );
  },
);
