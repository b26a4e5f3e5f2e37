/** A program's request for access, approved in this page or from another device (§18). */

import { expect } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { client, createAgent, createPerson } from "../support/client.ts";
import { connectClient, postForm, sealedOf } from "../support/oauth.ts";
import { answers, press, startProgram, TITLE } from "./authorize-scene.ts";
import { browserTests, expectComplaints, go, LAN_NAME, openPage, PHONE } from "./browser.ts";
import { expectNoOverflow, violations } from "./page-checks.ts";

const webTest = browserTests();
const app = await startTestApp();
const { url } = app;

webTest("a program gets access to a new agent with one tap, and none before it", async () => {
  const person = await createPerson(url);
  const agents = async () => (await person.send("GET /v1/keys")).body.keys;
  const asking = await startProgram(url);
  // Taps at the very moment at which the buttons appear.
  const page = await openPage(url, { as: person, size: PHONE, at: "#/account" });
  await page.addInitScript(() => {
    new MutationObserver(() => {
      for (const button of document.querySelectorAll("[data-careful]")) {
        if (button.hasAttribute("data-tapped")) continue;
        button.setAttribute("data-tapped", "");
        button.dispatchEvent(new MouseEvent("click", { bubbles: true, detail: 1 }));
      }
    }).observe(document, { childList: true, subtree: true });
  });
  await page.goto(`${url}/${asking.at}`);
  await page.getByRole("heading", { name: TITLE }).waitFor();
  await page.locator("[data-tapped]").first().waitFor();
  await page.getByText("Not verified").waitFor();
  await page.getByText("A program on this computer").waitFor();
  expect(await violations(page)).toEqual([]);
  await expectNoOverflow(page);
  // Enter in a field decides nothing.
  await page.getByLabel("Name of the new agent").fill("My program");
  await page.keyboard.press("Enter");
  expect([await agents(), answers]).toEqual([[], []]);
  await press(page, "Approve");
  const { code, iss } = await asking.answer();
  await page.getByText("Signed in").waitFor();
  expect(iss).toBe(url);
  const { body: tokens } = await asking.redeem(code!);
  expect((await client(url, tokens.access_token)("GET /v1/tasks")).status).toBe(200);
  expect(await agents()).toMatchObject([{ label: "My program" }]);
  // The request is not in the browser's history.
  await page.goBack();
  expect(page.url()).not.toContain("authorize");
});

webTest(
  "a coding agent's request says how it also asks before it runs something, and is approved as any other",
  async () => {
    const person = await createPerson(url);
    const asking = await startProgram(url, "Claude Code (relay)");
    const page = await openPage(url, { as: person, size: PHONE, at: "#/account" });
    await page.goto(`${url}/${asking.at}`);
    const more = page.getByRole("button", { name: "Also ask me before it runs something" });
    await more.press("Enter");
    await page.getByText("When Claude Code would ask you at its terminal").waitFor();
    await page.getByText("deny this request, and run the following").waitFor();
    const [block = ""] = await page.locator("ol pre").allInnerTexts();
    expect(block).toContain(`'${url}/mcp?tools=approve'`);
    expect(await violations(page)).toEqual([]);
    await expectNoOverflow(page);
    await more.press("Enter");
    expect(await page.locator("ol pre").count()).toBe(0);
    expect(await page.getByLabel("Name of the new agent").inputValue()).toBe("Claude Code");
    await press(page, "Approve");
    expect((await asking.answer()).code).toBeString();
    await page.getByText("Signed in").waitFor();
    // A phone in the network has another address than the client.
    expectComplaints(/Cross-Origin-Opener-Policy header has been ignored/);
    const { at } = await startProgram(url, "Claude Code (relay)");
    const sealed = sealedOf(await fetch(`${url}/${at}`, { redirect: "manual" }));
    const lan = url.replace("127.0.0.1", LAN_NAME);
    const phone = await openPage(lan, { as: person, at: "#/account" });
    await go(phone, `authorize/${sealed}`);
    await phone.getByRole("button", { name: "Approve" }).waitFor();
    expect(await phone.getByRole("button", { name: /^Also ask me/ }).count()).toBe(0);
    // Other programs have no permission prompts.
    await page.goto(`${url}/${(await startProgram(url)).at}`);
    await page.getByRole("button", { name: "Approve" }).waitFor();
    expect(await more.count()).toBe(0);
  },
);

