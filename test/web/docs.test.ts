/** `/docs` in a browser: accessible in light and dark, with lines that name this server. */

import { expect } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { createPerson } from "../support/client.ts";
import { browserTests, DESK, openPage, PHONE } from "./browser.ts";
import { expectNoOverflow, untilSettled, violations } from "./page-checks.ts";

const webTest = browserTests();
const app = await startTestApp();

/** Routes that are opened: with and without a body and parameters. */
const OPENED = ["POST /v1/accounts", "GET /v1/tasks", "DELETE /v1/tasks/{task_id}"];

webTest(
  "axe finds no violations in /docs, and its lines name this server",
  async () => {
    const page = await openPage(app.url, { size: PHONE, at: "docs" });
    await page.locator(".opblock").first().waitFor();
    const lines = (await page.locator("header pre").allInnerTexts()).join("\n");
    expect(lines).toContain(`curl -s -X POST ${app.url}/v1/accounts`);
    expect(lines).not.toContain("$RELAY");
    await expectNoOverflow(page);
    await page.setViewportSize(DESK);
    for (const route of OPENED) {
      const [method, path] = route.split(" ");
      const one = page
        .locator(`.opblock-${method!.toLowerCase()}`)
        .filter({ has: page.locator(`[data-path="${path}"]`) });
      await one.locator(".opblock-summary-control").click();
      await one.getByRole("button", { name: "Try it out" }).click();
    }
    await page.getByRole("button", { name: "Execute" }).first().click();
    await page.locator(".live-responses-table .response", { hasText: "mca_" }).waitFor();
    await untilSettled(page);
    expect(await violations(page)).toEqual([]);
    await page.getByRole("button", { name: "Authorize" }).first().click();
    await page.getByText("Available authorizations").waitFor();
    expect(await violations(page, "#docs .dialog-ux")).toEqual([]);
  },
  120_000,
);

webTest("the page links to /docs, in a tab of its own", async () => {
  const person = await createPerson(app.url);
  const page = await openPage(app.url, { as: person, at: "#/agents" });
  const opening = page.waitForEvent("popup");
  await page.getByRole("link", { name: "the HTTP interface" }).click();
  const docs = await opening;
  await docs.getByRole("heading", { name: "Relay's HTTP interface" }).waitFor();
  await docs.getByRole("link", { name: "the web page" }).first().click();
  await docs.waitForURL(`${app.url}/**`);
});
