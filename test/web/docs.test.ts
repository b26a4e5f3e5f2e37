/** `/docs` in a browser: every route, accessible in light and dark, with nothing from elsewhere. */

import { expect } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { createPerson } from "../support/client.ts";
import { ROUTES } from "../support/routes.ts";
import { browserTests, DESK, openPage, PHONE } from "./browser.ts";
import { expectNoOverflow, untilSettled, violations } from "./page-checks.ts";

const webTest = browserTests();
const app = await startTestApp();

/** Routes that are opened: one with a body, and one with parameters. */
const OPENED = ["POST /v1/accounts", "GET /v1/tasks"];

/** What axe examines: the blocks of one tag are like those of the others. */
const LOOKED_AT =
  "header, .information-container, .scheme-container, .opblock-tag, .opblock-tag-section:first-child, .opblock.is-open";

webTest(
  "the page links to /docs, which shows every route and tries one, with requests only to this server",
  async () => {
    // Under another name than the document's: a tried request goes to where the page came from.
    const origin = app.url.replace("127.0.0.1", "localhost");
    const person = await createPerson(app.url);
    const relay = await openPage(origin, { as: person, at: "#/agents", size: PHONE });
    const requests: string[] = [];
    relay.context().on("request", (request) => requests.push(request.url()));
    const opening = relay.waitForEvent("popup");
    await relay.getByRole("link", { name: "the HTTP interface" }).click();
    const page = await opening;
    await page.getByRole("heading", { name: "Relay's HTTP interface" }).waitFor();
    await page.locator(".opblock").first().waitFor();
    // And the event stream, the health check and the document, which are not procedures.
    expect(await page.locator(".opblock").count()).toBe(ROUTES.length + 3);
    const lines = (await page.locator("header pre").allInnerTexts()).join("\n");
    expect(lines).toContain(`curl -s -X POST ${origin}/v1/accounts`);
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
    expect(requests.filter((url) => !/^data:/.test(url) && !url.startsWith(origin))).toEqual([]);
    expect(requests).toContain(`${origin}/v1/accounts`);
    await untilSettled(page);
    expect(await page.locator(".opblock.is-open").count()).toBe(OPENED.length);
    expect(await violations(page, LOOKED_AT)).toEqual([]);
    await page.getByRole("button", { name: "Authorize" }).first().click();
    await page.getByText("Available authorizations").waitFor();
    expect(await violations(page, "#docs .dialog-ux")).toEqual([]);
    await page.locator(".dialog-ux").getByRole("button", { name: "Close" }).first().click();
    await page.getByRole("link", { name: "the web page" }).first().click();
    await page.waitForURL(({ pathname }) => pathname === "/");
  },
  300_000,
);
