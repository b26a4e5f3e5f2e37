/** The tasks of the bare server: the SQL for both stores, and the interface that the server needs from a store. */

export type Cell = string | number | null;

/** Each write resolves once it is durable; a read that need not wait returns no promise. */
export interface BareStore {
  create(args: Cell[]): Promise<unknown>;
  /** Arguments: `status_note`, `updated_at`, `id`; returns the row. */
  patch(args: Cell[]): Promise<unknown>;
  read(id: string): unknown;
  /** Arguments: `key_id`, `limit`. */
  list(args: Cell[]): readonly unknown[] | Promise<readonly unknown[]>;
}

export const TABLE = `create table tasks (
  id text primary key not null, key_id text not null, account_id text not null, title text not null,
  description text not null, status text not null, priority text not null, notify integer not null,
  progress integer, status_note text, source text not null, created_at integer not null,
  updated_at integer not null, completed_at integer, seen_at integer, host text,
  revision text not null)`;
export const INDEXES = [
  "create index tasks_key on tasks (key_id, status, updated_at, id)",
  "create index tasks_account on tasks (account_id, status, updated_at, id, key_id)",
];
export const INSERT = `insert into tasks values (${Array(17).fill("?").join(", ")})`;
export const PATCH = "update tasks set status_note = ?, updated_at = ? where id = ? returning *";
export const READ = "select * from tasks where id = ?";
/** All tasks of the bench have one status, so the index returns them in order. */
export const LIST = `select * from tasks where key_id = ? and status = 'todo'
  order by updated_at desc, id desc limit ?`;