webTest(
  "a browser without a sign-in waits for another device to approve, then returns to the program",
  async () => {
    const person = await createPerson(url);
    const asking = await startProgram(url);
    const waiting = await openPage(url, { at: asking.at });
    await waiting.getByRole("heading", { name: TITLE }).waitFor();
    const code = (await waiting.locator("p.font-mono").textContent())!;
    expect(code).toMatch(/^\w{4}-\w{4}$/);
    expect(await violations(waiting)).toEqual([]);
    await expectNoOverflow(waiting);
    const phone = await openPage(url, { as: person, size: PHONE, at: "#/agents" });
    await phone.getByRole("link", { name: "enter the code" }).click();
    await phone.getByLabel("Code").fill(code.toLowerCase());
    expect(await violations(phone)).toEqual([]);
    await phone.getByRole("button", { name: "Continue" }).click();
    await phone.getByRole("heading", { name: TITLE }).waitFor();
    await phone.getByText("Check that the other screen shows it too").waitFor();
    await phone.getByText("127.0.0.1").waitFor();
    expect(await phone.getByText(code).count()).toBe(1);
    expect(await violations(phone)).toEqual([]);
    await expectNoOverflow(phone);
    await press(phone, "Approve");
    await phone.getByText("The other device continues by itself.").waitFor();
    await waiting.getByText("Signed in").waitFor();
    const { body: tokens } = await asking.redeem((await asking.answer()).code!);
    expect((await client(url, tokens.access_token)("GET /v1/tasks")).status).toBe(200);
    // The code is used up.
    expectComplaints(/404/);
    await go(phone, `approve/${code}`);
    await phone.getByRole("alert").getByText("Start again in the program.").waitFor();
  },
);

webTest("the agent's view lists OAuth access as it comes and goes, and revokes it", async () => {
  const person = await createPerson(url);
  const agent = await createAgent(url, person, "Shared agent");
  const key_id = agent.key.id;
  const page = await openPage(url, { as: person, size: PHONE, at: `#/agents/${key_id}/key` });
  await page.getByText("None", { exact: true }).first().waitFor();
  const one = await connectClient(url, person, { key_id });
  const revoke = page.getByRole("button", { name: "Revoke the access of Test client" });
  await revoke.waitFor();
  expect(await violations(page)).toEqual([]);
  await expectNoOverflow(page);
  await revoke.click();
  await page.getByRole("button", { name: "Revoke access" }).click();
  await page.getByText("Access revoked").waitFor();
  await revoke.waitFor({ state: "detached" });
  expect((await one.send("GET /v1/tasks")).status).toBe(401);
  const two = await connectClient(url, person, { key_id });
  await revoke.waitFor();
  await postForm(`${url}/oauth/revoke`, { token: two.tokens.refresh_token });
  await revoke.waitFor({ state: "detached" });
});

webTest("a key can be replaced, and the new one is shown until it is saved", async () => {
  const person = await createPerson(url);
  const agent = await createAgent(url, person);
  const page = await openPage(url, { as: person, at: `#/agents/${agent.key.id}/key` });
  // Where the key is, not below the programs that have none.
  const section = page.locator("section", {
    has: page.getByRole("heading", { name: "Key", exact: true }),
  });
  await section.getByRole("button", { name: "Replace the key" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Replace the key" }).click();
  await page.getByRole("heading", { name: "Copy the key now" }).waitFor();
  const secret = (await page.locator("code", { hasText: /^mck_/ }).first().textContent())!;
  expect((await client(url, secret)("GET /v1/tasks")).status).toBe(200);
  expect((await agent.send("GET /v1/tasks")).status).toBe(401);
});
