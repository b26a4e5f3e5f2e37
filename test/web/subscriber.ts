/** A browser that really subscribes to Relay's pushes, through a stand-in of its push service. */

import { afterAll } from "bun:test";
import type { BrowserContext, Page } from "playwright-core";
import { startTestApp } from "../support/app.ts";
import { startChromiumPush } from "../support/chromium-push.ts";
import { createPair, type Person } from "../support/client.ts";
import { openOwnBrowser, openTab, signIn, untilLive } from "./browser.ts";

export const channelsOf = async ({ send }: Pick<Person, "send">): Promise<any[]> =>
  (await send("GET /v1/channels")).body.channels;

/** Endpoint of the browser's subscription; null without one. */
export const endpointIn = (page: Page) =>
  page.evaluate(async () => {
    const { pushManager } = await navigator.serviceWorker.ready;
    return (await pushManager.getSubscription())?.endpoint ?? null;
  });

/** Called at the top of a test file. `headless` false: in a window of the display. */
export async function createSubscriber({ headless = true } = {}) {
  const push = await startChromiumPush();
  /** One browser for all tests, since the first subscription of a profile takes long. */
  let opened: Promise<BrowserContext> | undefined;

  return {
    push,

    /** A separate Relay for each test: the browser tells them apart by their origins. */
    async start() {
      const app = await startTestApp({
        env: { VAPID_SUBJECT: "mailto:operator@example.com", WEB_PUSH_HOSTS: push.host },
      });
      return { app, ...(await createPair(app.url)) };
    },

    /** A tab in a profile with the permission, whose subscriptions reach the stand-in. */
    async subscribe(url: string, { token }: Pick<Person, "token">) {
      opened ??= openOwnBrowser(push.args, headless);
      const context = await opened;
      await context.grantPermissions(["notifications"], { origin: url });
      // Chromium gives each endpoint the address of Google's service.
      await context.route(`${url}/trpc/channels.create`, (route) => {
        const { subscription, ...rest } = route.request().postDataJSON();
        const given = subscription.endpoint.replace(/^.*\/send\//, `${push.url}/send/`);
        return route.continue({
          postData: JSON.stringify({ ...rest, subscription: { ...subscription, endpoint: given } }),
        });
      });
      // Before the server stops; the browser ends with its last tab.
      afterAll(() =>
        Promise.all(
          context
            .pages()
            .slice(1)
            .map((page) => page.close()),
        ),
      );
      await signIn(context, url, token);
      const page = await openTab(context, `${url}/#/account`);
      await untilLive(page);
      await page.getByRole("button", { name: "Notify this device" }).click();
      await page.getByText("You get notifications here even while Relay is closed.").waitFor();
      return { context, page };
    },
  };
}
