/** Web Push while no page has the focus: what the service worker shows, answers and opens. */

import { expect } from "bun:test";
import type { Page } from "playwright-core";
import type { PushMessage } from "../../../src/model/push-message.ts";
import { startTestApp } from "../../support/app.ts";
import { callHook, commandOf } from "../../support/approve.ts";
import { ask, createPair, type Person } from "../../support/client.ts";
import { html, startFrontProxy } from "../../support/front-proxy.ts";
import { until } from "../../support/until.ts";
import { browserTests, lookAt, openProfile, openTab, untilLive } from "../../web/browser.ts";
import {
  clickOn,
  deliverTo,
  pushMessage,
  shownBy,
  shownIn,
  untilWorkerSees,
  watchBadge,
  workerOf,
} from "../../web/worker-pushes.ts";

const webTest = browserTests({ notifications: true });
const app = await startTestApp({ env: { VAPID_SUBJECT: "mailto:operator@example.com" } });

/** A page that is open in the background, and another tab in front of it. */
async function openBehind(person: Person, at = "#/account", url = app.url) {
  const context = await openProfile(url, { as: person });
  await context.grantPermissions(["notifications"]);
  const page = await openTab(context, `${url}/${at}`);
  await untilLive(page);
  const deliver = await deliverTo(page);
  const other = await openTab(context, "about:blank");
  await lookAt(other, { away: [page] });
  const worker = await workerOf(page);
  await untilWorkerSees(page, false);
  expect(await shownBy(worker)).toEqual([]);
  const untilShown = ({ notification: { tag, body, actions } }: PushMessage) =>
    until(async () =>
      (await shownBy(worker)).some(
        (one) => one.tag === tag && one.body === body && one.actions.length === actions.length,
      ),
    );
  const show = async (message: PushMessage) => {
    await deliver(message);
    await untilShown(message);
  };
  return { context, page, other, deliver, show, untilShown, worker };
}

const asked = (id: string, person: Person) =>
  ({
    v: 1,
    event: "question",
    question_id: id,
    ticket: person.token,
    answers: ["Yes", "No"],
  }) as const;

const questionOf = async ({ send }: Person, id: string) =>
  (await send(`GET /v1/questions/${id}`)).body;
/** Not `waitForFunction`: it waits for frames that a tab in the background does not paint. */
const hashOf = (page: Page) => page.evaluate(() => location.hash);
const bodies = async (page: Page) => (await shownIn(page)).map(({ body }) => body);

webTest(
  "a push shows a question with its buttons and the badge, is reported as shown, and is replaced",
  async () => {
    const { person, agent } = await createPair(app.url);
    const { id } = await ask(agent.send, { prompt: "Publish?" });
    const { page, show, worker } = await openBehind(person);
    const badges = await watchBadge(worker);
    await show(pushMessage(asked(id, person), { app_badge: 3 }));
    const [shown] = await shownIn(page);
    expect(shown).toMatchObject({
      ...{ title: "Question from Release bot", body: "Publish?", tag: id, silent: false },
      actions: ["Yes", "No"],
    });
    expect(shown!.icon).toMatch(/\/assets\/icon-touch-\w+\.png$/);
    await until(async () => {
      const { deliveries } = (await person.send(`GET /v1/questions/${id}/deliveries`)).body;
      return deliveries.some((one: any) => one.shown_at !== null);
    });
    await show(
      pushMessage(
        { v: 1, event: "ended", question_id: id },
        { body: "Answered: Yes", app_badge: 0 },
      ),
    );
    expect(await shownIn(page)).toMatchObject([{ silent: true, actions: [], tag: id }]);
    // A push may be delivered again.
    expect([...new Set(await badges())]).toEqual([3, 0]);
  },
);

webTest("a push that no version can read still shows a notification", async () => {
  const { person } = await createPair(app.url);
  const { page, deliver, show } = await openBehind(person);
  await deliver("not JSON");
  await until(async () => (await shownIn(page)).length > 0);
  await deliver(JSON.stringify({ notification: { body: 7 } }));
  await show(pushMessage({ v: 1, event: "test" }, { title: "Relay", body: "A test." }));
  expect(await shownIn(page)).toMatchObject([{ title: "Relay", tag: "chn_1" }, { tag: "relay" }]);
});

