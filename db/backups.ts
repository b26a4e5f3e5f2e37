/** What processes on a store share about its automatic backups: whose turn it is, and how the last one ended. */

import { p, sql } from "./store/sql.ts";
import { rowOf, statement } from "./store/statement.ts";
import { IN_BACKGROUND, type Store } from "./store/store.ts";

/** How the last attempt ended. Times are in epoch seconds. */
export interface BackupOutcome {
  /** When this was written. */
  readonly at: number;
  /** Seconds between two backups, as the process that wrote this is configured. */
  readonly every: number;
  /** The newest good backup; null before the first one. */
  readonly made: { readonly at: number; readonly bytes: number } | null;
  /** Null after a good one. `times`: attempts that failed in a row. */
  readonly failing: {
    readonly since: number;
    readonly reason: string;
    readonly times: number;
  } | null;
}

/**
 * Takes or renews the turn; returns a row if `holder` has it. A time beyond `latest` was written by a clock that was
 * wrong.
 */
const claim = statement(
  sql`insert into store_facts (name, value)
      values ('backup_turn', json_object('holder', ${p("holder")}, 'until', ${p("until")}))
    on conflict (name) do update set value = excluded.value
      where value ->> '$.holder' = ${p("holder")}
        or value ->> '$.until' not between ${p("now")} and ${p("latest")}
    returning name`,
  { returns: rowOf<[name: string]>() },
);
const release = statement(
  sql`delete from store_facts where name = 'backup_turn' and value ->> '$.holder' = ${p("holder")}`,
  { synced: false },
);
const readOutcome = statement(sql`select value from store_facts where name = 'backup_outcome'`, {
  returns: rowOf<[value: string]>(),
});
const writeOutcome = statement(
  sql`insert into store_facts (name, value) values ('backup_outcome', ${p("value")})
    on conflict (name) do update set value = excluded.value`,
  { synced: false },
);

export type BackupRecord = ReturnType<typeof createBackupRecord>;

/** `holder`: the name of this process. */
export function createBackupRecord(store: Pick<Store, "read" | "write">, holder: string) {
  return {
    /** Takes or renews the turn until `seconds` after `now`; false if another process has it. */
    async claim(now: number, seconds: number): Promise<boolean> {
      const times = { now, until: now + seconds, latest: now + 2 * seconds };
      const [result] = await store.write([claim({ holder, ...times })], IN_BACKGROUND);
      return result!.rows.length > 0;
    },

    /** Gives the turn back. */
    async release(): Promise<void> {
      await store.write([release({ holder })], IN_BACKGROUND);
    },

    /** Null before the first attempt. */
    async read(): Promise<BackupOutcome | null> {
      const [row] = await store.read(readOutcome({}));
      return row ? (JSON.parse(row[0]) as BackupOutcome) : null;
    },

    async write(outcome: BackupOutcome): Promise<void> {
      await store.write([writeOutcome({ value: JSON.stringify(outcome) })], IN_BACKGROUND);
    },
  };
}
