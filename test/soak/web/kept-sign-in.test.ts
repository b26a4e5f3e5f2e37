/** A sign-in is erased only if the server says that it has ended (§4.1.7). */

import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { startTestApp } from "../../support/app.ts";
import { ask, client, createPair, createPerson, newToken, pair } from "../../support/client.ts";
import { startFrontProxy } from "../../support/front-proxy.ts";
import { until } from "../../support/until.ts";
import {
  browserTests,
  expectComplaints,
  keptIn,
  openPage,
  press,
  tokenIn,
  untilLive,
} from "../../web/browser.ts";

const webTest = browserTests();
const app = await startTestApp();
/** Another store, as after a wrong DATABASE_URL. */
const empty = await startTestApp();
const NOISE = /Failed to load resource|ERR_|401/;

const unknown = (page: Page) =>
  page.getByRole("status").getByText("doesn't recognize this browser's sign-in");
const retry = (page: Page) => page.getByRole("button", { name: "Retry" });

webTest(
  "a server that lost its data erases nothing in any tab, and the page resumes by itself [§4.1.7]",
  async () => {
    expectComplaints(NOISE);
    const { person, agent } = await createPair(app.url);
    const { id } = await ask(agent.send, { prompt: "Kept?" });
    const proxy = startFrontProxy({ "/": app.url });
    const page = await openPage(proxy.url, { as: person });
    const other = await page.context().newPage();
    await other.goto(proxy.url);
    await untilLive(other);
    await page.getByText("Kept?").waitFor();
    await page.evaluate(() => sessionStorage.setItem("relay.draft.probe", "1"));
    await until(async () => (await keptIn(page, "questions")).length > 0);

    proxy.lead({ "/": empty.url });
    for (const tab of [page, other]) await tab.reload();
    for (const tab of [page, other]) await unknown(tab).waitFor();
    for (const tab of [page, other]) expect(await tokenIn(tab)).toBe(person.token);
    // Saved data is shown, and an answer waits.
    await press(page.getByRole("button", { name: "Yes" }).first());
    await page.getByText("Waiting to be sent").waitFor();
    expect(await page.evaluate(() => sessionStorage.getItem("relay.draft.probe"))).toBe("1");

    proxy.lead({ "/": app.url });
    await untilLive(page);
    await until(async () => (await agent.send(`GET /v1/questions/${id}`)).body.answer === "Yes");
    await untilLive(other);
    expect(await unknown(page).count()).toBe(0);
  },
);

webTest("a proxy that drops the Authorization header once signs nobody out [§4.1.7]", async () => {
  expectComplaints(NOISE);
  const { person } = await createPair(app.url);
  const proxy = startFrontProxy({ "/": app.url });
  const page = await openPage(proxy.url, { as: person });
  for (const path of ["/v1/events", "/trpc/accounts.get"]) {
    let dropped = 0;
    proxy.use((request, headers) => {
      if (!request.url.includes(path) || dropped > 0) return undefined;
      dropped++;
      headers.delete("authorization");
      return undefined;
    });
    await page.reload();
    await until(async () => dropped === 1);
    await untilLive(page);
    expect(await tokenIn(page)).toBe(person.token);
  }
});

webTest("a sign-in that the server ended is erased, also behind a proxy [§4.1.7]", async () => {
  expectComplaints(NOISE);
  const { person } = await createPair(app.url);
  const phone = await pair(app.url, person, "Phone");
  const proxy = startFrontProxy({ "/": app.url });
  const page = await openPage(proxy.url, { as: phone });
  // The sign-in ends while the page is away.
  proxy.lead({ "/": "http://127.0.0.1:9" });
  await page.reload();
  await person.send(`DELETE /v1/sessions/${phone.session.id}`);
  proxy.lead({ "/": app.url });
  await page.goto(proxy.url);
  await page.getByText("no longer valid").waitFor();
  expect(await page.evaluate(() => localStorage.length + sessionStorage.length)).toBe(0);
});

webTest("what the page shows a frame after its sign-in has ended is not saved again", async () => {
  expectComplaints(NOISE);
  const { person } = await createPair(app.url);
  const phone = await pair(app.url, person, "Phone");
  const page = await openPage(app.url, { as: phone });
  await until(async () => (await keptIn(page, "about")).length > 0);
  await page.goto("about:blank");
  await person.send(`DELETE /v1/sessions/${phone.session.id}`);
  // The first frame is late, as on a busy machine: by then the page has read what it saved.
  await page.addInitScript(() => {
    const waiting: FrameRequestCallback[] = [];
    window.requestAnimationFrame = (callback) => waiting.push(callback);
    const frame = () => {
      for (const callback of waiting.splice(0)) callback(performance.now());
    };
    Object.assign(window, { frame });
  });
  await page.goto(app.url);
  await page.getByText("no longer valid").waitFor();
  await page.evaluate(() => (window as unknown as { frame(): void }).frame());
  const kept = () => Object.keys({ ...localStorage, ...sessionStorage });
  expect(await page.evaluate(kept)).toEqual([]);
});

webTest(
  "a token that an older server rejects without a message is kept, and can be given up",
  async () => {
    expectComplaints(NOISE);
    const person = await createPerson(app.url);
    const proxy = startFrontProxy({ "/": empty.url });
    const page = await openPage(proxy.url);
    await page.evaluate((token) => localStorage.setItem("relay.token", token), person.token);
    await page.reload();
    await unknown(page).waitFor();
    // The page asks again and again, with growing pauses.
    await page.waitForResponse("**/v1/events");
    await page.getByRole("button", { name: "Sign out here" }).click();
    const dialog = page.getByRole("alertdialog");
    await dialog.getByText("removes the token").waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    expect(await tokenIn(page)).toBe(person.token);
    await page.getByRole("button", { name: "Sign out here" }).click();
    await dialog.getByRole("button", { name: "Sign out" }).click();
    await page.getByText("You're signed out").waitFor();
    expect(await tokenIn(page)).toBeNull();
    expect((await person.send("GET /v1/account")).status).toBe(200);
  },
);

webTest(
  "while a token replacement is unconfirmed, both tokens survive a server that lost its data [§4.1.7]",
  async () => {
    expectComplaints(NOISE);
    const person = await createPerson(app.url);
    const next = newToken();
    const proxy = startFrontProxy({ "/": empty.url });
    const page = await openPage(proxy.url);
    await page.evaluate(
      ([token, next]) => {
        localStorage.setItem("relay.token", token!);
        localStorage.setItem("relay.next-token", next!);
      },
      [person.token, next],
    );
    await page.reload();
    await unknown(page).waitFor();
    const kept = () =>
      page.evaluate(() => ["token", "next-token"].map((name) => localStorage[`relay.${name}`]));
    expect(await kept()).toEqual([person.token, next]);
    // The request was carried out, and its response was lost.
    await person.send("POST /v1/account/token", { token: next });
    proxy.lead({ "/": app.url });
    await retry(page).click();
    await untilLive(page);
    expect(await kept()).toEqual([next, undefined]);
    expect((await client(app.url, next)("GET /v1/account")).body.id).toBe(person.account.id);
  },
);
