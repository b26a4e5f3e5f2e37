/** A person's decision on a client's request for access: in this browser, or for another device (§5.15). */

import { keyByLabel } from "../../db/keys.ts";
import {
  approvalByCode,
  approvalById,
  approvalBySecret,
  decideApproval,
  insertApproval,
  makeRoomForApproval,
} from "../../db/oauth/approvals.ts";
import { keyOfClient } from "../../db/oauth/grants.ts";
import type { Clock } from "../clock.ts";
import { fail, failFields, failNotFound, ServiceError } from "../errors.ts";
import { hostOf } from "../host-names.ts";
import { digest } from "../ids.ts";
import { LIMITS } from "../limits.ts";
import type { Approval, ApprovalState, Authorization } from "../model/authorization.ts";
import { inGroups, toBase32 } from "../model/base32.ts";
import type { AccountCaller } from "../model/caller.ts";
import type { Key } from "../model/key.ts";
import { type LinkBase, readCode } from "../model/pairing.ts";
import {
  ClientDocumentError,
  fetchClientDocument,
  type Outbound,
} from "../oauth/client-document.ts";
import type { Client } from "../oauth/clients.ts";
import { leadsTo, matchesRedirect } from "../oauth/redirects.ts";
import { type AuthorizationRequest, redirectTo, type SealedRequests } from "../oauth/requests.ts";
import type { Grants } from "./grants.ts";
import { type Keys, toKey } from "./keys.ts";
import { eventOf, untilDecided } from "./shared/commit.ts";
import type { ServiceDeps } from "./shared/deps.ts";
import type { AdmitAddressUse } from "./shared/use-limits.ts";

/** The key that a client may use: an existing one, or a new one, labelled with the client's name by default. */
interface KeyChoice {
  readonly key_id?: string | undefined;
  readonly label?: string | undefined;
}

interface ConsentDeps extends ServiceDeps {
  readonly keys: Keys;
  readonly grants: Grants;
  readonly requests: SealedRequests;
  readonly outbound: Outbound;
  readonly admitAddressUse: AdmitAddressUse;
}

type WaitingRow = { readonly id: string; readonly code: string; readonly address: string };

const DENIED = { error: "access_denied", error_description: "The person denied the request." };

