/** Finds the shard of a request: by the mark in its credential, and for accounts that have moved by the directory. */

import type { Client } from "@libsql/client";
import { digest, type Ids } from "../../src/ids.ts";

/** A credential of 43 characters, which encode 256 bits: the last character has two bits to spare, which are 0. */
const BEARER = /^bearer +(mc[ako]_([\w-]{43}))$/i;
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
/** The spare bits of a credential whose first two characters are the number of its shard. */
const MARKED = 1;
const SPARE = 3;

/** Shard of all credentials that were made before there were shards. */
const FIRST_SHARD = 0;
/** The shard in the directory while an account is on its way. */
export const MOVING = -1;
/** Milliseconds between two reads of the directory's changes, so how long a move waits until every process knows. */
const POLL = 250;

/** The secret of a credential with the mark of a shard, as long as before and with 244 random bits. */
const withMark = (secret: string, shard: number): string =>
  `${ALPHABET[shard >> 6]}${ALPHABET[shard & 63]}${secret.slice(2, -1)}${ALPHABET[ALPHABET.indexOf(secret.at(-1)!) | MARKED]}`;

/** The shard of a secret's mark, without its prefix; undefined without one. */
export function markOf(secret: string): number | undefined {
  const [first, second, last] = [0, 1, 42].map((at) => ALPHABET.indexOf(secret[at]!));
  return (last! & SPARE) === MARKED ? (first! << 6) | second! : undefined;
}

/** Ids whose credentials carry the mark of a shard; null makes credentials without one. */
export function markedIds(ids: Ids, shard: number | null): Ids {
  if (shard === null) return ids;
  return {
    ...ids,
    secret(prefix) {
      const plain = ids.secret(prefix);
      return `${plain.slice(0, 4)}${withMark(plain.slice(4), shard)}`;
    },
  };
}

/**
 * The directory of credentials whose account has moved, in one libSQL database. A process holds all of it in memory
 * and reads the changes every {@link POLL} ms. `version` counts the changes.
 */
export async function openDirectory(client: Client) {
  await client.execute(
    "create table if not exists moved (digest text primary key, shard integer not null, version integer not null)",
  );
  await client.execute("create index if not exists moved_version on moved (version)");
  const moved = new Map<string, number>();
  let version = 0;

  const follow = async () => {
    const { rows } = await client.execute({
      sql: "select digest, shard, version from moved where version > ? order by version",
      args: [version],
    });
    for (const row of rows) {
      moved.set(String(row.digest), Number(row.shard));
      version = Number(row.version);
    }
  };
  await follow();
  const polls = setInterval(() => void follow().catch(() => {}), POLL);

  return {
    /** The shard of an `Authorization` header: a number, or {@link MOVING}. */
    shardOf(header: string): number {
      const [, credential, secret] = BEARER.exec(header) ?? [];
      if (credential === undefined || secret === undefined) return FIRST_SHARD;
      const home = markOf(secret) ?? FIRST_SHARD;
      return moved.size === 0 ? home : (moved.get(digest(credential)) ?? home);
    },
    /** Writes where the credentials are, and resolves once every process has read it. */
    async set(digests: readonly string[], shard: number): Promise<void> {
      await client.batch(
        digests.map((one) => ({
          sql: `insert into moved select ?, ?, coalesce(max(version), 0) + 1 from moved where true
            on conflict (digest) do update set shard = excluded.shard, version = excluded.version`,
          args: [one, shard],
        })),
        "write",
      );
      await follow();
      await Bun.sleep(2 * POLL);
    },
    close: () => clearInterval(polls),
  };
}
