/** From a bearer token to a caller. Each request reads the store, so a deletion takes effect at once. */

import { credentialOwner, refusedCredential } from "../../db/credentials.ts";
import type { Store } from "../../db/store/store.ts";
import type { Clock } from "../clock.ts";
import { blocked, fail } from "../errors.ts";
import { digest } from "../ids.ts";
import type { AccountCaller, Caller, CredentialHolder, KeyCaller } from "../model/caller.ts";
import type { ClientInfo } from "../model/client.ts";
import { isTicket, type Tickets } from "./tickets.ts";

/** Credentials that a process remembers, so that it reads them together with the row of a request. */
const REMEMBERED = 10_000;

/** A caller, and the use of its credential before this request. */
export interface Authenticated {
  readonly caller: CredentialHolder;
  /** Null for a ticket, whose use is not recorded. */
  readonly usage: Usage | null;
}

/**
 * Why a credential is refused. `blocked`: its account is (§4.4); `ended`: it is an account token that has ended in this
 * store (§4.1.7); `unknown`: this store has never seen it, or it was not an account token.
 */
export type Refusal = "blocked" | "ended" | "unknown";

export type Usage = KeyUsage | SessionUsage;

interface SessionUsage {
  readonly caller: AccountCaller;
  readonly last_used_at: number | null;
}

interface KeyUsage {
  readonly caller: KeyCaller;
  /** Written once a minute at most (§2.3.2). */
  readonly last_used_at: number | null;
  readonly last_host: string | null;
  readonly last_client: ClientInfo | null;
}

const BEARER = /^bearer +(mc[ako]_[\w-]{1,200})$/i;

export type Auth = ReturnType<typeof createAuth>;

/** The digest of the credential in a header; null if the header does not have the form of one. */
function digestOf(header: string | null): string | null {
  const [, secret] = (header !== null && BEARER.exec(header)) || [];
  return secret === undefined ? null : digest(secret);
}

interface AuthOptions {
  readonly tickets: Tickets;
  readonly store: Pick<Store, "read" | "runHeld">;
  readonly clock: Pick<Clock, "now">;
}

export function createAuth({ store, clock, tickets }: AuthOptions) {
  /** Digest -> the last look-up of the credential. */
  const remembered = new Map<string, Authenticated>();

  const find = async (credential: string, with_next = false): Promise<Authenticated | null> => {
    const [owner] = await store.read(credentialOwner({ digest: credential }), { with_next });
    if (!owner || (owner.expires_at !== null && owner.expires_at <= clock.now())) return null;
    const { id, account_id, key_id, last_used_at, last_host, last_client } = owner;
    if (key_id === null) {
      const caller = { kind: "account", account_id, session_id: id, credential } as const;
      return { caller, usage: { caller, last_used_at } };
    }
    const caller = { kind: "key", account_id, key_id, credential } as const;
    return { caller, usage: { caller, last_used_at, last_host, last_client } };
  };

  const lookUp = async (credential: string, with_next = false): Promise<Authenticated | null> => {
    const found = await find(credential, with_next);
    if (remembered.size >= REMEMBERED) remembered.clear();
    if (found) remembered.set(credential, found);
    else remembered.delete(credential);
    return found;
  };

  const refusalOf = async (credential: string): Promise<Refusal> => {
    const [row] = await store.read(refusedCredential({ digest: credential }));
    return row?.[0] ?? "unknown";
  };

  return {
    /** True if an `Authorization` header has the form of a credential, valid or not. */
    isWellFormed: (header: string | null): boolean =>
      header !== null && (BEARER.test(header) || isTicket(header)),

    /** The caller of an `Authorization` header; null without a valid credential. */
    async authenticate(header: string | null): Promise<Authenticated | null> {
      if (header !== null && isTicket(header)) {
        const caller = await tickets.authenticate(header);
        return caller && { caller, usage: null };
      }
      const credential = digestOf(header);
      return credential === null ? null : lookUp(credential);
    },

    /** Why {@link authenticate} rejected a header. Call it only for such a header. */
    async whyRefused(header: string | null): Promise<Refusal> {
      const credential = digestOf(header);
      return credential === null ? "unknown" : refusalOf(credential);
    },

    /**
     * True if a header has an access token of OAuth that has expired. Its client gets a new one, so the request does not
     * count as a failure (§18.8.2).
     */
    async isExpired(header: string | null): Promise<boolean> {
      const credential = header?.includes("mco_") ? digestOf(header) : null;
      if (credential === null) return false;
      const [owner] = await store.read(credentialOwner({ digest: credential }));
      return owner !== undefined && owner.expires_at !== null && owner.expires_at <= clock.now();
    },

    /**
     * The last result of {@link authenticate} for this header. The credential may have ended since, so confirm it before
     * the response.
     */
    recall(header: string | null): Authenticated | null {
      const credential = digestOf(header);
      return (credential !== null && remembered.get(credential)) || null;
    },

    /**
     * Looks up the credential of a recalled caller, together with the next read of the store if that comes before
     * `confirmNow` is called; null if it has ended.
     */
    confirm: ({ credential }: CredentialHolder): Promise<Authenticated | null> =>
      lookUp(credential, true),
    confirmNow: store.runHeld,

    /** Throws `401 unauthorized` if the credential has ended (§4.1.5), `403 forbidden` if its account is blocked (§4.4). */
    async assertLive(caller: Caller): Promise<void> {
      const { ticket = null } = caller.kind === "account" ? caller : {};
      const live = ticket ? await tickets.isLive(ticket) : await find(caller.credential);
      if (live) return;
      const why = ticket ? "unknown" : await refusalOf(caller.credential);
      if (why === "blocked") throw blocked();
      fail("unauthorized", { ended: why === "ended" });
    },
  };
}
