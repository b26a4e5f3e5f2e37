/** Tasks on a page whose clock the test moves, for tests of changes that can be undone. */

import type { BrowserContext, Page, Request } from "playwright-core";
import { createPair, createTask } from "../support/client.ts";
import { type DESK, openProfile, untilLive } from "./browser.ts";

export const sheet = (page: Page) => page.getByRole("dialog");
export const bars = (page: Page) => page.getByRole("region", { name: "Recent changes" });
export const undo = (page: Page) => page.getByRole("button", { name: "Undo", exact: true });
export const toast = (page: Page, text: string) => page.getByRole("status").getByText(text);
export const row = (page: Page, title: string) => page.locator("main li", { hasText: title });
export const finish = (page: Page, title: string) =>
  page.getByRole("button", { name: `Finish: ${title}` });

/** Requests that change tasks or agents, by the names of their procedures. */
export function changesIn(from: Page | BrowserContext): string[] {
  const found: string[] = [];
  const note = (request: Request) => {
    const [, names] =
      /\/trpc\/((?:tasks\.(?:update|delete)|keys\.delete)[^?]*)/.exec(request.url()) ?? [];
    if (names) found.push(...names.split(","));
  };
  if ("keyboard" in from) from.on("request", note);
  else from.on("request", note);
  return found;
}

/** An account with these tasks, and a page whose clock the test moves. */
export async function openTasks(
  url: string,
  titles: readonly string[],
  options: { size?: typeof DESK; touch?: true } = {},
) {
  const { person, agent } = await createPair(url);
  const ids: Record<string, string> = {};
  for (const title of titles) ids[title] = (await createTask(agent.send, { title })).id;
  const context = await openProfile(url, { as: person, ...options });
  const tab = async () => {
    const page = await context.newPage();
    await page.clock.install();
    await page.goto(`${url}/#/tasks`);
    await untilLive(page);
    return page;
  };
  /** The task, after the agent has changed it if `change` is given. */
  const taskOf = async (title: string, change?: object) => {
    const method = change ? "PATCH" : "GET";
    return (await agent.send(`${method} /v1/tasks/${ids[title]}`, change)).body;
  };
  const statusOf = async (title: string) => {
    const { id, status } = await taskOf(title);
    return id ? status : "gone";
  };
  return { person, agent, ids, context, tab, page: await tab(), taskOf, statusOf };
}

export async function remove(page: Page, title: string): Promise<void> {
  await page.getByRole("link", { name: title }).click();
  await sheet(page).getByRole("button", { name: "Delete" }).click();
  await row(page, title).waitFor({ state: "detached" });
  await sheet(page).waitFor({ state: "detached" });
}
