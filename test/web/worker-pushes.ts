/** Pushes and clicks that reach the page's service worker, through the browser's own tools. */

import type { Page, Worker } from "playwright-core";
import type { PushData, PushMessage } from "../../src/model/push-message.ts";
import { until } from "../support/until.ts";

interface Shown {
  readonly title: string;
  readonly body: string;
  readonly tag: string;
  readonly silent: boolean | null;
  readonly actions: readonly string[];
  readonly icon: string;
}

/** The displayed notifications: see {@link shownBy}. */
export const shownIn = async (page: Page): Promise<Shown[]> => shownBy(await workerOf(page));

/**
 * The displayed notifications. Chromium forgets a notification that is being shown while they are listed, so
 * from the first call on, which comes before there are any, the worker does one at a time.
 */
export function shownBy(worker: Worker): Promise<Shown[]> {
  return worker.evaluate(async () => {
    const scope = globalThis as any;
    const { registration } = scope;
    if (!scope.afterOthers) {
      let last: Promise<unknown> = Promise.resolve();
      scope.afterOthers = (work: () => Promise<unknown>) => {
        last = last.then(work, work);
        return last;
      };
      const show = registration.showNotification.bind(registration);
      registration.showNotification = (...given: unknown[]) =>
        scope.afterOthers(() => show(...given));
    }
    const shown: Notification[] = await scope.afterOthers(() => registration.getNotifications());
    return shown.map((one) => {
      const { actions = [] } = one as { actions?: readonly { title: string }[] };
      const { title, body, tag, silent, icon } = one;
      return { title, body, tag, silent, icon, actions: actions.map((action) => action.title) };
    });
  });
}

type Notified = PushMessage["notification"];

/** A message as the server builds it. */
export function pushMessage(
  data: PushData,
  { app_badge, ...rest }: Partial<Notified> & { readonly app_badge?: number } = {},
): PushMessage {
  const { event, question_id, task_id, answers = [] } = data;
  const tag = question_id ?? task_id ?? "chn_1";
  return {
    web_push: 8030,
    ...(app_badge !== undefined && { app_badge }),
    notification: {
      title: "Question from Release bot",
      body: "Publish?",
      navigate: `http://localhost/#/questions/${tag}`,
      tag,
      lang: "en",
      dir: "auto",
      silent: event === "ended",
      requireInteraction: false,
      mutable: true,
      actions: answers.map((title, i) => ({ action: `answer-${i}`, title, navigate: "" })),
      data,
      ...rest,
    },
  };
}

/** Delivers pushes to the page's worker as if they came from a push service. */
export async function deliverTo(page: Page) {
  const session = await page.context().newCDPSession(page);
  let registrationId: string | undefined;
  session.on("ServiceWorker.workerRegistrationUpdated", ({ registrations }) => {
    registrationId = registrations.at(-1)?.registrationId ?? registrationId;
  });
  await session.send("ServiceWorker.enable");
  await page.evaluate(() =>
    navigator.serviceWorker.ready.then(
      ({ active }) =>
        new Promise<void>((resolve) => {
          const check = () => active?.state === "activated" && resolve();
          active?.addEventListener("statechange", check);
          check();
        }),
    ),
  );
  await until(() => registrationId);
  const { origin } = new URL(page.url());
  return (message: PushMessage | string) =>
    session.send("ServiceWorker.deliverPushMessage", {
      origin,
      registrationId: registrationId!,
      data: typeof message === "string" ? message : JSON.stringify(message),
    });
}

/** The service worker; the driver learns of it a moment after the page. */
export const workerOf = (page: Page, url = new URL(page.url()).origin): Promise<Worker> =>
  until(() =>
    page
      .context()
      .serviceWorkers()
      .find((one) => one.url().startsWith(url)),
  );

/**
 * A click on a notification, dispatched in the worker: such a click may not focus or open windows.
 * `action`: the button's, or empty for the notification itself.
 */
export async function clickOn(worker: Worker, tag: string, action = ""): Promise<void> {
  await worker.evaluate(
    async ([tag, action]) => {
      const scope = globalThis as any;
      const [notification] = await scope.registration.getNotifications({ tag });
      if (!notification) throw new Error("not shown");
      const event = new scope.NotificationEvent("notificationclick", { notification, action });
      // Only the browser's own events keep a worker alive.
      event.waitUntil = () => {};
      scope.dispatchEvent(event);
    },
    [tag, action] as const,
  );
}

/** Records the app badge that the worker sets, 0 when it clears it; call the result to read it. */
export async function watchBadge(worker: Worker): Promise<() => Promise<number[]>> {
  await worker.evaluate(() => {
    const badges: number[] = [];
    Object.assign(globalThis, { badges });
    Object.assign(navigator, {
      setAppBadge: async (count: number) => void badges.push(count),
      clearAppBadge: async () => void badges.push(0),
    });
  });
  return () => worker.evaluate(() => (globalThis as unknown as { badges: number[] }).badges);
}

/** Waits until the worker, too, knows whether a window of the person's page has the focus. */
export async function untilWorkerSees(page: Page, focused: boolean): Promise<void> {
  const worker = await workerOf(page);
  await until(() =>
    worker.evaluate(async (wanted) => {
      const { clients } = globalThis as any;
      const open: { url: string; focused: boolean }[] = await clients.matchAll({ type: "window" });
      const focused = open.filter((one) => one.focused);
      return focused.some(({ url }) => new URL(url).pathname === "/") === wanted;
    }, focused),
  );
}
