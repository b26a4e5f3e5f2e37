/** A look-up and the read after it take the locks of a file once (db/store/read-pair.ts). */

import { expect, test } from "bun:test";
import { join } from "node:path";
import { openConnection } from "../../db/store/connection.ts";
import { createPairedReads } from "../../db/store/read-pair.ts";
import type { Cell, Statement } from "../../db/store/store.ts";
import { rejectionOf } from "../support/rejection.ts";
import { tempFolder } from "../support/temp.ts";

const connection = openConnection(join(tempFolder(), "relay.db"), 5);
connection.exec(
  "create table t (id text primary key, a, b); insert into t values ('x', 1, 2), ('y', null, null)",
);

/** What ran on the connection: the parameters of each query. */
let ran: Cell[][] = [];
const run = (statement: Statement) => {
  ran.push([...statement.args]);
  return connection.run(statement);
};
const reads = createPairedReads({ connection: { ...connection, run }, runAlone: run });

const query = (sql: string, args: readonly Cell[], returns: Statement["returns"] = "row") =>
  ({ sql, args, returns, read: (rows) => rows }) satisfies Statement;
const first = (id: string) => query("select id, a from t where id = ?", [id]);
const second = (id: string) => query("select a, b from t where id = ? and ? = 7", [id, 7]);

/** The rows of a held query and of the one after it, and the parameters of each query that ran. */
async function pair(held: Statement, next: Statement) {
  ran = [];
  const holding = reads.hold(held, 1);
  const result = await reads.run(next, 1);
  return [(await holding).rows, result.rows, ran];
}

test("two queries of one row run as one", async () => {
  expect(await pair(first("x"), second("x"))).toEqual([[["x", 1]], [[1, 2]], [["x", "x", 7]]]);
});

test("a row of nulls is told from no row", async () => {
  expect(await pair(first("x"), second("y"))).toEqual([
    [["x", 1]],
    [[null, null]],
    [["x", "y", 7]],
  ]);
  expect(await pair(first("x"), second("z"))).toEqual([[["x", 1]], [], [["x", "z", 7]]]);
});

test("without a first row, each runs by itself", async () => {
  const alone = [["z", "x", 7], ["z"], ["x", 7]];
  expect(await pair(first("z"), second("x"))).toEqual([[], [[1, 2]], alone]);
});

test("a list runs after the held query", async () => {
  const list = query("select id from t order by id", [], "rows");
  expect(await pair(first("x"), list)).toEqual([[["x", 1]], [["x"], ["y"]], [["x"], []]]);
});

test("a fault of one query is not one of the other", async () => {
  const holding = reads.hold(first("x"), 1);
  expect(() => reads.run(query("select nothing from t", []), 1)).toThrow("nothing");
  expect((await holding).rows).toEqual([["x", 1]]);

  const faulty = rejectionOf(reads.hold(query("select nothing from t", []), 1));
  expect((await reads.run(second("x"), 1)).rows).toEqual([[1, 2]]);
  expect(await faulty).toBeInstanceOf(Error);
});

test("a held query runs by itself when it is asked to, and before another is held", async () => {
  ran = [];
  const one = reads.hold(first("x"), 1);
  const other = reads.hold(first("y"), 1);
  expect((await one).rows).toEqual([["x", 1]]);
  reads.runHeld();
  expect((await other).rows).toEqual([["y", null]]);
  reads.runHeld();
  expect(ran).toEqual([["x"], ["y"]]);
});
