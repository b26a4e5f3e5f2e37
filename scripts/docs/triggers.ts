/** The text of docs/triggers.md: every trigger of a migrated store, by its table. */

import { Database } from "bun:sqlite";
import journal from "../../db/migrations/meta/_journal.json" with { type: "json" };
import { readMigrations } from "../../db/store/migration-files.ts";

const HEAD = `# Triggers

Written by \`bun run docs\` from the migrations; a guard fails while it is out of date. The triggers are
business logic in the store: they hold for every process and every version that writes to it. To change one, write
a migration that drops it and creates it again.

| On | Trigger | Runs after | Writes to | Migration |
| --- | --- | --- | --- | --- |
`;

interface Trigger {
  readonly table: string;
  readonly name: string;
  readonly sql: string;
  /** The last migration that created the trigger. */
  readonly migration: string;
}

/** The triggers that a store has once all migrations are applied, by table and name. */
export function readTriggers(): Trigger[] {
  const db = new Database(":memory:");
  const created = new Map<string, string>();
  for (const [i, { sql }] of readMigrations().entries()) {
    for (const text of sql) {
      db.run(text);
      const name = /create trigger `(\w+)`/i.exec(text)?.[1];
      if (name) created.set(name, journal.entries[i]!.tag);
    }
  }
  const rows = db
    .query<Omit<Trigger, "migration">, []>(
      "select tbl_name as 'table', name, sql from sqlite_schema where type = 'trigger' order by 1, 2",
    )
    .all();
  return rows.map((row) => ({ ...row, migration: created.get(row.name)! }));
}

/** The text of docs/triggers.md. */
export function triggersPage(): string {
  const triggers = readTriggers();
  const rows = triggers.map(({ table, name, sql, migration }) => {
    const [, event] = /\bafter\s+(.+?)\s+on `/is.exec(sql)!;
    const written = sql.matchAll(/\b(?:(?<!do )update|insert into|delete from) `(\w+)`/gi);
    const targets = [...new Set([...written].map(([, target]) => `\`${target}\``))];
    return `| \`${table}\` | \`${name}\` | ${event} | ${targets.join(", ")} | ${migration} |\n`;
  });
  const sections = Map.groupBy(triggers, ({ table }) => table)
    .entries()
    .map(([table, of_table]) => {
      const blocks = of_table.map(
        ({ sql }) => `\`\`\`sql\n${sql.replaceAll("\t", "  ")};\n\`\`\`\n`,
      );
      return `\n## ${table}\n\n${blocks.join("\n")}`;
    });
  return [HEAD, ...rows, ...sections].join("");
}
