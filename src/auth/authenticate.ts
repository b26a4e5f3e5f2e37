/** From a bearer token to a caller; the store is asked each time, so a deletion works at once. */

import { accountByToken } from "../../db/accounts.ts";
import { keyBySecret } from "../../db/keys.ts";
import type { Store } from "../../db/store.ts";
import { fail } from "../errors.ts";
import { digest } from "../ids.ts";
import type { Caller, KeyCaller } from "../model/caller.ts";
import type { ClientInfo } from "../model/client.ts";

/** A caller, and what the store held of a key's use before this request. */
export interface Authenticated {
  readonly caller: Caller;
  readonly usage: KeyUsage | null;
}

export interface KeyUsage {
  readonly caller: KeyCaller;
  readonly last_used_at: number | null;
  readonly last_host: string | null;
  readonly last_client: ClientInfo | null;
}

const BEARER = /^bearer +(mc[ak]_[\w-]{1,200})$/i;

export type Auth = ReturnType<typeof createAuth>;

export function createAuth({ store }: { store: Store }) {
  const find = async (kind: Caller["kind"], credential: string): Promise<Authenticated | null> => {
    if (kind === "account") {
      const [account] = await store.read(accountByToken({ token_digest: credential }));
      if (!account) return null;
      return { caller: { kind, account_id: account.id, credential }, usage: null };
    }
    const [key] = await store.read(keyBySecret({ secret_digest: credential }));
    if (!key) return null;
    const caller = { kind, account_id: key.account_id, key_id: key.id, credential };
    return {
      caller,
      usage: {
        caller,
        last_used_at: key.last_used_at,
        last_host: key.last_host,
        last_client: key.last_client,
      },
    };
  };

  return {
    /** Whether an `Authorization` header has the shape of a credential, valid or not. */
    isWellFormed: (header: string | null): boolean => header !== null && BEARER.test(header),

    /** Resolves an `Authorization` header; null when it holds no valid credential. */
    async authenticate(header: string | null): Promise<Authenticated | null> {
      const match = header === null ? null : BEARER.exec(header);
      if (!match) return null;
      const secret = match[1]!;
      return find(secret.startsWith("mca_") ? "account" : "key", digest(secret));
    },

    /** Throws `401 unauthorized` when the credential has ended since (§4.1.5). */
    async assertLive(caller: Caller): Promise<void> {
      if (!(await find(caller.kind, caller.credential))) fail("unauthorized");
    },
  };
}
