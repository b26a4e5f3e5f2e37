/** Secrets of the service, made once and kept in the store (§12.2.1). */

import { ConfigError } from "../src/config.ts";
import { secrets } from "./schema.ts";
import { assertCompatible } from "./store/compatibility.ts";
import { p, sql } from "./store/sql.ts";
import { insertWhere, rowOf, rowsOf, statement } from "./store/statement.ts";
import type { Store } from "./store/store.ts";
import { NEEDS_KEY, NOT_ENCRYPTED, OTHER_KEY, RefusedStore } from "./store/store-contents.ts";
import { isSealed, PLACES, SealedError, type Vault } from "./store/vault.ts";

const add = statement(sql`${insertWhere(secrets, sql`true`)} on conflict (name) do nothing`);
const find = statement(sql`select value from secrets where name = ${p("name")}`, {
  returns: rowOf<[value: string]>(),
});

const any = statement(sql`select name from secrets limit 1`, { returns: rowOf<[name: string]>() });

/** True until the first start on this store is complete, which makes the secrets last. Needs migrated tables. */
export const isNewStore = async (store: Pick<Store, "read">): Promise<boolean> =>
  (await store.read(any({}))).length === 0;

/** Returns the secret of this name. The first process that asks stores `fresh`, which every process then gets. */
export async function sharedSecret(store: Store, name: string, fresh: string): Promise<string> {
  const place = PLACES.secret(name);
  const [known] = await store.read(find({ name }));
  if (known) return openOwn(store, place, known[0]);
  await store.write([add({ name, value: store.vault.seal(place, fresh) })]);
  const [row] = await store.read(find({ name }));
  return openOwn(store, place, row![0]);
}

/** Throws a ConfigError if another process, which started at the same time, has another key. */
function openOwn({ vault }: Store, place: string, stored: string): string {
  try {
    return vault.open(place, stored);
  } catch (error) {
    if (!(error instanceof SealedError)) throw error;
    throw new ConfigError("DATABASE_ENCRYPTION_KEY: is not the key of the store", { cause: error });
  }
}

/** The secret of this name as it is stored: encrypted, if there is a key. */
export async function storedSecret(store: Pick<Store, "read">, name: string): Promise<string> {
  const [row] = await store.read(find({ name }));
  return row![0];
}

/** The secret by which the key of a store is known, and a mark that its key is being changed (rekey.ts). */
export const SIGNING = "signing";
export const REKEYING = "rekeying";

type ReadStore = Pick<Store, "read" | "vault">;

const hasTable = statement(
  sql`select 1 from sqlite_schema where type = 'table' and name = 'secrets'`,
  { returns: rowOf<[1]>() },
);
const marks = statement(
  sql`select name, value from secrets where name in (${sql.raw(`'${SIGNING}', '${REKEYING}'`)})`,
  { returns: rowsOf<[name: string, value: string]>() },
);

/**
 * Throws {@link RefusedStore} if the store is encrypted with another key than this process has, or with none, or if only
 * one of the two is. A new store passes. Writes nothing.
 */
export async function assertKeyFits(store: ReadStore): Promise<void> {
  if ((await store.read(hasTable({}))).length > 0) await checkKey(store);
}

/**
 * Throws while this process runs if the store now permits only newer versions (`OutdatedError`), or has another key
 * ({@link RefusedStore}).
 */
export async function assertUsable(store: Store): Promise<void> {
  await Promise.all([assertCompatible(store), checkKey(store)]);
}

/** True while the key of a store is being changed, and after that was cut off. */
export const isRekeying = async (store: Pick<Store, "read">): Promise<boolean> =>
  (await store.read(find({ name: REKEYING }))).length > 0;

async function checkKey(store: ReadStore): Promise<void> {
  const found = new Map(await store.read(marks({})));
  if (found.has(REKEYING)) {
    throw new RefusedStore("a change of its encryption key was cut off; run relay rekey again");
  }
  const stored = found.get(SIGNING);
  if (stored === undefined) return;
  if (store.vault.file_key !== null && !isSealed(stored)) throw new RefusedStore(NOT_ENCRYPTED);
  assertOpens(store.vault, stored);
}

/** Throws {@link RefusedStore} unless the vault opens the secret {@link SIGNING} as it is stored, or it is not encrypted. */
export function assertOpens(vault: Vault, stored: string): void {
  try {
    vault.open(PLACES.secret(SIGNING), stored);
  } catch (error) {
    if (!(error instanceof SealedError)) throw error;
    throw new RefusedStore(vault.file_key === null ? NEEDS_KEY : OTHER_KEY);
  }
}

/** Throws {@link RefusedStore} unless the vault opens the values of the store. One that is not encrypted passes. */
export async function assertReadable({ read, vault }: ReadStore): Promise<void> {
  const stored = new Map(await read(marks({}))).get(SIGNING);
  if (stored !== undefined) assertOpens(vault, stored);
}