webTest(
  "while the person looks at the page, a question is not shown twice and its end not at all",
  async () => {
    const { person, agent } = await createPair(app.url);
    const { id } = await ask(agent.send);
    const { page, other, deliver, show } = await openBehind(person);
    await show(pushMessage(asked(id, person)));
    await lookAt(page, { away: [other] });
    await untilWorkerSees(page, true);
    await deliver(pushMessage({ v: 1, event: "ended", question_id: id }));
    await until(async () => (await shownIn(page)).length === 0);
    await deliver(pushMessage(asked(id, person)));
    // The test notification comes last, and shows in any case.
    await show(pushMessage({ v: 1, event: "test" }));
    expect(await shownIn(page)).toMatchObject([{ tag: "chn_1" }]);
  },
);

webTest("the page and a push show one notification for a question", async () => {
  const { person, agent } = await createPair(app.url);
  const { page, show, worker } = await openBehind(person);
  await page.evaluate(() => localStorage.setItem("relay.notify", "on"));
  const first = await ask(agent.send, { prompt: "By the page?" });
  await until(async () => (await bodies(page)).includes("By the page?"));
  await show(pushMessage(asked(first.id, person), { body: "By push?" }));
  expect(await shownIn(page)).toMatchObject([{ tag: first.id, actions: ["Yes", "No"] }]);
  // In the other order, the push's notification stays.
  await worker.evaluate(() => {
    const { registration } = globalThis as any;
    return registration.showNotification("Pushed", { tag: "qst_1", body: "By push?" });
  });
  await page.evaluate(async () => {
    const { active } = await navigator.serviceWorker.ready;
    for (const question_id of ["qst_1", "qst_2"]) {
      active!.postMessage({ type: "show", question_id, title: "Page", body: "By the page?" });
    }
    // Without a type there is nothing to show.
    active!.postMessage({ title: "Old", body: "Old" });
    active!.postMessage({ type: "show", question_id: "qst_3", title: "Page", body: "Last" });
  });
  // The worker shows what it must as soon as it can, in any order.
  await until(async () => (await shownIn(page)).length >= 4);
  const shown = (await shownIn(page)).map(({ tag, title }) => `${title} ${tag}`).sort();
  expect(shown).toEqual([
    "Page qst_2",
    "Page qst_3",
    "Pushed qst_1",
    `Question from Release bot ${first.id}`,
  ]);
});

webTest("the worker shows and lists notifications one at a time", async () => {
  const { person, agent } = await createPair(app.url);
  const [first, second] = [await ask(agent.send), await ask(agent.send)];
  const { page, deliver, show, worker } = await openBehind(person, "#/tasks");
  await show(pushMessage(asked(first.id, person)));
  await show(pushMessage(asked(second.id, person)));
  await worker.evaluate(async (tag) => {
    const scope = globalThis as any;
    const { registration } = scope;
    const calls: string[] = [];
    const [notification] = await registration.getNotifications({ tag });
    Object.assign(scope, { calls, closes: 0, notification });
    scope.addEventListener("message", ({ data }: any) => {
      if (data.type === "close") scope.closes++;
    });
    const { showNotification, getNotifications } = registration;
    registration.getNotifications = (options: unknown) => {
      calls.push("list");
      return getNotifications.call(registration, options);
    };
    const released = new Promise<void>((resolve) => {
      scope.release = resolve;
    });
    registration.showNotification = async (...given: unknown[]) => {
      calls.push("show");
      await released;
      await showNotification.apply(registration, given);
      calls.push("shown");
    };
  }, second.id);
  const calls = () => worker.evaluate(() => (globalThis as any).calls as string[]);
  await deliver(pushMessage({ v: 1, event: "test" }));
  await until(async () => (await calls()).length > 0);
  // The page wants to close the notification while the person answers by the other one.
  await person.send(`POST /v1/questions/${first.id}/answer`, { answer: "No" });
  await until(() => worker.evaluate(() => (globalThis as any).closes > 0));
  await worker.evaluate(() => {
    const { notification, NotificationEvent } = globalThis as any;
    const event = new NotificationEvent("notificationclick", { notification, action: "answer-0" });
    event.waitUntil = () => {};
    dispatchEvent(event);
  });
  expect(await calls()).toEqual(["show"]);
  await worker.evaluate(() => (globalThis as any).release());
  await until(async () => (await bodies(page)).includes("Answered: Yes"));
  await until(async () => !(await shownIn(page)).some(({ tag }) => tag === first.id));
  expect((await shownIn(page)).map(({ tag }) => tag).sort()).toEqual(["chn_1", second.id].sort());
  const order = (await calls()).join(" ");
  expect(order.match(/show(?! shown)\b/g) ?? []).toEqual([]);
  expect(order).toContain("list");
});

