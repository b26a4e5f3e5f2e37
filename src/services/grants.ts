/** OAuth grants: codes, tokens, and their end (§18.5). */

import { insertKeyOfGrant } from "../../db/keys.ts";
import {
  claimGrant,
  claimOwnGrant,
  deleteGrant,
  dropReplaced,
  endUnused,
  grantByCode,
  grantByFamily,
  grantById,
  grantOfRequest,
  grantsOfKey,
  insertGrant,
  insertGrantOfNewKey,
  insertToken,
  markReplaced,
  redeemGrant,
  renewGrant,
  setCode,
  tokenByDigest,
  trimGrants,
} from "../../db/oauth/grants.ts";
import type { Statement } from "../../db/store/store.ts";
import { fail, failNotFound } from "../errors.ts";
import { digest } from "../ids.ts";
import { LIMITS } from "../limits.ts";
import type { Grant } from "../model/authorization.ts";
import type { AccountCaller } from "../model/caller.ts";
import type { Client } from "../oauth/clients.ts";
import { failOAuth } from "../oauth/fault.ts";
import { leadsTo } from "../oauth/redirects.ts";
import {
  type AuthorizationRequest,
  isInTime,
  isResourceOf,
  isVerifierOf,
  newCode,
} from "../oauth/requests.ts";
import type { Keys } from "./keys.ts";
import { eventOf, untilDecided } from "./shared/commit.ts";
import type { ServiceDeps } from "./shared/deps.ts";

/** A token response (RFC 6749 5.1). */
interface Tokens {
  readonly access_token: string;
  readonly token_type: "Bearer";
  readonly expires_in: number;
  readonly refresh_token: string;
  readonly scope: "agent";
}

interface CodeRequest {
  readonly code: string;
  readonly client_id: string;
  readonly redirect_uri: string;
  readonly code_verifier: string;
  readonly resource: string | null;
}

interface RefreshRequest {
  readonly refresh_token: string;
  readonly client_id: string | null;
  readonly resource: string | null;
}

/** The person's choice of a key: an existing one, or a new one with this label. */
type Choice = { readonly key_id: string } | { readonly label: string };

interface Approved {
  readonly grant_id: string;
  readonly key_id: string;
  /** Authorization code; null if {@link Grants.makeCode} is to make it. */
  readonly code: string | null;
  /** True if the key was created for the grant. */
  readonly has_new_key: boolean;
}

interface GrantIds {
  readonly id: string;
  readonly account_id: string;
  readonly key_id: string;
}

type Row = ReturnType<typeof grantById> extends Statement<infer R> ? R : never;

/** A refresh token: a part that all tokens of the grant share, and a part of its own. */
const REFRESH = /^mcr_([\w-]{22})[\w-]{43}$/;

export type Grants = ReturnType<typeof createGrants>;

