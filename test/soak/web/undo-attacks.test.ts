/** Undo in a hostile browser: without its storage, locks or events, after a crash, and with many changes at once. */

import { expect } from "bun:test";
import type { BrowserContext, Page } from "playwright-core";
import { startTestApp } from "../../support/app.ts";
import { createPair, createTask } from "../../support/client.ts";
import { until } from "../../support/until.ts";
import {
  browserTests,
  expectComplaints,
  LAN_NAME,
  openProfile,
  untilLive,
} from "../../web/browser.ts";

const webTest = browserTests();
const app = await startTestApp();

const undo = (page: Page) => page.getByRole("button", { name: "Undo", exact: true });
const row = (page: Page, title: string) => page.locator("main li", { hasText: title });

interface OpenOptions {
  readonly titles: readonly string[];
  readonly url?: string;
  /** Runs in each page before its own scripts. */
  readonly before?: () => void;
}

/** An account with these tasks, and pages whose clock the test moves. */
async function open({ titles, url = app.url, before }: OpenOptions) {
  const { person, agent } = await createPair(app.url);
  const ids: Record<string, string> = {};
  for (const title of titles) ids[title] = (await createTask(agent.send, { title })).id;
  const context = await openProfile(url, { as: person });
  if (before) await context.addInitScript(before);
  const tab = async () => {
    const page = await context.newPage();
    await page.clock.install();
    await page.goto(`${url}/#/tasks`);
    await untilLive(page);
    return page;
  };
  const left = async (): Promise<string[]> => {
    const { body } = await agent.send("GET /v1/tasks?limit=200&status=todo,in_progress");
    return body.tasks.map(({ title }: { title: string }) => title).sort();
  };
  return { context, person, agent, ids, tab, left };
}

async function remove(page: Page, title: string): Promise<void> {
  await page.getByRole("link", { name: title }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await row(page, title).waitFor({ state: "detached" });
  await page.getByRole("dialog").waitFor({ state: "detached" });
}

/** Says that the page is hidden, which a headless browser does not do by itself. */
const hide = (page: Page) =>
  page.evaluate(() => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => true });
    document.dispatchEvent(new Event("visibilitychange"));
  });

/** The pages that delete a task, in the order of their requests. */
function deletionsIn(context: BrowserContext): Page[] {
  const found: Page[] = [];
  context.on("request", (request) => {
    if (request.url().includes("tasks.delete")) found.push(request.frame().page());
  });
  return found;
}

webTest("without storage, a change can be undone, and is sent when the page is left", async () => {
  expectComplaints(/404/);
  const { tab, left } = await open({
    titles: ["Kept", "Sent"],
    before: () => {
      const { setItem } = Storage.prototype;
      Storage.prototype.setItem = function (name: string, value: string) {
        if (name.includes("changes")) throw new DOMException("full", "QuotaExceededError");
        setItem.call(this, name, value);
      };
    },
  });
  const page = await tab();
  await remove(page, "Kept");
  await undo(page).click();
  await row(page, "Kept").waitFor();
  await remove(page, "Sent");
  await hide(page);
  await until(async () => (await left()).join() === "Kept");
});

webTest("what another program left under the name of the changes does no harm", async () => {
  const { tab, left, person } = await open({ titles: ["Stays"] });
  const page = await tab();
  const { body } = await person.send("GET /v1/account");
  const hostile = [
    "{",
    "7",
    '"x"',
    JSON.stringify({ account_id: body.id, changes: 5 }),
    JSON.stringify({ account_id: body.id, changes: [null, {}, { id: "a", action: "delete" }] }),
    JSON.stringify({
      account_id: body.id,
      changes: [{ id: "a", action: "drop", subjects: [{ id: "x", name: "y" }], due: 0 }],
    }),
  ];
  for (const text of hostile) {
    await page.evaluate((value) => localStorage.setItem("relay.changes", value), text);
    await page.reload();
    await untilLive(page);
    await row(page, "Stays").waitFor();
  }
  await remove(page, "Stays");
  await page.clock.fastForward(6_100);
  await until(async () => (await left()).length === 0);
});

webTest(
  "over plain http, without locks, one tab sends a change, and others if it is gone",
  async () => {
    expectComplaints(/Cross-Origin-Opener-Policy/);
    const { context, tab, left } = await open({
      titles: ["One", "Two"],
      url: `http://${LAN_NAME}:${new URL(app.url).port}`,
    });
    const [page, other] = [await tab(), await tab()];
    expect(await page.evaluate(() => navigator.locks === undefined)).toBe(true);
    const sent = deletionsIn(context);
    await remove(page, "One");
    await row(other, "One").waitFor({ state: "detached" });
    // The clock is that of both.
    await context.clock.fastForward(6_100);
    await until(async () => (await left()).join() === "Two");
    await undo(other).waitFor({ state: "detached" });
    await context.clock.fastForward(10_000);
    expect(sent).toEqual([page]);
    // A tab that has crashed sends nothing, so another one does.
    await remove(page, "Two");
    await row(other, "Two").waitFor({ state: "detached" });
    await page.goto("chrome://crash").catch(() => null);
    await page.close();
    await context.clock.fastForward(6_100);
    await undo(other).waitFor();
    await context.clock.fastForward(3_100);
    await until(async () => (await left()).length === 0);
    expect(sent).toEqual([page, other]);
  },
);

webTest("after a crash, the change is still there and is sent", async () => {
  const { tab, left } = await open({ titles: ["Crashed"] });
  const page = await tab();
  await remove(page, "Crashed");
  await page.goto("chrome://crash").catch(() => null);
  await page.close();
  expect(await left()).toEqual(["Crashed"]);
  const next = await tab();
  await undo(next).waitFor();
  expect(await row(next, "Crashed").count()).toBe(0);
  await next.clock.fastForward(6_100);
  await until(async () => (await left()).length === 0);
});

webTest(
  "where a reload cannot be told from a close, it sends; a hidden tab sends its own changes",
  async () => {
    expectComplaints(/404/);
    const { tab, left } = await open({
      titles: ["Mine", "Reloaded", "Theirs"],
      before: () =>
        window.addEventListener("pageswap", (event) => event.stopImmediatePropagation()),
    });
    const [page, other] = [await tab(), await tab()];
    await remove(page, "Reloaded");
    await page.reload();
    await until(async () => (await left()).join() === "Mine,Theirs");
    await undo(page).waitFor({ state: "detached" });

    await remove(page, "Mine");
    await remove(other, "Theirs");
    await undo(page).nth(1).waitFor();
    await hide(page);
    await until(async () => (await left()).join() === "Theirs");
    await undo(other).click();
    await row(other, "Theirs").waitFor();
    await other.clock.fastForward(10_000);
    expect(await left()).toEqual(["Theirs"]);
  },
);

webTest("150 tasks are deleted by a page that is closed at once", async () => {
  const titles = Array.from({ length: 150 }, (_, i) => `Task ${i}`);
  const { tab, left } = await open({ titles });
  const page = await tab();
  await page.getByRole("button", { name: "Choose", exact: true }).click();
  await page.getByRole("button", { name: "Choose all" }).click();
  await page.getByRole("button", { name: "Delete 150" }).click();
  await page.getByText("150 tasks deleted", { exact: true }).waitFor();
  await page.goto("about:blank");
  await until(async () => (await left()).length === 0);
});
