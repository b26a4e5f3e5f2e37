/** The bare server's store on a file: the native binding with group commit and nothing else. */

import Database from "libsql";
import {
  type BareStore,
  type Cell,
  INDEXES,
  INSERT,
  LIST,
  PATCH,
  READ,
  TABLE,
} from "./bare-tasks.ts";

/** Opens the file at `path`, in WAL mode with synchronous FULL, as Relay does. */
export function openBareFile(path: string): BareStore {
  const db = new Database(path);
  for (const text of [
    "pragma journal_mode = wal",
    "pragma synchronous = full",
    TABLE,
    ...INDEXES,
  ]) {
    db.exec(text);
  }
  const begin = db.prepare("begin immediate");
  const commit = db.prepare("commit");
  const insert = db.prepare(INSERT);
  const patch = db.prepare(PATCH);
  const byId = db.prepare(READ);
  const byKey = db.prepare(LIST);

  const waiting: { readonly args: Cell[]; readonly done: (row: unknown) => void }[] = [];
  const commitGroup = () => {
    const group = waiting.splice(0);
    begin.run();
    const rows = group.map(({ args }) => (args.length > 3 ? insert.run(args) : patch.get(args)));
    commit.run();
    for (const [i, { done }] of group.entries()) done(rows[i]);
  };
  const write = (args: Cell[]) =>
    new Promise<unknown>((done) => {
      if (waiting.push({ args, done }) === 1) setImmediate(commitGroup);
    });
  return {
    create: write,
    patch: write,
    read: (id) => byId.get([id]),
    list: (args) => byKey.all(args),
  };
}
