/** What "Notify this device" says where the browser, its address or its settings stand in the way. */

import { expect } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { createPerson } from "../support/client.ts";
import { browserTests, DESK, expectComplaints, LAN_NAME, openProfile, PHONE } from "./browser.ts";
import { expectNoOverflow, untilSettled, violations } from "./page-checks.ts";

const webTest = browserTests({ notifications: true });
const app = await startTestApp({ env: { VAPID_SUBJECT: "mailto:operator@example.com" } });

const IPHONE =
  "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.0 Mobile/15E148 Safari/604.1";

/** A way to open the page, and what its settings begin with. */
interface Case {
  readonly url?: string;
  readonly as_iphone?: true;
  readonly denied?: true;
  readonly granted?: true;
  readonly says: RegExp;
}

const CASES: Readonly<Record<string, Case>> = {
  insecure: { url: `http://${LAN_NAME}:${new URL(app.url).port}`, says: /over HTTPS only/ },
  "home screen": { as_iphone: true, says: /Add Relay to it in two taps/ },
  blocked: { denied: true, says: /Your browser blocks notifications of this page/ },
  offered: { granted: true, says: /even while Relay is closed/ },
};

for (const [name, one] of Object.entries(CASES)) {
  const { url = app.url, as_iphone, granted, denied, says } = one;
  webTest(`the settings say how notifications get to this device: ${name}`, async () => {
    expectComplaints(/Cross-Origin-Opener-Policy header has been ignored/);
    const person = await createPerson(app.url);
    const context = await openProfile(url, { as: person, size: PHONE });
    if (granted) await context.grantPermissions(["notifications"]);
    if (as_iphone) {
      await context.addInitScript((agent) => {
        Object.defineProperty(navigator, "userAgent", { value: agent });
        delete (globalThis as { PushManager?: unknown }).PushManager;
      }, IPHONE);
    }
    if (denied) {
      await context.addInitScript(() => {
        Object.defineProperty(Notification, "permission", { value: "denied" });
      });
    }
    const page = await context.newPage();
    await page.goto(`${url}/#/account`);
    await page.getByText(says).waitFor();
    for (const size of [PHONE, DESK]) {
      await page.setViewportSize(size);
      await untilSettled(page);
      expect(await violations(page, "main")).toEqual([]);
      await expectNoOverflow(page);
    }
    // The other settings stay where they are.
    await page.getByRole("button", { name: "Add a channel" }).waitFor();
    await page.getByRole("switch", { name: "Live activities" }).waitFor();
  });
}

webTest("where the server has no web push, the page's own notifications are offered", async () => {
  const without = await startTestApp();
  const person = await createPerson(without.url);
  expectComplaints(/404/);
  const context = await openProfile(without.url, { as: person });
  await context.grantPermissions(["notifications"]);
  const page = await context.newPage();
  await page.goto(`${without.url}/#/account`);
  await page.getByRole("switch", { name: "Notifications for new questions" }).waitFor();
  expect(await page.getByRole("button", { name: "Notify this device" }).count()).toBe(0);
});
