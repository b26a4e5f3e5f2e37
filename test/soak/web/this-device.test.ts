/** What "Notify this device" says where the browser, its address or its settings prevent it. */

import { expect } from "bun:test";
import { startTestApp } from "../../support/app.ts";
import { createPerson } from "../../support/client.ts";
import {
  browserTests,
  DESK,
  expectComplaints,
  LAN_NAME,
  openProfile,
  PHONE,
} from "../../web/browser.ts";
import { expectNoOverflow, untilSettled, violations } from "../../web/page-checks.ts";

const webTest = browserTests({ notifications: true });
const app = await startTestApp({ env: { VAPID_SUBJECT: "mailto:operator@example.com" } });

const iphone = (version: string) =>
  `Mozilla/5.0 (iPhone; CPU iPhone OS ${version.replace(".", "_")} like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/${version} Mobile/15E148 Safari/604.1`;
const ipad = (version: string) =>
  `Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/${version} Safari/605.1.15`;

/** A way to open the page, and how its settings begin. */
interface Case {
  readonly url?: string;
  readonly agent?: string;
  readonly denied?: true;
  readonly granted?: true;
  readonly says: RegExp;
}

const CASES: Readonly<Record<string, Case>> = {
  insecure: { url: `http://${LAN_NAME}:${new URL(app.url).port}`, says: /over HTTPS only/ },
  "home screen": { agent: iphone("19.0"), says: /Add Relay to it in two taps/ },
  "home screen of an old iPhone": { agent: iphone("16.4"), says: /Add Relay to it in two taps/ },
  "home screen of an iPad": { agent: ipad("17.0"), says: /Add Relay to it in two taps/ },
  "an iPhone before 16.4": { agent: iphone("16.3"), says: /from iOS 16.4 on/ },
  "an iPad before 16.4": { agent: ipad("15.6"), says: /from iOS 16.4 on/ },
  blocked: { denied: true, says: /Your browser blocks notifications from this page/ },
  offered: { granted: true, says: /even while Relay is closed/ },
};

for (const [name, one] of Object.entries(CASES)) {
  const { url = app.url, agent, granted, denied, says } = one;
  webTest(`the settings say how notifications reach this device: ${name}`, async () => {
    expectComplaints(/Cross-Origin-Opener-Policy header has been ignored/);
    const person = await createPerson(app.url);
    const context = await openProfile(url, { as: person, size: PHONE });
    if (granted) await context.grantPermissions(["notifications"]);
    if (agent) {
      await context.addInitScript((as) => {
        Object.defineProperty(navigator, "userAgent", { value: as });
        Object.defineProperty(navigator, "maxTouchPoints", { value: 5 });
        delete (globalThis as { PushManager?: unknown }).PushManager;
      }, agent);
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
    await page.getByRole("switch", { name: "Nudges" }).waitFor();
  });
}

webTest("where the server has no Web Push, the page's own notifications are offered", async () => {
  const without = await startTestApp({ env: { PUBLIC_URL: "http://relay.lan:3000" } });
  const person = await createPerson(without.local_url);
  expectComplaints(/404/);
  const context = await openProfile(without.local_url, { as: person });
  await context.grantPermissions(["notifications"]);
  const page = await context.newPage();
  await page.goto(`${without.local_url}/#/account`);
  await page.getByRole("switch", { name: "Notifications for new questions" }).waitFor();
  await page.getByText("set PUBLIC_URL to an https address").waitFor();
  expect(await page.getByRole("button", { name: "Notify this device" }).count()).toBe(0);
});
