/** Reads a key's request log once it is written. */

import type { Send } from "./client.ts";
import type { TestClock } from "./clock.ts";
import { until } from "./until.ts";

export interface Entry {
  readonly action: string;
  readonly code: string | null;
  readonly [field: string]: unknown;
}

let hosts = 0;
/** Options of a request whose entry counts no other one: each comes from another host. */
export const apart = () => ({ headers: { "x-agent-host": `host-${++hosts}` } });

/** As if each request that an entry counts, but for the first `counted`, had one of its own beside it. */
export function expand<T extends object>(entry: T, counted = 0): T[] {
  const { count, last_at, ...rest } = entry as any;
  return Array(count - counted).fill(rest);
}

/** Sends one more request and returns the key's entries, oldest first, once that request has its entry. */
export async function entriesOf(
  clock: TestClock,
  person: { send: Send },
  agent: { send: Send; key: { id: string } },
) {
  // Written after all others, so an entry missing by then never comes.
  await clock.advance(0.001);
  const last = await agent.send("GET /v1/tasks/last-one", undefined, apart());
  if (last.status !== 404) throw new Error(`the last request gave ${last.status}`);
  await clock.advance(0.1);
  const path = `GET /v1/keys/${agent.key.id}/activity?limit=100` as const;
  const page = await until(async () => {
    const { body } = await person.send(path);
    return body.items[0]?.code === "not_found" && body;
  });
  const items: Entry[] = page.items;
  for (let cursor: string | null = page.next_cursor; cursor !== null; ) {
    const { body } = await person.send(`${path}&cursor=${cursor}`);
    items.push(...body.items);
    cursor = body.next_cursor;
  }
  return items
    .slice(1)
    .reverse()
    .flatMap((entry) => expand(entry));
}

/** Every entry of a key that the account can read, newest first. */
export async function readAll(send: Send, key_id: string) {
  const items: any[] = [];
  for (let cursor = ""; ; ) {
    const { body } = await send(`GET /v1/keys/${key_id}/activity?limit=100${cursor}`);
    items.push(...body.items);
    if (body.next_cursor === null) return items;
    cursor = `&cursor=${body.next_cursor}`;
  }
}

export const actionsOf = (entries: readonly Entry[]) =>
  entries.map(({ action, code }) => [action, code]);
