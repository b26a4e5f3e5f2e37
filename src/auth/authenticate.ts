/** From a bearer token to a caller; the store is asked each time, so a deletion works at once. */

import { accountByToken } from "../../db/accounts.ts";
import { keyBySecret } from "../../db/keys.ts";
import type { Store } from "../../db/store.ts";
import { fail } from "../errors.ts";
import { digest } from "../ids.ts";
import { LIMITS } from "../limits.ts";
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

/** The kind of a credential and its digest; null for a header that has not the shape of one. */
function credentialOf(header: string | null): [Caller["kind"], string] | null {
  const [, secret] = (header !== null && BEARER.exec(header)) || [];
  return secret === undefined
    ? null
    : [secret.startsWith("mca_") ? "account" : "key", digest(secret)];
}

export function createAuth({ store }: { store: Pick<Store, "kind" | "read"> }) {
  /** By digest, what the last look-up of each credential gave, while the store is a round trip away. */
  const remembered = store.kind === "server" ? new Map<string, Authenticated>() : null;

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
      const credential = credentialOf(header);
      if (!credential) return null;
      const [kind, secret_digest] = credential;
      const found = await find(kind, secret_digest);
      if (!remembered) return found;
      if (remembered.size >= LIMITS.remembered_credentials) remembered.clear();
      if (found) remembered.set(secret_digest, found);
      else remembered.delete(secret_digest);
      return found;
    },

    /**
     * What {@link authenticate} gave for this header the last time; null on an embedded store, which
     * answers at once. It may have ended since: nothing may be answered by it alone.
     */
    recall(header: string | null): Authenticated | null {
      if (!remembered) return null;
      const credential = credentialOf(header);
      return (credential && remembered.get(credential[1])) ?? null;
    },

    /** Throws `401 unauthorized` when the credential has ended since (§4.1.5). */
    async assertLive(caller: Caller): Promise<void> {
      if (!(await find(caller.kind, caller.credential))) fail("unauthorized");
    },
  };
}
