/** The page on an origin that it shares with other programs, and with Relays under other paths. */

import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { startTestApp } from "../../support/app.ts";
import { ask, createPair, createPerson, pair } from "../../support/client.ts";
import { startFrontProxy } from "../../support/front-proxy.ts";
import { until } from "../../support/until.ts";
import { browserTests, expectComplaints, openPage, untilLive } from "../../web/browser.ts";

const webTest = browserTests({ worker: true });
const one = await startTestApp();
const two = await startTestApp();
const NOISE = /Failed to load resource|ERR_|401/;

const proxyOf = () => startFrontProxy({ "/one/": one.url, "/two/": two.url });
const isWelcome = (page: Page) => page.getByLabel("Account token").waitFor();
const storedIn = (page: Page, name: string) =>
  page.evaluate((key) => localStorage.getItem(key), name);

/** What another program stores: whether each part is still there. */
const others = (page: Page) =>
  page.evaluate(async () => ({
    local: localStorage.getItem("other.settings"),
    session: sessionStorage.getItem("other.draft"),
    caches: (await caches.keys()).filter((name) => name.startsWith("other")),
    databases: (await indexedDB.databases()).flatMap(({ name }) => name ?? []).includes("other"),
  }));
const KEPT = { local: "precious", session: "precious", caches: ["other-v1"], databases: true };

async function keepOthers(page: Page): Promise<void> {
  await page.evaluate(async () => {
    localStorage.setItem("other.settings", "precious");
    sessionStorage.setItem("other.draft", "precious");
    const cache = await caches.open("other-v1");
    await cache.put("/other/data", new Response("x"));
    await new Promise((resolve) => {
      indexedDB.open("other").onsuccess = resolve;
    });
  });
}

async function signInWith(page: Page, token: string): Promise<void> {
  await page.getByLabel("Account token").fill(token);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await untilLive(page);
}

async function signOut(page: Page): Promise<void> {
  await page.getByRole("link", { name: "Account" }).click();
  await page.getByRole("button", { name: "Sign out", exact: true }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Sign out" }).click();
  await page.getByText("You're signed out").waitFor();
}

const untilActive = (page: Page) =>
  until(() =>
    page.evaluate(
      async () => (await navigator.serviceWorker.getRegistration())?.active?.state === "activated",
    ),
  );

webTest(
  "a start, an update and a sign-out do not touch what other programs of the origin keep",
  async () => {
    expectComplaints(NOISE);
    const person = await createPerson(one.url);
    for (const [url, path] of [
      [startFrontProxy({ "/": one.url }).url, "/"],
      [proxyOf().url, "/one/"],
    ] as const) {
      const phone = await pair(one.url, person, "Phone");
      const page = await openPage(url, { at: path.slice(1) });
      await keepOthers(page);
      await signInWith(page, phone.token);
      await untilActive(page);
      // A cache of an earlier version of the page is deleted, by its own name alone.
      const old = `relay ${url}${path} old`;
      await page.evaluate(async (name) => {
        await caches.open(name);
        await caches.open("relay http://localhost:1/ old");
        await (await navigator.serviceWorker.getRegistration())!.unregister();
      }, old);
      await page.reload();
      await untilActive(page);
      await until(async () => !(await page.evaluate((name) => caches.has(name), old)));
      expect(await page.evaluate(() => caches.has("relay http://localhost:1/ old"))).toBe(true);
      expect(await others(page)).toEqual(KEPT);
      await untilLive(page);
      await signOut(page);
      expect(await others(page)).toEqual(KEPT);
      const left = await page.evaluate(() => [
        ...Object.keys(localStorage),
        ...Object.keys(sessionStorage),
      ]);
      expect(left.sort()).toEqual(["other.draft", "other.settings"]);
    }
  },
);

webTest("Relays under two paths have separate sign-ins and streams", async () => {
  expectComplaints(NOISE);
  const first = await createPair(one.url);
  const second = await createPair(two.url);
  const proxy = proxyOf();
  const page = await openPage(proxy.url, { at: "one/" });
  await signInWith(page, first.person.token);
  const other = await page.context().newPage();
  await other.goto(`${proxy.url}/two/`);
  await isWelcome(other);
  await signInWith(other, second.person.token);
  await untilLive(page);
  await ask(first.agent.send, { prompt: "From one?" });
  await ask(second.agent.send, { prompt: "From two?" });
  await page.getByText("From one?").waitFor();
  await other.getByText("From two?").waitFor();
  // Each path has a leader among its own tabs.
  const leaders = await page.evaluate(async () =>
    (await navigator.locks.query()).held!.map(({ name }) => name).sort(),
  );
  expect(leaders).toEqual(["relay /one/ stream", "relay /two/ stream"]);
  await signOut(other);
  await page.reload();
  await untilLive(page);
  await page.getByText("From one?").waitFor();
  expect(await page.getByText("From two?").count()).toBe(0);
});

webTest("a sign-in of version 0.2.0 below a path stays, without its copy at the root", async () => {
  expectComplaints(NOISE);
  const { person, agent } = await createPair(one.url);
  const { id } = await ask(agent.send, { prompt: "Kept from before?" });
  const proxy = startFrontProxy({ "/one/": one.url, "/": two.url });
  const page = await openPage(proxy.url, { at: "one/docs" });
  const answers = [
    { question_id: id, prompt: "Kept from before?", answer: "Yes", key: "k1", refused: null },
  ];
  const kept = JSON.stringify({ account_id: person.account.id, answers });
  await page.evaluate(
    ([token, account_id, answers]) => {
      for (const prefix of ["relay /one/ ", "relay."]) {
        localStorage.setItem(`${prefix}token`, token!);
        localStorage.setItem(`${prefix}account`, account_id!);
        localStorage.setItem(`${prefix}answers`, answers!);
        sessionStorage.setItem(`${prefix}drafts-of`, account_id!);
        sessionStorage.setItem(`${prefix}draft.probe`, "{}");
      }
      localStorage.setItem("relay.token-of", `/one/ ${token}`);
    },
    [person.token, person.account.id, kept],
  );
  // A Relay at the root does not take the copy for its own.
  const root = await page.context().newPage();
  await root.goto(proxy.url);
  await isWelcome(root);
  expect(await storedIn(root, "relay.token")).toBe(person.token);
  await root.close();

  await page.goto(`${proxy.url}/one/`);
  await untilLive(page);
  // What was waiting is sent.
  await until(async () => (await agent.send(`GET /v1/questions/${id}`)).body.answer === "Yes");
  const names = () => page.evaluate(() => Object.keys({ ...localStorage, ...sessionStorage }));
  expect((await names()).filter((name) => name.startsWith("relay."))).toEqual([]);
  expect(await names()).toContain("relay /one/ draft.probe");
  await signOut(page);
  expect(await names()).toEqual([]);
});
