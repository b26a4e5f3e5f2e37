/** How far questions got: what the server knows of it, and the receipts that a page sends. */

import type { Page } from "playwright-core";
import type { Person } from "../support/client.ts";

export const deliveriesOf = async ({ send }: Person, id: string): Promise<any[]> =>
  (await send(`GET /v1/questions/${id}/deliveries`)).body.deliveries;

/** The delivery to the page. */
export const pageOf = async (person: Person, id: string) =>
  (await deliveriesOf(person, id)).find(({ target }) => target.type === "page");

export const isShown = async (person: Person, id: string) =>
  (await pageOf(person, id))?.shown_at != null;

/** Question and event of each receipt that the page sends from now on. */
export function receiptsOf(page: Page): string[] {
  const sent: string[] = [];
  page.on("request", (request) => {
    if (!request.url().includes("deliveries.receive")) return;
    const { question_id, event } = request.postDataJSON();
    sent.push(`${event} ${question_id}`);
  });
  return sent;
}
