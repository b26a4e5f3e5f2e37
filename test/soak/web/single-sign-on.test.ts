/** The page behind a proxy with its own sign-in, which passes no request without its cookie. */

import { expect } from "bun:test";
import { ADMIN_TOKEN } from "../../support/admin.ts";
import { startTestApp } from "../../support/app.ts";
import { ask, createPair } from "../../support/client.ts";
import { html, startFrontProxy } from "../../support/front-proxy.ts";
import { until } from "../../support/until.ts";
import {
  signIn as enterAdmin,
  lookAgain,
  untilLive as untilAdminLive,
} from "../../web/admin-page.ts";
import {
  browserTests,
  expectComplaints,
  openProfile,
  press,
  untilLive,
} from "../../web/browser.ts";
import { untilSettled } from "../../web/page-checks.ts";

const webTest = browserTests({ worker: true });
const app = await startTestApp({ env: { ADMIN_TOKEN } });
const NOISE = /Failed to load (resource|module)|ERR_|Service ?Worker|Content Security Policy|CORS/i;

/** How a proxy asks for its sign-in: in place of the response, or at another address. */
const elsewhere = startFrontProxy({});
const ASKS: Readonly<Record<string, () => Response>> = {
  "a page": () => html("Another program", 200),
  "a redirect": () => Response.redirect(`${elsewhere.url}/sign-in`, 302),
};

for (const [name, ask_for] of Object.entries(ASKS)) {
  webTest(
    `the page can be installed, and says so when the proxy responds with ${name}`,
    async () => {
      expectComplaints(NOISE);
      const { person, agent } = await createPair(app.url);
      const proxy = startFrontProxy({ "/": app.url });
      const isSignedIn = (headers: Headers) => headers.get("cookie")?.includes("sso=yes");
      proxy.use((_, headers) => (isSignedIn(headers) ? undefined : ask_for()));
      const context = await openProfile(proxy.url, { as: person });
      const enter = () => context.addCookies([{ name: "sso", value: "yes", url: proxy.url }]);
      await enter();
      const page = await context.newPage();
      await page.goto(proxy.url);
      await untilLive(page);
      const session = await context.newCDPSession(page);
      const manifest = await session.send("Page.getAppManifest");
      expect(manifest.errors).toEqual([]);
      expect(JSON.parse(manifest.data!).name).toBe("Relay");

      // The proxy's session ends while the page is open, and the event stream continues.
      const { id } = await ask(agent.send, { prompt: "Still there?" });
      await page.getByText("Still there?").waitFor();
      await context.clearCookies();
      await press(page.getByRole("button", { name: "Yes", exact: true }));
      await page.getByRole("alert").getByText("asks you to sign in to it").waitFor();
      await page.reload();
      await page.getByRole("heading", { name: "Another program" }).waitFor();
      await enter();
      await page.goto(proxy.url);
      await untilLive(page);
      // The list is loaded anew, and a click on a card that is replaced has no effect.
      await untilSettled(page);
      await press(page.getByRole("button", { name: "Yes", exact: true }));
      await until(async () => (await agent.send(`GET /v1/questions/${id}`)).body.answer === "Yes");
    },
  );
}

webTest("the admin page says so when the proxy redirects it to its sign-in", async () => {
  expectComplaints(NOISE);
  const proxy = startFrontProxy({ "/": app.url });
  const page = await (await openProfile(proxy.url)).newPage();
  await page.goto(`${proxy.url}/admin`);
  await enterAdmin(page);
  await untilAdminLive(page);
  proxy.use(() => ASKS["a redirect"]!());
  await lookAgain(page);
  await page.getByRole("alert").getByText("asks you to sign in to it").waitFor();
  proxy.use();
  await lookAgain(page);
  await untilAdminLive(page);
});

webTest("the service worker never caches a proxy's sign-in page in place of a file", async () => {
  expectComplaints(NOISE);
  const { person } = await createPair(app.url);
  const proxy = startFrontProxy({ "/": app.url });
  const context = await openProfile(proxy.url, { as: person });
  const page = await context.newPage();
  /** The service worker's requests for files get the sign-in page: the proxy's session has just ended. */
  let answered = 0;
  proxy.use(({ url }, headers) => {
    const by_worker = headers.get("sec-fetch-dest") === "empty";
    if (!by_worker || !/\/(assets\/[^/]+)?$/.test(new URL(url).pathname)) return undefined;
    answered++;
    return html("Log in", 200);
  });
  await page.goto(proxy.url);
  await untilLive(page);
  await until(async () => answered > 0);
  const install = () =>
    page.evaluate(async () => {
      const found = await navigator.serviceWorker.register("sw.js");
      return found.active?.state ?? found.installing?.state ?? null;
    });
  await until(async () => {
    const pages = await page.evaluate(async () => {
      const all = [];
      for (const name of await caches.keys()) {
        const cache = await caches.open(name);
        for (const request of await cache.keys()) {
          all.push(await (await cache.match(request))!.text());
        }
      }
      return all;
    });
    expect(pages.filter((text) => text.includes("Log in</h1>"))).toEqual([]);
    return true;
  });
  proxy.use();
  await until(async () => (await install()) === "activated");
});
