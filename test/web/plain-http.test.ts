/** The page over plain http from another device: it never needs a secure context. */

import { expect } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { client } from "../support/client.ts";
import {
  browserTests,
  expectComplaints,
  go,
  LAN_NAME,
  openPage,
  PHONE,
  press,
  untilLive,
} from "./browser.ts";

const webTest = browserTests({ worker: true });
const app = await startTestApp({ env: { ACCOUNT_CREATION: "first" } });
const url = `http://${LAN_NAME}:${new URL(app.url).port}`;

webTest(
  "a phone over plain http creates the account, copies, adds an agent, answers and signs out",
  async () => {
    // Chromium says that it ignores this header at an address that it does not trust.
    expectComplaints(/Cross-Origin-Opener-Policy header has been ignored/);
    const page = await openPage(url, { size: PHONE, at: `#/start/${await app.startCode()}` });
    const missing = await page.evaluate(() => ({
      secure: isSecureContext,
      has: [crypto.subtle, crypto.randomUUID, navigator.clipboard, navigator.locks]
        .concat([navigator.serviceWorker, globalThis.caches] as never[])
        .some((part) => part !== undefined),
    }));
    expect(missing).toEqual({ secure: false, has: false });

    await page.getByRole("button", { name: "Create account" }).click();
    await page.getByRole("heading", { name: "Your account is ready" }).waitFor();
    const token = (await page.evaluate(() => localStorage.getItem("relay.token")))!;
    const code = (await page.locator("code").textContent())!;
    await page.getByRole("button", { name: "Copy" }).click();
    await page.getByText("Copied").waitFor();
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByRole("button", { name: "Not now" }).click();
    await untilLive(page);
    await page.getByRole("link", { name: "Agents" }).click();
    await page.getByRole("link", { name: "New agent" }).click();
    await page.getByLabel("Name").press("Control+V");
    expect(await page.getByLabel("Name").inputValue()).toBe(code);
    await page.getByLabel("Name").fill("Builder");
    await page.getByLabel("Name").press("Enter");
    const secret = (await page.locator("code").first().textContent())!;
    await page.getByText(`${url}/mcp`).first().waitFor();

    const agent = client(app.url, secret);
    const asked = agent("POST /v1/questions?wait=50", { prompt: "Deploy now?" });
    await page.getByRole("link", { name: "Questions" }).click();
    await page.getByText("Deploy now?").waitFor();
    await press(page.getByRole("button", { name: "Yes" }));
    expect((await asked).body).toMatchObject({ status: "answered", answer: "Yes" });
    await page.getByRole("link", { name: "Tasks" }).click();
    await page.getByRole("link", { name: "New task" }).click();
    await page.getByLabel("Title").fill("Write it down");
    await page.getByLabel("Title").press("Enter");
    await page.locator("li", { hasText: "Write it down" }).waitFor();

    await go(page, "account");
    await page.getByRole("button", { name: "Replace token" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Replace" }).click();
    await page.waitForFunction((old) => localStorage.getItem("relay.token") !== old, token);
    expect((await client(app.url, token)("GET /v1/account")).status).toBe(401);
    await page.reload();
    await untilLive(page);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Sign out" }).click();
    await page.getByText("You're signed out.").waitFor();
  },
);
