/** Responses that do not come from tRPC: from the server before a procedure is called, and from proxies. */

import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { startTestApp } from "../../support/app.ts";
import { ask, createPair } from "../../support/client.ts";
import { html, startFrontProxy } from "../../support/front-proxy.ts";
import { until } from "../../support/until.ts";
import {
  browserTests,
  expectComplaints,
  goOffline,
  keptIn,
  openPage,
  press,
  untilLive,
} from "../../web/browser.ts";

const webTest = browserTests({ worker: true });
const app = await startTestApp();
const NOISE = /Failed to load resource|ERR_/;
const ANSWER = "/trpc/questions.answer";

const yes = (page: Page) => page.getByRole("button", { name: "Yes", exact: true });

/** What a proxy, or the server itself, may respond with, and what the page then says. */
const REFUSALS: readonly (readonly [
  name: string,
  (headers: Headers) => Response | undefined,
  RegExp,
])[] = [
  ["a proxy's 403", () => html("Forbidden", 403), /server between .* refused this \(HTTP 403\)/],
  ["a proxy's 401", () => html("Log in", 401), /asks you to sign in to it \(HTTP 401\)/],
  ["a proxy's 413", () => html("Too large", 413), /too large \(HTTP 413\)/],
  ["a sign-in page", () => html("Log in", 200), /asks you to sign in to it \(HTTP 200\)/],
  ["a hotel's 511", () => html("Log in", 511), /asks you to sign in to it \(HTTP 511\)/],
  [
    "a proxy's JSON",
    () => Response.json({ error: "denied" }, { status: 403 }),
    /server between .* refused this \(HTTP 403\)/,
  ],
  [
    "the server's own 403",
    (headers) => void headers.set("origin", "https://elsewhere.example"),
    /origin/i,
  ],
];

webTest("an answer that a proxy refuses says by whom and why, and is sent once", async () => {
  expectComplaints(NOISE);
  const { person, agent } = await createPair(app.url);
  const proxy = startFrontProxy({ "/": app.url });
  const page = await openPage(proxy.url, { as: person });
  for (const [name, refuse, message] of REFUSALS) {
    const { id } = await ask(agent.send, { prompt: `Through ${name}?` });
    await page.getByText(`Through ${name}?`).waitFor();
    let sent = 0;
    proxy.use((request, headers) => {
      if (!request.url.includes(ANSWER)) return undefined;
      sent++;
      return refuse(headers);
    });
    await press(yes(page));
    await page.getByRole("alert").getByText(message).waitFor();
    expect(await page.getByText("Couldn't reach the server").count()).toBe(0);
    expect(await page.getByText("Waiting to be sent").count()).toBe(0);
    expect([name, sent]).toEqual([name, 1]);
    proxy.use();
    await press(yes(page));
    await until(async () => (await agent.send(`GET /v1/questions/${id}`)).body.answer === "Yes");
    await page.getByText("All caught up").waitFor();
  }
});

webTest(
  "a waiting answer that is then refused says why, and the person may send it again",
  async () => {
    expectComplaints(NOISE);
    const { person, agent } = await createPair(app.url);
    const { id } = await ask(agent.send, { prompt: "Waited?" });
    const proxy = startFrontProxy({ "/": app.url });
    const page = await openPage(proxy.url, { as: person });
    await page.getByText("Waited?").waitFor();
    await goOffline(page);
    await press(yes(page));
    await page.getByText("Waiting to be sent").waitFor();
    let sent = 0;
    // The proxy refuses every request about the question.
    proxy.use((request) => {
      if (!/trpc\/questions\.(answer|get)\b/.test(request.url)) return undefined;
      if (request.url.includes(ANSWER)) sent++;
      return html("Forbidden", 403);
    });
    await page.context().setOffline(false);
    await page.getByText(/Your answer wasn't sent\. A server between .* \(HTTP 403\)/).waitFor();
    await untilLive(page);
    expect(sent).toBe(1);
    proxy.use();
    await page.getByRole("button", { name: "Send again" }).click();
    await until(async () => (await agent.send(`GET /v1/questions/${id}`)).body.answer === "Yes");
    await page.getByText("Answer sent").first().waitFor();
  },
);

webTest(
  "the page says who refuses its connection, and reconnects by itself afterwards",
  async () => {
    expectComplaints(NOISE);
    const { person } = await createPair(app.url);
    const proxy = startFrontProxy({ "/": app.url });
    const page = await openPage(proxy.url, { as: person });
    const status = page.getByRole("status");
    for (const [path, answer, message] of [
      ["/v1/events", html("Forbidden", 403), /Offline\..*refused this \(HTTP 403\)/],
      ["/v1/events", html("Log in", 200), /Offline\..*sign in to it \(HTTP 200\)/],
      ["/trpc/tasks.list", html("Log in", 401), /Offline\..*sign in to it \(HTTP 401\)/],
      ["/v1/events", html("Log in", 511), /Offline\..*sign in to it \(HTTP 511\)/],
      ["/v1/events", html("Bad gateway", 502), /Offline\. (Last updated|Can't reach)/],
    ] as const) {
      proxy.use((request) => (request.url.includes(path) ? answer.clone() : undefined));
      await page.reload();
      await status.getByText(message).waitFor();
      expect(await page.locator("[data-connection=live]").count()).toBe(0);
      proxy.use();
      await untilLive(page);
    }
  },
);

webTest(
  "behind a proxy that cannot reach the server, the page opens from what it saved",
  async () => {
    expectComplaints(NOISE);
    const { person, agent } = await createPair(app.url);
    await ask(agent.send, { prompt: "Saved?" });
    const proxy = startFrontProxy({ "/": app.url });
    const page = await openPage(proxy.url, { as: person });
    await page.getByText("Saved?").waitFor();
    await until(async () => (await keptIn(page, "questions")).length > 0);
    await until(() =>
      page.evaluate(() =>
        navigator.serviceWorker.ready.then((one) => one.active?.state === "activated"),
      ),
    );
    for (const status of [502, 503, 504, 521, 530]) {
      proxy.use(() => html("No upstream", status));
      await page.reload();
      await page.getByText(/^Offline\./).waitFor();
      await page.getByText("Saved?").waitFor();
    }
    // Other messages of the server or the proxy are shown.
    proxy.use(() => html("Log in", 401));
    await page.reload();
    await page.getByRole("heading", { name: "Log in" }).waitFor();
    proxy.use();
    await page.reload();
    await untilLive(page);
  },
);
