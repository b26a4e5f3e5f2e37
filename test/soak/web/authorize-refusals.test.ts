/** Requests for access that are repeated, invalid, or seen by a browser in its trial. */

import { expect } from "bun:test";
import { startTestApp } from "../../support/app.ts";
import { createAgent, createPerson, pair } from "../../support/client.ts";
import { press, startProgram, TITLE } from "../../web/authorize-scene.ts";
import { browserTests, expectComplaints, go, openPage } from "../../web/browser.ts";
import { violations } from "../../web/page-checks.ts";

const webTest = browserTests();
const app = await startTestApp();
const { url } = app;

webTest(
  "a program that requests access again is offered its agent, and may be denied",
  async () => {
    const person = await createPerson(url);
    const agent = await createAgent(url, person, "Test program");
    await createAgent(url, person, "Another");
    const asking = await startProgram(url);
    const page = await openPage(url, { as: person, at: "#/account" });
    await page.goto(`${url}/${asking.at}`);
    await page.getByRole("heading", { name: TITLE }).waitFor();
    expect(await page.getByLabel("Agent", { exact: true }).inputValue()).toBe(agent.key.id);
    await press(page, "Deny");
    expect((await asking.answer()).error).toBe("access_denied");
    await page.getByText("Signed in").waitFor();
  },
);

webTest("a browser that was just added leaves the approval to another device", async () => {
  const person = await createPerson(url);
  const phone = await pair(url, person, "Phone");
  const asking = await startProgram(url);
  const added = await openPage(url, { as: phone });
  await added.goto(`${url}/${asking.at}`);
  await added.getByText("can't approve programs yet").waitFor();
  expect(await added.getByRole("button", { name: "Approve" }).count()).toBe(0);
  expect(await violations(added)).toEqual([]);
  const code = (await added.locator("p.font-mono").textContent())!;
  const approved = await person.send("POST /v1/oauth/approve", { request: code });
  expect(approved.status).toBe(200);
  await added.getByText("Signed in").waitFor();
  expect((await asking.redeem((await asking.answer()).code!)).status).toBe(200);
});

webTest("an invalid authorization request cannot be approved, signed in or not", async () => {
  expectComplaints(/404/);
  const person = await createPerson(url);
  const page = await openPage(url, { as: person, at: "#/account" });
  await go(page, "authorize/not.valid");
  await page.getByRole("heading", { name: "This request can't be approved" }).waitFor();
  expect(await page.getByRole("button", { name: "Approve" }).count()).toBe(0);
  const stranger = await openPage(url, { at: "#/authorize/not.valid" });
  await stranger.getByRole("heading", { name: "This request has expired" }).waitFor();
});

webTest("the authorization page and its errors cannot be framed", async () => {
  for (const path of ["", "oauth/authorize"]) {
    const { headers } = await fetch(`${url}/${path}`);
    expect(headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
  }
  const page = await openPage(url, { at: "oauth/authorize?client_id=x" });
  expectComplaints(/400/);
  await page.getByRole("heading", { name: "This program must register again" }).waitFor();
  expect(await violations(page)).toEqual([]);
});
