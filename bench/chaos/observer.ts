/** Reads the store itself beside the processes: every event as it is written, and every table in the end. */

import { openStore } from "../../db/store/open.ts";
import { sql } from "../../db/store/sql.ts";
import { statement } from "../../db/store/statement.ts";
import type { Cell } from "../../db/store/store.ts";
import { systemClock } from "../../src/clock.ts";

export interface Event {
  readonly seq: number;
  readonly account: string;
  readonly subject: string;
  readonly name: string;
  readonly data: string;
}

/** Milliseconds between two reads of the events. They stay for half a minute. */
const READ_EVERY = 300;
const PAGE = 500;

export type Observer = Awaited<ReturnType<typeof startObserver>>;

export async function startObserver(url: string) {
  const store = await openStore({ url, auth_token: undefined }, systemClock);
  const events: Event[] = [];
  /** Numbers that were missing between two reads. */
  const gaps: string[] = [];
  let last = 0;
  let over = false;

  /** Rows of a query, however long the store is away. */
  const rows = async (text: string): Promise<Cell[][]> => {
    const query = statement(sql.raw(text), { returns: "rows" })({});
    for (let tries = 0; ; tries++) {
      try {
        return await store.read(query);
      } catch (error) {
        if (tries > 200) throw error;
        await Bun.sleep(100);
      }
    }
  };

  const read = async (): Promise<number> => {
    const found = await rows(
      `select seq, account_id, subject, name, data from events where seq > ${last} order by seq limit ${PAGE}`,
    );
    for (const [seq, account, subject, name, data] of found as [number, ...string[]][]) {
      if (last > 0 && seq !== last + 1) gaps.push(`${last} to ${seq}`);
      last = seq;
      events.push({ seq, account: account!, subject: subject!, name: name!, data: data! });
    }
    return found.length;
  };
  const loop = async () => {
    while (!over) {
      if ((await read()) < PAGE) await Bun.sleep(READ_EVERY);
    }
    while ((await read()) > 0);
  };
  const reading = loop();

  return {
    events,
    gaps,
    rows,
    /** Reads what is left. */
    async stop(): Promise<void> {
      over = true;
      await reading;
    },
    close: () => store.close(),
  };
}
