/** SQL statements know the names and types of their parameters, and the types of their rows (db/store/statement.ts). */

import { expect, test } from "bun:test";
import { sql as drizzle } from "drizzle-orm";
import { challenges } from "../../db/credentials-schema.ts";
import { tasks } from "../../db/schema.ts";
import { p, sql } from "../../db/store/sql.ts";
import {
  columnsBut,
  insertWhere,
  qb,
  rowOf,
  select,
  statement,
  updateSet,
} from "../../db/store/statement.ts";
import type { Statement } from "../../db/store/store.ts";
import type { Task } from "../../src/model/task.ts";

// Each `@ts-expect-error` fails `bun run check` when its line compiles.

test("a forgotten or misspelled parameter does not compile, and fails when the statement is called", () => {
  const due = sql`expires_at > ${p("now", challenges.expires_at)}`;
  const remove = statement(
    sql`delete from challenges where challenge = ${p("challenge")} and ${due} limit ${p("limit")}`,
  );
  const complete = { challenge: "c", now: 1.5, limit: 2 };
  expect(remove(complete).args).toEqual(["c", 1_500, 2]);
  // @ts-expect-error `limit` is missing
  expect(() => remove({ challenge: "c", now: 1 })).toThrow("limit");
  // @ts-expect-error `now` of the nested text is missing
  expect(() => remove({ challenge: "c", limit: 1 })).toThrow("now");
  // @ts-expect-error `chalenge` is misspelled
  expect(() => remove({ chalenge: "c", now: 1, limit: 1 })).toThrow("challenge");
  // @ts-expect-error `now` is a time
  remove({ challenge: "c", now: "soon", limit: 1 });
});

test("text of drizzle's own, whose parameters have no type, is not accepted in a statement", () => {
  const untyped = drizzle`id = ${drizzle.placeholder("id")}`;
  // @ts-expect-error its parameters are unknown
  statement(untyped);
  // @ts-expect-error so are those of a part of another text
  statement(sql`select 1 where ${untyped}`);
  const found = qb.select({ id: tasks.id }).from(tasks).where(untyped);
  expect(() => select(found, sql`limit 1`)).toThrow("in no type");
  const named = select(found, sql`limit ${p("limit")}`, { params: ["id"] });
  expect(named({ id: "tsk_1", limit: 2 }).args).toEqual(["tsk_1", 2]);
  // @ts-expect-error `id` is missing
  expect(() => named({ limit: 2 })).toThrow("id");
});

test("an insert needs every column, and an update the columns that it names, or all but some", () => {
  const insert = statement(insertWhere(challenges, sql`${p("limit")} > 0`));
  expect(insert({ challenge: "c", expires_at: 1, limit: 1 }).args).toEqual(["c", 1_000, 1]);
  // @ts-expect-error `expires_at` is missing
  expect(() => insert({ challenge: "c", limit: 1 })).toThrow("expires_at");
  const move = statement(updateSet(challenges, ["expires_at"], sql`challenge = ${p("challenge")}`));
  expect(move({ challenge: "c", expires_at: 1 }).args).toEqual([1_000, "c"]);
  // @ts-expect-error `expires_at` is missing
  expect(() => move({ challenge: "c" })).toThrow("expires_at");
  const change = statement(
    updateSet(challenges, columnsBut(challenges, ["challenge"]), sql`challenge = ${p("old")}`),
  );
  expect(change({ expires_at: 1, old: "c" }).args).toEqual([1_000, "c"]);
  // @ts-expect-error `expires_at` is missing
  expect(() => change({ old: "c" })).toThrow("expires_at");
});

test("the rows of a statement have the types of their columns", () => {
  const titles = select(
    qb.select({ id: tasks.id, priority: tasks.priority }).from(tasks),
    sql`where key_id = ${p("owner")} order by id`,
  );
  const found: Statement<Pick<Task, "id" | "priority">> = titles({
    owner: "k",
  });
  expect(found.read([["tsk_1", "low"]])).toEqual([{ id: "tsk_1", priority: "low" }]);
  // @ts-expect-error a priority is not a number
  const wrong: Statement<{ id: string; priority: number }> = titles({ owner: "k" });
  expect(wrong.list_owner).toBe("k");
  const count = statement(sql`select count(*) from tasks`, { returns: rowOf<[count: number]>() });
  const [row] = count({}).read([[3]]);
  expect(row![0] + 1).toBe(4);
});
