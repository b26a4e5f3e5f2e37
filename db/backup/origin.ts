/** Tells of which store a backup is: one of another store is neither counted, nor replaced, nor removed. */

import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import { SIGNING, storedSecret } from "../secrets.ts";
import { openConnection } from "../store/connection.ts";
import type { Store } from "../store/store.ts";
import { BACKUP_TABLE } from "../store/store-contents.ts";
import { PLACES, type Vault } from "../store/vault.ts";
import { FILE_HEADER, type FileForm, formOfHeader } from "../store/wal-file.ts";

/** A store as its backups know it. */
export interface Origin {
  /** A secret that the store gets at its first start and keeps, not encrypted; null before. */
  readonly secret: string | null;
  readonly vault: Vault;
}

/** The store of this process. */
export async function originOfStore(store: Pick<Store, "read" | "vault">): Promise<Origin> {
  const { vault } = store;
  return { secret: vault.open(PLACES.secret(SIGNING), await storedSecret(store, SIGNING)), vault };
}

/**
 * What a backup says about its store; null for anything that is no whole backup of Relay, or that the key does not open.
 * Reads off the event loop, since a network folder may hang. Rejects if the file cannot be read.
 */
export async function originOf(path: string, vault: Vault): Promise<Origin | null> {
  const form = await formOfFile(path);
  if (form === "other" || (form === "encrypted" && vault.file_key === null)) return null;
  const connection = openConnection(":memory:", 0);
  const text = (value: string) => `'${value.replaceAll("'", "''")}'`;
  try {
    const uri = `${pathToFileURL(path).href}?immutable=1`;
    const key = form === "plain" ? "" : vault.file_key!;
    await connection.execAsync(`attach ${text(uri)} as copy key ${text(key)}`);
    await connection.execAsync(
      `create temp table found as
        select (select value from copy.secrets where name = ${text(SIGNING)}) as secret
        where exists (select 1 from copy.${BACKUP_TABLE})`,
    );
    const [row] = connection.prepare("select secret from temp.found").all() as [string | null][];
    if (!row) return null;
    const [stored] = row;
    return { secret: stored === null ? null : vault.open(PLACES.secret(SIGNING), stored), vault };
  } catch {
    // Another key, another program's database, or one that is damaged.
    return null;
  } finally {
    connection.close();
  }
}

async function formOfFile(path: string): Promise<FileForm> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!(await file.stat()).isFile()) return "other";
    const { bytesRead, buffer } = await file.read(Buffer.alloc(FILE_HEADER), 0, FILE_HEADER, 0);
    return formOfHeader(buffer.subarray(0, bytesRead));
  } finally {
    await file.close();
  }
}
