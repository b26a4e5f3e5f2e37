/** A view that does not load, and pages of other origins. */

import { expect } from "bun:test";
import { startTestApp } from "../../support/app.ts";
import { createPair } from "../../support/client.ts";
import { browserTests, expectComplaints, go, openPage, untilLive } from "../../web/browser.ts";

const webTest = browserTests({ worker: true });
const app = await startTestApp();

webTest("a view that did not load says so, and loads after a reload", async () => {
  expectComplaints(/ERR_FAILED|Failed to fetch/);
  const { person } = await createPair(app.url);
  const page = await openPage(app.url, { as: person, serviceWorkers: "block" });
  await page.route("**/assets/tasks-*.js", (route) => route.abort());
  await page.reload();
  await untilLive(page);
  await go(page, "tasks");
  await page.getByText("Something went wrong").waitFor();
  // The others still work.
  await go(page, "agents");
  await page.getByRole("heading", { name: "Agents", exact: true }).waitFor();
  await page.unroute("**/assets/tasks-*.js");
  await go(page, "tasks");
  await page.getByRole("button", { name: "Reload page" }).click();
  await page.getByRole("heading", { name: "Tasks", exact: true }).waitFor();
});

webTest(
  "a page of an origin in CORS_ORIGINS may read responses, and no page may embed them",
  async () => {
    expectComplaints(/CORS|ERR_|Content Security Policy/);
    const elsewhere = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: () => new Response("<p>Elsewhere", { headers: { "content-type": "text/html" } }),
    });
    try {
      const { origin } = elsewhere.url;
      const open = await startTestApp({ env: { CORS_ORIGINS: origin } });
      const { person } = await createPair(open.url);
      const page = await openPage(origin);
      const read = (url: string) =>
        page.evaluate(
          ([to, token]) =>
            fetch(`${to}/v1/account`, { headers: { authorization: `Bearer ${token}` } }).then(
              ({ status }) => status,
              () => "refused",
            ),
          [url, person.token],
        );
      expect([await read(open.url), await read(app.url)]).toEqual([200, "refused"]);
      const framed = await page.evaluate(async (url) => {
        const frame = document.createElement("iframe");
        frame.src = `${url}/`;
        document.body.append(frame);
        await new Promise((resolve) => frame.addEventListener("load", resolve));
        return frame.contentDocument === null;
      }, open.url);
      expect(framed).toBe(true);
      const frame = page.frames().find((one) => one !== page.mainFrame());
      expect(await frame!.locator("#root").count()).toBe(0);
    } finally {
      await elsewhere.stop(true);
    }
  },
);
