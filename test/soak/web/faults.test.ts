/** Faults of the page itself: as little as possible fails, and a sentence says so. */

import { expect } from "bun:test";
import { ADMIN_TOKEN } from "../../support/admin.ts";
import { startTestApp } from "../../support/app.ts";
import { ask, createPair } from "../../support/client.ts";
import { html, startFrontProxy } from "../../support/front-proxy.ts";
import {
  browserTests,
  expectComplaints,
  openOwnBrowser,
  openPage,
  openProfile,
  press,
  untilLive,
} from "../../web/browser.ts";

const webTest = browserTests({ notifications: true });
const app = await startTestApp({ env: { ADMIN_TOKEN } });

/** Cookies and site data are blocked for all sites. */
const BLOCK_SITE_DATA = { profile: { default_content_setting_values: { cookies: 2 } } };

webTest("where the person blocks site data, both pages say so", async () => {
  // The access that the browser refuses, and files whose download the next address cuts off.
  expectComplaints(/Access is denied|Failed to load resource/);
  const page = await (await openOwnBrowser([], true, BLOCK_SITE_DATA)).newPage();
  for (const at of ["", "#/pair/ABCD-2345", "admin"]) {
    await page.goto("about:blank");
    await page.goto(`${app.url}/${at}`);
    await page.getByRole("heading", { name: "This browser blocks site data" }).waitFor();
    await page.getByText(`Allow cookies and site data for ${new URL(app.url).host}`).waitFor();
  }
});

webTest("the page works without IndexedDB, caches and service workers", async () => {
  // The server of the test has no public address, so pushes are off.
  expectComplaints(/Failed to load resource/);
  const { person, agent } = await createPair(app.url);
  await ask(agent.send, { prompt: "Go on?" });
  const context = await openProfile(app.url, { as: person });
  await context.addInitScript(() => {
    if (origin === "null") return;
    const refuse = () => {
      throw new DOMException("refused", "SecurityError");
    };
    for (const name of ["indexedDB", "caches"]) {
      Object.defineProperty(window, name, { get: refuse });
    }
    const { serviceWorker } = navigator;
    for (const name of ["register", "getRegistration", "getRegistrations"]) {
      Object.defineProperty(serviceWorker, name, { value: async () => refuse() });
    }
  });
  const page = await context.newPage();
  await page.goto(app.url);
  await untilLive(page);
  await press(page.getByRole("button", { name: "Yes" }));
  await page.getByText("All caught up").waitFor();
  await page.goto(`${app.url}/#/account`);
  await page.getByRole("button", { name: "Sign out" }).first().click();
  await page
    .getByRole("alertdialog")
    .getByRole("button", { name: /^Sign out/ })
    .click();
  await page.getByRole("button", { name: "Create account" }).waitFor();
});

webTest("a fault at the start shows a sentence that says so", async () => {
  expectComplaints(/JSON/);
  const context = await openProfile(app.url, { serviceWorkers: "block" });
  // As left by another version.
  await context.addInitScript(() => {
    if (origin !== "null") sessionStorage.setItem("relay.new-keys", "{");
  });
  const page = await context.newPage();
  await page.goto(app.url);
  await page.getByRole("heading", { name: "Relay couldn't start" }).waitFor();
});

webTest("where a proxy withholds the script, both pages say so after a while", async () => {
  expectComplaints(/Failed to load resource|ERR_|MIME type/);
  const proxy = startFrontProxy({ "/": app.url });
  for (const [status, files, is_styled] of [
    [502, /\/assets\/.*\.js$/, true],
    [403, /\/assets\//, false],
  ] as const) {
    proxy.use(({ url }) => (files.test(new URL(url).pathname) ? html("No", status) : undefined));
    for (const at of ["", "admin"]) {
      const page = await openPage(proxy.url, { at, serviceWorkers: "block" });
      const sentence = page.getByText("This page hasn't started yet");
      expect(await sentence.isVisible()).toBe(!is_styled);
      await page.evaluate(() => {
        for (const one of document.getAnimations()) one.finish();
      });
      await sentence.waitFor();
    }
  }
});

webTest("where the browser's storage is full, signing in says so", async () => {
  const { person } = await createPair(app.url);
  const page = await openPage(app.url);
  await page.evaluate(() => {
    for (let size = 2 ** 23; size >= 1; size /= 2) {
      try {
        for (let at = 0; ; at++) localStorage.setItem(`other ${size} ${at}`, "x".repeat(size));
      } catch {
        // As much as fits.
      }
    }
  });
  const said = page.getByText("This browser can't save data for this page: its storage is full");
  await page.getByLabel("Account token").fill(person.token);
  await press(page.getByRole("button", { name: "Sign in", exact: true }));
  await said.waitFor();
  await page.reload();
  await press(page.getByRole("button", { name: "Create account" }));
  await said.waitFor();
});

webTest(
  "a question card that fails is replaced alone, and the others can be answered",
  async () => {
    expectComplaints(/TypeError|React error/);
    const { person, agent } = await createPair(app.url);
    const bad = await ask(agent.send, {
      prompt: "Which one?",
      kind: "choice",
      options: ["A", "B"],
    });
    await ask(agent.send, { prompt: "Go on?" });
    const closed = await ask(agent.send, { prompt: "Over?" });
    await agent.send(`DELETE /v1/questions/${closed.id}`);
    const page = await openPage(app.url, { as: person, serviceWorkers: "block" });
    await page.getByText("Which one?").waitFor();
    // As from a server that sends something unknown to this page.
    await page.route("**/trpc/questions.list*", async (route) => {
      const response = await route.fetch();
      const body = await response.json();
      for (const one of body.result.data.questions) {
        if (one.id === bad.id) one.options = null;
        if (one.id === closed.id) one.prompt = {};
      }
      return route.fulfill({ json: body });
    });
    await page.reload();
    await untilLive(page);
    expect(await page.getByText("This question can't be shown.").count()).toBe(2);
    expect(await page.getByText("Something went wrong").count()).toBe(0);
    await press(page.getByRole("button", { name: "Yes" }));
    await page.getByText("Answer sent").waitFor();
  },
);