webTest(
  "when a page and a push come at the same moment, the notification keeps its buttons",
  async () => {
    const { person, agent } = await createPair(app.url);
    const { page, deliver, show, untilShown } = await openBehind(person);
    for (let i = 0; i < 8; i++) {
      const { id } = await ask(agent.send);
      const byPage = () =>
        page.evaluate(async (question_id) => {
          const { active } = await navigator.serviceWorker.ready;
          active!.postMessage({ type: "show", question_id, title: "Page", body: "By the page?" });
        }, id);
      const message = pushMessage(asked(id, person));
      const byPush = () => deliver(message);
      await Promise.all(i % 2 ? [byPage(), byPush()] : [byPush(), byPage()]);
      await untilShown(message);
      // The worker has finished everything that it was told before.
      await show(pushMessage({ v: 1, event: "test" }, { tag: `chn_${i}` }));
      const found = (await shownIn(page)).filter(({ tag }) => tag === id);
      expect(found).toMatchObject([{ actions: ["Yes", "No"] }]);
    }
  },
);

webTest(
  "a notification button answers the question while no page is open, and shows the outcome",
  async () => {
    const { person, agent } = await createPair(app.url);
    const { id } = await ask(agent.send);
    const { page, show, worker } = await openBehind(person);
    const badges = await watchBadge(worker);
    await show(pushMessage(asked("qst_other", person)));
    await show(pushMessage(asked(id, person), { app_badge: 2 }));
    await page.close();
    await clickOn(worker, id, "answer-1");
    await until(async () => (await questionOf(person, id)).status === "answered");
    expect((await questionOf(person, id)).answer).toBe("No");
    const told = async () =>
      (await shownBy(worker))
        .filter(({ tag }) => tag === id)
        .map(({ body, silent }) => [body, silent]);
    await until(async () => (await told())[0]?.[0] === "Answered: No");
    expect(await told()).toEqual([["Answered: No", true]]);
    // The other question is left.
    await until(async () => (await badges()).at(-1) === 1);
    expect([...new Set(await badges())]).toEqual([2, 1]);
    await until(async () => {
      const { deliveries } = (await person.send(`GET /v1/questions/${id}/deliveries`)).body;
      return deliveries.some((one: any) => one.opened_at !== null);
    });
  },
);

webTest(
  "the worker does not take a proxy's sign-in page for the server's confirmation",
  async () => {
    const { person, agent } = await createPair(app.url);
    const { id } = await ask(agent.send);
    const proxy = startFrontProxy({ "/": app.url });
    const { show, worker } = await openBehind(person, "#/account", proxy.url);
    await show(pushMessage(asked(id, person)));
    proxy.use((request) => (/\/answer$/.test(request.url) ? html("Log in", 200) : undefined));
    await clickOn(worker, id, "answer-0");
    const told = async () => (await shownBy(worker)).find(({ tag }) => tag === id)?.body;
    await until(async () => (await told()) === "Not sent: Yes. Open Relay to answer.");
    expect((await questionOf(person, id)).status).toBe("pending");
  },
);

webTest("an answer by notification that came too late says how the question ended", async () => {
  const { person, agent } = await createPair(app.url);
  const { page, show, worker } = await openBehind(person, "#/tasks");
  const late = async (end: (id: string) => Promise<unknown>) => {
    const { id } = await ask(agent.send);
    await show(pushMessage(asked(id, person)));
    // The page would take the notification away.
    await page.evaluate(() => localStorage.setItem("relay.push-channel", "{}"));
    await end(id);
    await clickOn(worker, id, "answer-0");
    const found = async () => (await shownIn(page)).find(({ tag }) => tag === id)?.body;
    await until(async () => !/^(Publish|Sending)/.test((await found()) ?? "Publish"));
    return found();
  };
  const elsewhere = (id: string) =>
    person.send(`POST /v1/questions/${id}/answer`, { answer: "No" });
  expect(await late(elsewhere)).toBe("Already answered: No. Not sent: Yes");
  const cancelled = (id: string) => agent.send(`DELETE /v1/questions/${id}`);
  expect(await late(cancelled)).toBe("Cancelled by the agent. Not sent: Yes");
});