export function createGrants(deps: ServiceDeps & { readonly keys: Keys }) {
  const { store, commit, clock, ids, signer, assertLive, assertPastTrial, keys } = deps;

  /** The event for a grant that began or ended: web pages read the list again, and waits check their token. */
  const updated = ({ id, account_id, key_id }: GrantIds, revision: string) => [
    eventOf({ table: "grants", id, revision }, "grants.updated", account_id, { key_id }, key_id),
  ];

  /** Ends a grant and its tokens, unless another process already did. */
  const end = async (grant: GrantIds): Promise<void> => {
    const { id } = grant;
    const revision = ids.unique();
    await commit({
      statements: [claimGrant({ id, revision })],
      events: updated(grant, revision),
      removals: [deleteGrant({ id, changed_id: id, changed_revision: revision })],
    });
  };

  /** Inserts a pair of tokens if the grant got the revision earlier in the batch. */
  const writeTokens = (
    { id, revision }: Pick<Row, "id" | "revision">,
    { access, refresh }: { readonly access: string; readonly refresh: string },
    now: number,
  ): Statement[] => {
    const at = { id, created_at: now, changed_id: id, changed_revision: revision };
    const token = (text: string, kind: string, life: number) =>
      insertToken({
        ...at,
        digest: digest(text),
        credential_id: ids.next("crd"),
        kind,
        expires_at: now + life,
      });
    return [
      token(access, "oauth_access", LIMITS.access_token_life),
      token(refresh, "oauth_refresh", LIMITS.refresh_token_life),
    ];
  };

  const answer = (access: string, refresh: string, expires_in: number): Tokens => ({
    access_token: access,
    token_type: "Bearer",
    expires_in,
    refresh_token: refresh,
    scope: "agent",
  });

  /** The grant of a refresh token or an access token, or null. */
  const grantOf = async (token: string): Promise<Row | null> => {
    const [, family] = REFRESH.exec(token) ?? [];
    if (family !== undefined) {
      const [row] = await store.read(grantByFamily({ family_digest: digest(family) }));
      return row ?? null;
    }
    const [found] = await store.read(tokenByDigest({ digest: digest(token) }));
    if (!found?.grant_id) return null;
    const [row] = await store.read(grantById({ id: found.grant_id }));
    return row ?? null;
  };

  /** A new authorization code in place of an unused one. Null if one was used, undefined if the grant has changed. */
  const replaceCode = async (grant: Row): Promise<string | null | undefined> => {
    if (grant.redeemed_at !== null) return null;
    const until = clock.now() + LIMITS.authorization_code_life;
    const code = newCode(ids.secret("mcc"), until);
    const [set] = await store.write([
      setCode({
        id: grant.id,
        old_revision: grant.revision,
        revision: ids.unique(),
        code_digest: digest(code),
        expires_at: Math.max(grant.expires_at, until),
      }),
    ]);
    return set!.changes > 0 ? code : undefined;
  };

  return {
    /**
     * Lets a client use a key, in one batch with the key if that is new. A request that the account has already
     * approved keeps its key, whatever `choice` says, and gets another code. `with_code`: false leaves the code to
     * {@link makeCode}. `404 not_found` for a request whose code was used, or for the key; `409 too_many_keys`.
     */
    approve: (
      caller: AccountCaller,
      request: AuthorizationRequest,
      client: Pick<Client, "digest" | "name">,
      choice: Choice,
      { with_code }: { readonly with_code: boolean },
    ): Promise<Approved> =>
      untilDecided(async () => {
        const { account_id } = caller;
        const now = clock.now();
        const { challenge, requested_at } = request;
        const of_request = { account_id, client_digest: client.digest, challenge, requested_at };
        const [before] = await store.read(grantOfRequest(of_request));
        if (before) {
          if (before.redeemed_at !== null) return failNotFound("request");
          const code = with_code ? await replaceCode(before) : null;
          if (code === undefined) return undefined;
          return { grant_id: before.id, key_id: before.key_id, code, has_new_key: false };
        }
        const made = "label" in choice ? keys.prepare(caller, choice.label) : null;
        const key_id = made?.key.id ?? (choice as { key_id: string }).key_id;
        const until = now + LIMITS.authorization_code_life;
        const code = with_code ? newCode(ids.secret("mcc"), until) : null;
        const revision = ids.unique();
        const id = ids.next("grt");
        const insert = (made ? insertGrantOfNewKey : insertGrant)({
          ...of_request,
          id,
          key_id,
          client_name: client.name,
          client_host: leadsTo(request.redirect_uri).host,
          redirect_uri: request.redirect_uri,
          resource: request.issuer,
          code_digest: code === null ? null : digest(code),
          redeemed_at: null,
          family_digest: null,
          created_at: now,
          last_used_at: null,
          // Kept as long as the request can be approved again.
          expires_at: Math.max(until, requested_at + LIMITS.authorization_request_life),
          revision,
        });
        const at_grant = { changed_id: id, changed_revision: revision };
        const happened = made
          ? await commit({
              ...made.change,
              statements: [
                insert,
                insertKeyOfGrant({ ...made.row, ...at_grant }),
                made.secretInsert,
              ],
            })
          : await commit({ statements: [insert], events: [] });
        if (happened) return { grant_id: id, key_id, code, has_new_key: made !== null };
        await assertLive(caller);
        // A simultaneous approval of the same request may have come first.
        const [other] = await store.read(grantOfRequest(of_request));
        if (other) return undefined;
        return made ? fail("too_many_keys") : failNotFound("key_id");
      }),

    /** True if the account has approved this request. */
    async isApproved(
      { account_id }: AccountCaller,
      { challenge, requested_at }: AuthorizationRequest,
      client: Pick<Client, "digest">,
    ): Promise<boolean> {
      const client_digest = client.digest;
      const values = { account_id, client_digest, challenge, requested_at };
      const [grant] = await store.read(grantOfRequest(values));
      return grant !== undefined;
    },

    /** Makes a new authorization code in place of an unused one. Null if one was used, or if the grant has ended. */
    makeCode: (grant_id: string): Promise<string | null> =>
      untilDecided(async () => {
        const [grant] = await store.read(grantById({ id: grant_id }));
        return grant ? replaceCode(grant) : null;
      }),

    /** Exchanges a code for tokens (RFC 6749 4.1.3, RFC 7636 4.5). Throws `invalid_grant`, `invalid_target`. */
    redeem: (request: CodeRequest): Promise<Tokens> =>
      untilDecided(async () => {
        const [grant] = await store.read(grantByCode({ code_digest: digest(request.code) }));
        const now = clock.now();
        if (!grant) return failOAuth("invalid_grant", "The code is not valid.");
        if (grant.redeemed_at !== null) {
          await end(grant);
          return failOAuth("invalid_grant", "The code was used before.");
        }
        const fits =
          isInTime(request.code, now) &&
          grant.client_digest === digest(request.client_id) &&
          grant.redirect_uri === request.redirect_uri &&
          isVerifierOf(grant.challenge, request.code_verifier);
        if (!fits) failOAuth("invalid_grant", "The code is not valid for this request.");
        assertResource(grant, request.resource);
        const revision = ids.unique();
        const { id } = grant;
        const family = ids.challenge().slice(0, 22);
        const access = ids.secret("mco");
        const refresh = `mcr_${family}${ids.challenge()}`;
        const happened = await commit({
          statements: [
            redeemGrant({
              id,
              old_revision: grant.revision,
              revision,
              family_digest: digest(family),
              redeemed_at: now,
              last_used_at: now,
              expires_at: now + LIMITS.refresh_token_life,
            }),
            ...writeTokens({ id, revision }, { access, refresh }, now),
          ],
          // This event also reports the grants that end with it.
          events: updated(grant, revision),
          removals: [
            endUnused({ ...grant, changed_id: id, changed_revision: revision }),
            trimGrants({ key_id: grant.key_id, changed_id: id, changed_revision: revision }),
          ],
        });
        return happened ? answer(access, refresh, LIMITS.access_token_life) : undefined;
      }),

    /**
     * Exchanges a refresh token for new tokens (RFC 6749 6). The successor of a refresh token is a keyed digest of it,
     * so every process returns the same one when a token is sent again within `LIMITS.refresh_again` seconds. A later
     * repetition means that the token or its successor was stolen: the grant ends. Throws `invalid_grant`,
     * `invalid_target`.
     */
    refresh: ({ refresh_token, client_id, resource }: RefreshRequest): Promise<Tokens> =>
      untilDecided(async () => {
        const [, family = ""] = REFRESH.exec(refresh_token) ?? [];
        const grant = family === "" ? null : await grantOf(refresh_token);
        const now = clock.now();
        if (!grant || grant.expires_at <= now) {
          return failOAuth("invalid_grant", "The refresh token is not valid.");
        }
        if (client_id !== null && digest(client_id) !== grant.client_digest) {
          failOAuth("invalid_grant", "The refresh token is another client's.");
        }
        assertResource(grant, resource);
        const access = `mco_${signer.sign("oauth-access", refresh_token)}`;
        const refresh = `mcr_${family}${signer.sign("oauth-refresh", refresh_token)}`;
        const [known] = await store.read(tokenByDigest({ digest: digest(refresh_token) }));
        const { id } = grant;
        if (known?.grant_id !== id || known.kind !== "oauth_refresh") {
          await end(grant);
          return failOAuth("invalid_grant", "The refresh token was used before.");
        }
        if (known.replaced_at !== null) {
          const [current] = await store.read(tokenByDigest({ digest: digest(access) }));
          if (current && now < known.replaced_at + LIMITS.refresh_again) {
            return answer(access, refresh, Math.max(0, Math.floor(current.expires_at! - now)));
          }
          await end(grant);
          return failOAuth("invalid_grant", "The refresh token was used before.");
        }
        const revision = ids.unique();
        const at = { id, changed_id: id, changed_revision: revision };
        const [renewed] = await store.write([
          renewGrant({
            id,
            old_revision: grant.revision,
            revision,
            last_used_at: now,
            expires_at: now + LIMITS.refresh_token_life,
          }),
          dropReplaced(at),
          markReplaced({ ...at, replaced_at: now }),
          ...writeTokens({ id, revision }, { access, refresh }, now),
        ]);
        return renewed!.changes > 0 ? answer(access, refresh, LIMITS.access_token_life) : undefined;
      }),

    /** Revokes the grant that a token belongs to (RFC 7009 2.1). An unknown token is not an error. */
    async revokeToken(token: string, client_id: string | null): Promise<void> {
      const grant = await grantOf(token);
      if (!grant) return;
      if (client_id !== null && digest(client_id) !== grant.client_digest) {
        failOAuth("invalid_grant", "The token is another client's.");
      }
      await end(grant);
    },

    /** The grants of a key, newest first. `404 not_found` for the key. */
    async list(caller: AccountCaller, key_id: string): Promise<Grant[]> {
      await keys.find(caller, key_id);
      const { account_id } = caller;
      const rows = await store.read(grantsOfKey({ key_id, account_id, now: clock.now() }));
      return rows.map(({ grant, token_used_at }) => ({
        ...grant,
        last_used_at: Math.max(grant.last_used_at ?? 0, token_used_at ?? 0) || null,
      }));
    },

    /** Ends a grant, its tokens and their waits at once. `403 forbidden` in the caller's trial, `404 not_found`. */
    async remove(caller: AccountCaller, key_id: string, id: string): Promise<void> {
      await assertPastTrial(caller);
      const { account_id } = caller;
      const revision = ids.unique();
      const happened = await commit({
        statements: [claimOwnGrant({ id, key_id, account_id, revision })],
        events: updated({ id, account_id, key_id }, revision),
        removals: [deleteGrant({ id, changed_id: id, changed_revision: revision })],
      });
      if (happened) return;
      await keys.find(caller, key_id);
      failNotFound("grant_id");
    },
  };
}

/** Throws `invalid_target` for a `resource` parameter that the grant is not for (RFC 8707 2). */
function assertResource({ resource }: Pick<Row, "resource">, sent: string | null): void {
  if (sent === null || isResourceOf(resource, sent)) return;
  failOAuth("invalid_target", "The tokens are for another resource.");
}