export function createConsents(deps: ConsentDeps) {
  const { store, commit, clock, ids, signer, waits, assertPastTrial } = deps;
  const { keys, grants, requests, outbound, admitAddressUse } = deps;
  const wrong_codes = createWrongCodes(clock);

  /** The stored form of a code: a keyed digest, as an unkeyed one of 40 bits could be searched. */
  const digestOf = (code: string): string => signer.sign("approval", code);

  const open = (sealed: string): AuthorizationRequest => {
    const request = requests.read(sealed, clock.now());
    return request === null || request === "expired" ? failNotFound("request") : request;
  };

  /**
   * The request that `reference` means: a signed request, or the code that another device shows while it waits.
   * `404 not_found`, `429 rate_limited`.
   */
  const find = async ({ account_id }: AccountCaller, reference: string) => {
    if (reference.includes(".")) return { request: open(reference), waiting: null };
    wrong_codes.assertLeft(account_id);
    const code = readCode(reference);
    const values = { code_digest: digestOf(code ?? ""), now: clock.now() };
    const [row] = code === null ? [] : await store.read(approvalByCode(values));
    if (row?.status !== "pending") {
      wrong_codes.count(account_id);
      return failNotFound("request");
    }
    const { id, address } = row;
    const waiting: WaitingRow = { id, code: inGroups(code!), address };
    return { request: open(row.request), waiting };
  };

  /** The client of a request. `422 fields.request` if its document does not allow it, `429 rate_limited` (§10.6.8). */
  const clientOf = async (
    { account_id }: AccountCaller,
    request: AuthorizationRequest,
  ): Promise<Pick<Client, "digest" | "name">> => {
    if (request.document === null) return { digest: request.client!, name: request.name };
    await admitAddressUse({ account_id, host: hostOf(request.document) });
    try {
      const client = await fetchClientDocument(outbound, request.document, account_id);
      const { redirect_uri } = request;
      if (client.redirect_uris.some((uri) => matchesRedirect(uri, redirect_uri))) return client;
      return failFields({ request: "leads to an address that is not in the client's description" });
    } catch (error) {
      if (!(error instanceof ClientDocumentError)) throw error;
      return failFields({ request: error.message });
    }
  };

  /** Writes the decision for another device, which gets it at once. False if it is too late. */
  const decide = (
    { account_id }: AccountCaller,
    { id }: WaitingRow,
    decision: { status: "approved"; grant_id: string } | { status: "denied"; grant_id: null },
  ): Promise<boolean> => {
    const revision = ids.unique();
    return commit({
      statements: [decideApproval({ id, ...decision, now: clock.now(), revision })],
      events: [eventOf({ table: "approvals", id, revision }, "approval.decided", account_id, {})],
    });
  };

  /** The state of a waiting request. An approved one gets a new authorization code each time until one is used. */
  const stateOf = async (secret: string): Promise<ApprovalState> => {
    const [row] = await store.read(approvalBySecret({ secret_digest: digest(secret) }));
    if (!row || row.expires_at <= clock.now()) return { status: "ended", redirect_to: null };
    if (row.status === "pending") return { status: "waiting", redirect_to: null };
    const request = requests.read(row.request, row.created_at) as AuthorizationRequest;
    if (row.status === "denied") {
      // The redirect URI of a client with a document was not checked yet.
      const checked = request.document === null;
      return { status: "denied", redirect_to: checked ? redirectTo(request, DENIED) : null };
    }
    const code = await grants.makeCode(row.grant_id!);
    return { status: "approved", redirect_to: code && redirectTo(request, { code }) };
  };

  return {
    /** Reads what the person needs for the decision. `404 not_found`, `422 fields.request`, `429 rate_limited`. */
    async read(caller: AccountCaller, reference: string): Promise<Authorization> {
      const { request, waiting } = await find(caller, reference);
      const { name } = await clientOf(caller, request);
      const { account_id } = caller;
      const client_host = leadsTo(request.redirect_uri).host;
      const before = { account_id, client_name: name, client_host };
      const [by_client] = name === null ? [] : await store.read(keyOfClient(before));
      // A web site can use the name of any agent.
      const [by_label] =
        name === null || client_host !== null
          ? []
          : await store.read(keyByLabel({ account_id, label: name }));
      return {
        client_name: name,
        client_host,
        document_host: request.document === null ? null : new URL(request.document).host,
        suggested_key_id: by_client?.key_id ?? by_label?.id ?? null,
        requested_at: request.requested_at,
        expires_at: request.requested_at + LIMITS.authorization_request_life,
        approval: waiting && { code: waiting.code, address: waiting.address },
      };
    },

    /**
     * Lets the client use a key. A request that was approved before keeps its key. `404 not_found` for the request
     * or the key, `409 too_many_keys`, `422 fields.request`, `429 rate_limited`.
     */
    async approve(
      caller: AccountCaller,
      reference: string,
      { key_id: existing, label }: KeyChoice,
    ): Promise<{ key: Key; redirect_to: string | null }> {
      await assertPastTrial(caller);
      const { request, waiting } = await find(caller, reference);
      const client = await clientOf(caller, request);
      const choice =
        existing === undefined ? { label: label ?? client.name ?? "Agent" } : { key_id: existing };
      const with_code = waiting === null;
      const approved = await grants.approve(caller, request, client, choice, { with_code });
      const { grant_id, key_id, code, has_new_key } = approved;
      const key = toKey(await keys.find(caller, key_id));
      if (waiting && !(await decide(caller, waiting, { status: "approved", grant_id }))) {
        const [row] = await store.read(approvalById({ id: waiting.id }));
        // Another device of the account may have made the same decision at once.
        if (row?.grant_id !== grant_id) {
          // Another decision came first: a key that was created for this one is not needed.
          if (has_new_key) await keys.remove(caller, key_id);
          failNotFound("request");
        }
      }
      return { key, redirect_to: code && redirectTo(request, { code }) };
    },

    /** Refuses the request, and sends the client the error `access_denied`. Throws what {@link approve} throws. */
    async deny(caller: AccountCaller, reference: string): Promise<{ redirect_to: string | null }> {
      const { request, waiting } = await find(caller, reference);
      if (waiting) {
        const happened = await decide(caller, waiting, { status: "denied", grant_id: null });
        if (!happened) failNotFound("request");
        return { redirect_to: null };
      }
      // The browser is not sent to an address that could not be checked.
      const client = await clientOf(caller, request).catch((error: unknown) => {
        const codes: readonly string[] = ["invalid_fields", "rate_limited"];
        if (error instanceof ServiceError && codes.includes(error.code)) return null;
        throw error;
      });
      if (client && (await grants.isApproved(caller, request, client))) failNotFound("request");
      return { redirect_to: client && redirectTo(request, DENIED) };
    },

    /** Lets a browser without a sign-in wait for another device. `404 not_found`, `429 rate_limited`. */
    ask: (sealed: string, address: string, base: LinkBase): Promise<Approval> =>
      untilDecided(async () => {
        const request = open(sealed);
        const code = toBase32(ids.random(5));
        const secret = ids.challenge();
        const created_at = clock.now();
        const expires_at = request.requested_at + LIMITS.approval_life;
        const row = {
          id: ids.next("apv"),
          code_digest: digestOf(code),
          secret_digest: digest(secret),
          request: sealed,
          address,
          status: "pending",
          grant_id: null,
          created_at,
          expires_at,
          revision: ids.unique(),
        } as const;
        const [, made] = await store.write([
          makeRoomForApproval({ address, created_at }),
          insertApproval(row),
        ]);
        if (made!.changes === 0) fail("rate_limited", { retry_after: 60 });
        const shown = inGroups(code);
        return {
          code: shown,
          url: base.url === null ? null : `${base.url}/#/approve/${shown}`,
          no_url_reason: base.url === null ? base.reason : null,
          secret,
          expires_at,
        };
      }),

    /** Waits until the other device has decided (§6). `429 too_many_waits`. */
    async wait(
      secret: string,
      { wait, address, signal }: { wait: number; address: string; signal: AbortSignal },
    ): Promise<ApprovalState> {
      const [row] = await store.read(approvalBySecret({ secret_digest: digest(secret) }));
      if (!row) return { status: "ended", redirect_to: null };
      return waits.wait({
        owner: `approvals ${address}`,
        subjects: [row.id],
        seconds: wait,
        signal,
        async read() {
          const value = await stateOf(secret);
          const again_in = Math.max(0, row.expires_at - clock.now());
          return { value, done: value.status !== "waiting", again_in };
        },
      });
    },
  };
}

/** Accounts whose wrong codes are counted at most; then all counts start over. */
const COUNTED_ACCOUNTS = 10_000;
const MINUTE = 60;

/**
 * Counts the wrong codes of accounts, so that no code can be guessed (§18.6.4). Holds with `RATE_LIMITS=off` too.
 */
function createWrongCodes(clock: Pick<Clock, "elapsed">) {
  /** When each account sent its latest wrong codes, oldest first, by {@link Clock.elapsed}. */
  const sent = new Map<string, number[]>();

  return {
    /** Throws `429 rate_limited` if the account has sent its full number within a minute. */
    assertLeft(account_id: string): void {
      const now = clock.elapsed();
      const recent = (sent.get(account_id) ?? []).filter((at) => at > now - MINUTE);
      if (recent.length < LIMITS.wrong_approval_codes) return;
      fail("rate_limited", { retry_after: Math.ceil(recent[0]! + MINUTE - now) });
    },

    count(account_id: string): void {
      if (sent.size >= COUNTED_ACCOUNTS) sent.clear();
      const before = sent.get(account_id) ?? [];
      const kept = before.slice(1 - LIMITS.wrong_approval_codes);
      sent.set(account_id, [...kept, clock.elapsed()]);
    },
  };
}