webTest(
  "an answer by notification is repeated until the server accepts it; a refused answer opens the page",
  async () => {
    const { person, agent } = await createPair(app.url);
    const { id } = await ask(agent.send);
    const { page, show, worker } = await openBehind(person, "#/tasks");
    await show(pushMessage(asked(id, person)));
    await worker.evaluate(() => {
      const scope = globalThis as any;
      const real = scope.fetch;
      let failures = 2;
      scope.fetch = (...given: unknown[]) => {
        if (failures-- === 2) return Promise.reject(new TypeError("network"));
        return failures === 0 ? Promise.resolve(new Response("", { status: 503 })) : real(...given);
      };
    });
    await clickOn(worker, id, "answer-0");
    await until(async () => (await bodies(page)).includes("Answered: Yes"));
    expect((await questionOf(person, id)).answer).toBe("Yes");
    // A page that hears of the end leaves the outcome on the screen.
    await page.evaluate(async (question_id) => {
      const { active } = await navigator.serviceWorker.ready;
      active!.postMessage({ type: "close", question_id });
      active!.postMessage({ type: "show", question_id: "qst_1", title: "Page", body: "Last" });
    }, id);
    await until(async () => (await bodies(page)).includes("Last"));
    expect(await bodies(page)).toContain("Answered: Yes");
    const second = await ask(agent.send);
    await show(pushMessage({ ...asked(second.id, person), ticket: "mcq_wrong" }));
    await clickOn(worker, second.id, "answer-0");
    await until(async () => (await hashOf(page)) === `#/questions/${second.id}`);
    expect(await bodies(page)).toContain("Not sent: Yes. Open Relay to answer.");
    expect((await questionOf(person, second.id)).status).toBe("pending");
  },
);

webTest("a click elsewhere on a notification leads the last used tab to its subject", async () => {
  const { person, agent } = await createPair(app.url);
  const { id } = await ask(agent.send);
  const { context, page, other, show, worker } = await openBehind(person, "#/tasks");
  const second = await openTab(context, `${app.url}/#/agents`);
  await untilLive(second);
  await lookAt(second, { away: [page] });
  await lookAt(other, { away: [second] });
  await untilWorkerSees(page, false);
  await show(pushMessage(asked(id, person)));
  await clickOn(worker, id);
  await until(async () => (await hashOf(second)) === `#/questions/${id}`);
  expect(await hashOf(page)).toBe("#/tasks");
  await until(async () => (await shownIn(page)).length === 0);
  // The click may have brought the tab to the front.
  await lookAt(other, { away: [page, second] });
  await untilWorkerSees(page, false);
  const task = "tsk_0123";
  await show(pushMessage({ v: 1, event: "task", task_id: task }));
  await clickOn(worker, task);
  await until(async () => (await hashOf(second)) === `#/tasks/${task}`);
});

webTest(
  "the notification of a permission request offers Deny and Open, and no Allow button",
  async () => {
    const { person, agent } = await createPair(app.url);
    await callHook(app.url, agent.secret, commandOf("make all;".repeat(100)));
    const { id } = await until(
      async () => (await person.send("GET /v1/questions")).body.questions[0] as { id: string },
    );
    const { page, show, worker } = await openBehind(person);
    const message = pushMessage(
      { ...asked(id, person), answers: ["Deny"] },
      {
        actions: [
          { action: "answer-0", title: "Deny", navigate: "" },
          { action: "open", title: "Open", navigate: "" },
        ],
      },
    );
    await show(message);
    expect((await shownIn(page))[0]?.actions).toEqual(["Deny", "Open"]);
    await clickOn(worker, id, "open");
    await until(async () => (await hashOf(page)) === `#/questions/${id}`);
    expect((await questionOf(person, id)).status).toBe("pending");
    await show(message);
    await clickOn(worker, id, "answer-0");
    await until(async () => (await questionOf(person, id)).answer === "Deny");
  },
);

webTest("a question that is to ring again makes a sound although it is shown", async () => {
  const { person } = await createPair(app.url);
  const { show, worker } = await openBehind(person);
  const rings = () =>
    worker.evaluate(async () => {
      const { registration } = globalThis as any;
      const shown = await registration.getNotifications();
      return shown.map(({ renotify }: { renotify: boolean }) => renotify);
    });
  await show(pushMessage(asked("qst_1", person)));
  expect(await rings()).toEqual([false]);
  await show(pushMessage({ ...asked("qst_1", person), again: true }, { body: "Still waiting" }));
  expect(await rings()).toEqual([true]);
});
