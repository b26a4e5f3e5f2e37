/**
 * The statements that a libSQL server runs for a group of batches. The server parses each statement anew, so
 * inserts of one kind become one statement, and a cheap query stands for those that do nothing.
 */

import type { Statement, WriteResult } from "./store.ts";

/** A statement of a group, as it is sent. */
interface GroupStep {
  readonly statement: Pick<Statement, "sql" | "args">;
  readonly wants_rows: boolean;
  /** Places in the group of the statements whose work it does. */
  readonly places: readonly number[];
  /** For a check: the queries that it runs, by {@link keyOf}. */
  readonly guards?: Check["guards"];
}

/** Queries of {@link Statement.only_if} that are run as one step, which fails if one of them returns a row. */
export interface Check {
  readonly guards: ReadonlyMap<string, Statement>;
}

/** The result of a statement that was not run. */
const SKIPPED: WriteResult = { rows: [], changes: 0, row_id: 0 };

/** Identifies a query of {@link Statement.only_if}. */
const keyOf = ({ sql, args }: Statement) => `${sql} ${JSON.stringify(args)}`;

/**
 * The steps of a group, in order. `hasWork` tells whether a query of {@link Statement.only_if} is known to return
 * a row: its statement is then run, and otherwise the query.
 */
export function toSteps(
  statements: readonly Statement[],
  hasWork: (guard: string) => boolean,
): GroupStep[] {
  const steps: GroupStep[] = [];
  /** Statements of the independent batches so far that run once, after the last of them. */
  let merged = new Map<string, number[]>();
  let checks = new Map<string, Map<string, Statement>>();

  const flush = () => {
    for (const places of merged.values()) steps.push(mergedStep(statements, places));
    for (const [sql, guards] of checks) steps.push(checkStep(sql, guards));
    merged = new Map();
    checks = new Map();
  };
  statements.forEach((statement, place) => {
    const { only_if, many, is_independent } = statement;
    if (!is_independent) flush();
    const guard = only_if && keyOf(only_if);
    if (guard !== undefined && !hasWork(guard)) {
      const same = checks.get(only_if!.sql) ?? new Map();
      checks.set(only_if!.sql, same.set(guard, only_if!));
    } else if (many && is_independent) {
      const places = merged.get(many.sql);
      if (places) places.push(place);
      else merged.set(many.sql, [place]);
    } else {
      steps.push({ statement, wants_rows: statement.returns !== "nothing", places: [place] });
    }
  });
  flush();
  return steps;
}

function mergedStep(statements: readonly Statement[], places: readonly number[]): GroupStep {
  const [first] = places as [number];
  if (places.length === 1) return { statement: statements[first]!, wants_rows: false, places };
  const args = [JSON.stringify(places.map((place) => statements[place]!.args))];
  return { statement: { sql: statements[first]!.many!.sql, args }, wants_rows: true, places };
}

/** A condition of a later step sees only whether this one failed, so a row makes it fail. */
function checkStep(sql: string, guards: Check["guards"]): GroupStep {
  let i = 0;
  const each = sql.replaceAll("?", () => `(r.value ->> ${i++})`);
  const args = [JSON.stringify([...guards.values()].map((guard) => guard.args))];
  const text = `select json('-') from json_each(?) r where exists (${each})`;
  return { statement: { sql: text, args }, wants_rows: false, places: [], guards };
}

/** True for the error of a check that found a row. */
export const isFailedCheck = ({ message }: { readonly message: string }): boolean =>
  /malformed JSON/i.test(message);

/** The result of each statement of a group of `count`, from those of its steps. */
export function fromSteps(
  statements: readonly Statement[],
  steps: readonly GroupStep[],
  results: readonly WriteResult[],
): WriteResult[] {
  const all = statements.map(() => SKIPPED);
  steps.forEach(({ places }, i) => {
    const result = results[i]!;
    if (places.length === 1) all[places[0]!] = result;
    if (places.length < 2) return;
    const numbers = new Map(result.rows.map(([row_id, key]) => [key, row_id as number]));
    for (const place of places) {
      const { many, args } = statements[place]!;
      const row_id = numbers.get(args[many!.key]!);
      if (row_id !== undefined) all[place] = { rows: [], changes: 1, row_id };
    }
  });
  return all;
}
