/** What an account does with itself: its settings, devices, channels, keys and live activities. */

import type { Account, AccountPatch } from "../model/account.ts";
import type { Approval, ApprovalState, Authorization } from "../model/authorization.ts";
import type { Channel, ChannelInput, ChannelPatch } from "../model/channel.ts";
import type { Delivery } from "../model/delivery.ts";
import type { Device, DeviceInput } from "../model/device.ts";
import type { Grant } from "../model/grant.ts";
import type { Key } from "../model/key.ts";
import type { KeyWebhook } from "../model/key-webhook.ts";
import type { LiveActivityInput, LiveActivityName } from "../model/live-activity.ts";
import type { Claimed, Pairing, PairingOffer } from "../model/pairing.ts";
import type { Session } from "../model/session.ts";
import { type CallOptions, path, type Send } from "./send.ts";
import type {
  ActivityPage,
  AuthorizationApproval,
  AuthorizationApproved,
  Challenge,
  ItemPage,
  NewAccount,
  NewChannel,
  NewKey,
  PageQuery,
  PairingClaim,
} from "./types.ts";

export const accountRoutes = (send: Send) => ({
  attest: {
    /** A challenge for app attestation, valid once and for 5 minutes; no credential (§5.2.6). */
    challenge: (given?: CallOptions) =>
      send<Challenge>("POST", "/v1/attest/challenge", { body: {} }, given),
  },

  accounts: {
    /**
     * Creates an account; no credential. Make `token` as for `accounts.replaceToken` and store it first:
     * with the same token, the call may be repeated. Codes: `account_creation_off`,
     * `attestation_required`, `attestation_invalid` (docs/interface.md §5.2.1).
     */
    create: (
      body: {
        readonly attestation?: string;
        readonly label?: string;
        readonly start_code?: string;
        readonly token?: string;
      } = {},
      given?: CallOptions,
    ) => send<NewAccount>("POST", "/v1/accounts", { body }, given),

    /** The account (§5.2.2). */
    get: (given?: CallOptions) => send<Account>("GET", "/v1/account", {}, given),

    /** Changes the settings (§5.2.3). */
    update: (body: AccountPatch, given?: CallOptions) =>
      send<Account>("PATCH", "/v1/account", { body }, given),

    /**
     * Replaces the account token; the old one ends at once. Make the new one with `mca_` and 32 random bytes as base64url and
     * store it first: then a lost response does not lose the account (docs/interface.md §5.2.4).
     */
    replaceToken: (body: { readonly token?: string } = {}, given?: CallOptions) =>
      send<{ readonly token: string }>("POST", "/v1/account/token", { body }, given),

    /** Deletes the account and everything that belongs to it (§5.2.5). */
    delete: (given?: CallOptions) => send<void>("DELETE", "/v1/account", {}, given),
  },

  sessions: {
    /** Newest first (§5.13.1). */
    list: (given?: CallOptions) =>
      send<{ readonly sessions: readonly Session[] }>("GET", "/v1/sessions", {}, given),

    /** Labels a sign-in. Codes: `not_found` (§5.13.2). */
    update: (session_id: string, body: { readonly label: string }, given?: CallOptions) =>
      send<Session>("PATCH", path`/v1/sessions/${session_id}`, { body }, given),

    /**
     * Ends the trial of a sign-in that was added by a code. Codes: `not_found`, and `forbidden` during the trial of
     * the current one (§5.13.4, §4.1.6).
     */
    confirm: (session_id: string, given?: CallOptions) =>
      send<Session>("POST", path`/v1/sessions/${session_id}/confirm`, { body: {} }, given),

    /**
     * Ends a sign-in; the only one needs `last`. Codes: `not_found`, `last_session`, and `forbidden`
     * for 10 minutes after the current one was added (§5.13.3, §4.1.6).
     */
    delete: (session_id: string, query: { readonly last?: boolean } = {}, given?: CallOptions) =>
      send<void>("DELETE", path`/v1/sessions/${session_id}`, { query: { ...query } }, given),
  },

  pairings: {
    /**
     * Makes a code by which another device signs in, valid once and for 5 minutes. Code: `forbidden`
     * for 10 minutes after the current sign-in was added (§5.14.1, §4.1.6).
     */
    create: (given?: CallOptions) => send<Pairing>("POST", "/v1/pairings", { body: {} }, given),

    /** What a code leads to; no credential. Code: `not_found` if it cannot be used (§5.14.6). */
    lookup: (code: string, given?: CallOptions) =>
      send<PairingOffer>("POST", "/v1/pairings/lookup", { body: { code } }, given),

    /**
     * Signs in with a code; no credential. Make `token` as for `accounts.replaceToken` and store it
     * first: with the same code and token, the call may be repeated. Codes: `not_found`,
     * `too_many_sessions` (§5.14.2).
     */
    claim: (body: PairingClaim, given?: CallOptions) =>
      send<Claimed>("POST", "/v1/pairings/claim", { body }, given),
  },

  devices: {
    /** Most recent registration first (§5.3.1). */
    list: (given?: CallOptions) =>
      send<{ readonly devices: readonly Device[] }>("GET", "/v1/devices", {}, given),

    /** Registers or replaces a device; a push token that is missing becomes null (§5.3.2). */
    put: (device_id: string, body: DeviceInput, given?: CallOptions) =>
      send<Device>("PUT", path`/v1/devices/${device_id}`, { body }, given),

    /** Removes a device. Codes: `not_found` (§5.3.3). */
    delete: (device_id: string, given?: CallOptions) =>
      send<void>("DELETE", path`/v1/devices/${device_id}`, {}, given),
  },

  channels: {
    /** Newest first (§19.2.1). */
    list: (given?: CallOptions) =>
      send<{ readonly channels: readonly Channel[] }>("GET", "/v1/channels", {}, given),

    /**
     * Creates a channel; a webhook is sent a test. Codes: `too_many_channels`; `invalid_fields` with
     * `fields.url` or `fields.subscription` (docs/interface.md §19.2.2).
     */
    create: (body: ChannelInput, given?: CallOptions) =>
      send<NewChannel>("POST", "/v1/channels", { body }, given),

    /** What browsers subscribe to web push with. Codes: `not_found` while it is off (§19.2.6). */
    key: (given?: CallOptions) =>
      send<{ readonly public_key: string }>("GET", "/v1/web-push/key", {}, given),

    /** Changes the fields that the patch names. Codes: `not_found` (§19.2.3). */
    update: (channel_id: string, body: ChannelPatch, given?: CallOptions) =>
      send<Channel>("PATCH", path`/v1/channels/${channel_id}`, { body }, given),

    /** Deletes a channel; what waits for it is not sent. Codes: `not_found` (§19.2.4). */
    delete: (channel_id: string, given?: CallOptions) =>
      send<void>("DELETE", path`/v1/channels/${channel_id}`, {}, given),

    /** Sends a test and waits for its outcome, 10 seconds at most. Codes: `not_found` (§19.2.5). */
    test: (channel_id: string, given?: CallOptions) =>
      send<Delivery>("POST", path`/v1/channels/${channel_id}/test`, { body: {} }, given),
  },

  keys: {
    /** Newest first (§5.4.1). */
    list: (given?: CallOptions) =>
      send<{ readonly keys: readonly Key[] }>("GET", "/v1/keys", {}, given),

    /** Creates a key; `label` has 1 to 80 characters. Codes: `too_many_keys` (§5.4.2). */
    create: (body: { readonly label: string }, given?: CallOptions) =>
      send<NewKey>("POST", "/v1/keys", { body }, given),

    /** Renames a key. Codes: `not_found` (§5.4.3). */
    update: (key_id: string, body: { readonly label: string }, given?: CallOptions) =>
      send<Key>("PATCH", path`/v1/keys/${key_id}`, { body }, given),

    /** Deletes a key with its tasks, questions, inbox and log. Codes: `not_found` (§5.4.4). */
    delete: (key_id: string, given?: CallOptions) =>
      send<void>("DELETE", path`/v1/keys/${key_id}`, {}, given),

    /** Replaces the secret, which ends at once. Codes: `not_found` (§5.4.7). */
    replaceSecret: (key_id: string, given?: CallOptions) =>
      send<NewKey>("POST", path`/v1/keys/${key_id}/secret`, { body: {} }, given),

    /** Access to the key that was granted by OAuth, newest first. Codes: `not_found` (§5.4.8). */
    grants: (key_id: string, given?: CallOptions) =>
      send<{ readonly grants: readonly Grant[] }>(
        "GET",
        path`/v1/keys/${key_id}/grants`,
        {},
        given,
      ),

    /** Ends such access. Codes: `not_found` (§5.4.9). */
    revokeGrant: (key_id: string, grant_id: string, given?: CallOptions) =>
      send<void>("DELETE", path`/v1/keys/${key_id}/grants/${grant_id}`, {}, given),

    /**
     * Has the inbox items of a key posted to `url`, with a new secret each time; an agent names its own key.
     * Codes: `not_found`; `invalid_fields` with `fields.url` (§5.4.10).
     */
    setWebhook: (key_id: string, body: { readonly url: string }, given?: CallOptions) =>
      send<{ readonly url: string; readonly secret: string }>(
        "PUT",
        path`/v1/keys/${key_id}/webhook`,
        { body },
        given,
      ),

    /** The state of the webhook of a key. Codes: `not_found` (§5.4.11). */
    webhook: (key_id: string, given?: CallOptions) =>
      send<KeyWebhook>("GET", path`/v1/keys/${key_id}/webhook`, {}, given),

    /** Removes it; what was not posted stays unread. Codes: `not_found` (§5.4.12). */
    removeWebhook: (key_id: string, given?: CallOptions) =>
      send<void>("DELETE", path`/v1/keys/${key_id}/webhook`, {}, given),

    /** The activity log of a key, newest first. Codes: `not_found` (§5.4.5). */
    activity: (key_id: string, query: PageQuery = {}, given?: CallOptions) =>
      send<ActivityPage>("GET", path`/v1/keys/${key_id}/activity`, { query: { ...query } }, given),

    /** The inbox of a key, newest first; nothing becomes read. Codes: `not_found` (§5.9.4). */
    inbox: (key_id: string, query: PageQuery = {}, given?: CallOptions) =>
      send<ItemPage>("GET", path`/v1/keys/${key_id}/inbox`, { query: { ...query } }, given),
  },

  oauth: {
    /**
     * What a client asks for; `request` is the last part of `#/authorize/…`, or the code that another
     * device shows. Codes: `not_found` (§5.15.1).
     */
    request: (request: string, given?: CallOptions) =>
      send<Authorization>("POST", "/v1/oauth/request", { body: { request } }, given),

    /** Gives the client access to a key, or to a new one. Codes: `not_found`, `too_many_keys` (§5.15.2). */
    approve: (body: AuthorizationApproval, given?: CallOptions) =>
      send<AuthorizationApproved>("POST", "/v1/oauth/approve", { body }, given),

    /** Refuses the client. Codes: `not_found` (§5.15.3). */
    deny: (request: string, given?: CallOptions) =>
      send<{ readonly redirect_to: string | null }>(
        "POST",
        "/v1/oauth/deny",
        { body: { request } },
        given,
      ),

    /** Asks another device, for a browser without a sign-in; no credential. Codes: `not_found` (§5.15.4). */
    askApproval: (request: string, given?: CallOptions) =>
      send<Approval>("POST", "/v1/oauth/approvals", { body: { request } }, given),

    /** Waits for its decision, 0 to 50 seconds; no credential. Codes: `too_many_waits` (§5.15.5). */
    awaitApproval: (secret: string, query: { readonly wait?: number } = {}, given?: CallOptions) =>
      send<ApprovalState>(
        "POST",
        "/v1/oauth/approvals/wait",
        { body: { secret }, query: { ...query } },
        given,
      ),
  },

  liveActivities: {
    /** Registers the update token of a live activity. Codes: `not_found` (§5.6.1). */
    put: ({ task_id, ...body }: LiveActivityInput, given?: CallOptions) =>
      send<void>("PUT", path`/v1/tasks/${task_id}/live-activity`, { body }, given),

    /** Unregisters the live activity of a device. Codes: `not_found` (§5.6.2). */
    delete: ({ task_id, ...body }: LiveActivityName, given?: CallOptions) =>
      send<void>("DELETE", path`/v1/tasks/${task_id}/live-activity`, { body }, given),
  },
});
