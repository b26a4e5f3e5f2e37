/** What the embedded store needs from the binding: a COMMIT that leaves the event loop free. */

import { expect, test } from "bun:test";
import { join } from "node:path";
import { openConnection } from "../../db/store/connection.ts";
import { tempFolder } from "../support/temp.ts";

const ROWS = 64;
const ROW = "x".repeat(512 * 1024);

test("a COMMIT in the binding's thread leaves the event loop free, and is seen once it is done", async () => {
  const path = join(tempFolder(), "connection.db");
  const writer = openConnection(path, 0);
  const reader = openConnection(path, 5);
  writer.exec("pragma journal_mode = wal");
  writer.exec("pragma synchronous = full");
  writer.exec("create table probe (id integer primary key, body text)");
  const insert = (body: string) =>
    writer.run({
      sql: "insert into probe (body) values (?)",
      args: [body],
      returns: "nothing",
    });
  const count = () =>
    reader.run({
      sql: "select count(*) from probe",
      args: [],
      returns: "row",
    }).rows[0]![0];

  let rows = 0;
  let turns = 0;
  // On the event loop each would take one turn, for 32 MiB. On a busy machine one may end before this thread has another.
  for (let round = 0; round < 20 && turns < 2; round++) {
    writer.exec("begin immediate");
    for (let i = 0; i < ROWS; i++) insert(ROW);
    const seen = new Set<unknown>();
    let done = false;
    const committed = writer.execAsync("commit").finally(() => {
      done = true;
    });
    for (turns = 0; !done; turns++) {
      seen.add(count());
      await new Promise<void>((next) => setImmediate(next));
    }
    await committed;
    seen.delete(rows);
    rows += ROWS;
    seen.delete(rows);
    expect([...seen]).toEqual([]);
    expect(count()).toBe(rows);
  }
  expect(turns).toBeGreaterThan(1);

  // A failed COMMIT is an error with its code, and the connection stays usable.
  const error = await writer.execAsync("commit").catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ name: "SqliteError", code: "SQLITE_ERROR" });
  expect(writer.inTransaction()).toBe(false);

  // Reading one row leaves no open transaction that would go on showing the earlier state.
  writer.exec("begin immediate");
  insert("last");
  await writer.execAsync("commit");
  expect(count()).toBe(rows + 1);
  reader.close();
  writer.close();
});
