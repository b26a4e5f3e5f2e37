/** The limits that a client can observe, except those of notifications (§10, §11). */

/**
 * Limits by subject (§10). Lengths count Unicode code points and times are seconds, unless the name or the
 * comment says otherwise. `bun run docs` writes them into docs/interface.md. Tuning constants are beside the
 * code that uses them.
 */
export const LIMITS = {
  // Request bodies.

  /** Bytes of a request body; a larger one is `413 body_too_large`. */
  body_bytes: 256 * 1024,
  /** Levels of a JSON body, envelopes of tRPC and MCP included; no schema has more than a few. */
  json_depth: 32,
  /** Members of an object that are validated. Schemas have far fewer, so a larger object is refused anyway. */
  members: 128,
  /** Fields that a refusal names, which keeps it below 8 KiB. */
  named_fields: 20,
  /** Seconds until the whole body must have arrived. */
  body_seconds: 30,
  /** Bodies under way in one process, each of which holds a connection and some 10 KB; and from one address. */
  bodies: 4_096,
  bodies_per_address: 1_024,
  /** Bytes that have arrived of all bodies under way; above it, the address that holds most loses its oldest. */
  bodies_bytes: 64 * 1024 * 1024,
  /** Bytes of a body that are read for an address above its limit, without a credential: an `attestation` fits. */
  exhausted_body_bytes: 48 * 1024,
  /** A larger body is charged to its credential before it is read, and takes turns with other heavy work (§10.6.7). */
  large_body_bytes: 16 * 1024,
  /** Bytes of a body that cost no tokens, and bytes that one token pays for beyond them. */
  body_free_bytes: 64 * 1024,
  body_token_bytes: 64 * 1024,

  // Responses.

  /** Bytes of an answer that cost no tokens, and bytes that one token pays for beyond them. */
  answer_free_bytes: 64 * 1024,
  answer_token_bytes: 64 * 1024,
  /** Bytes of JSON after which a list page ends, whatever its `limit`; it holds at least one record. */
  page_bytes: 1024 * 1024,
  /** Calls of one tRPC batch, and bytes of answers that they share. */
  trpc_batch: 20,
  batch_bytes: 1024 * 1024,
  /**
   * Bytes of answers that clients have not read yet: of one credential, of an account with all its keys and
   * sign-ins, and of a process. Above the last, the account that holds most loses its oldest.
   */
  unsent_bytes_per_credential: 8 * 1024 * 1024,
  unsent_bytes_per_account: 64 * 1024 * 1024,
  unsent_bytes: 256 * 1024 * 1024,
  /** Seconds within which the reader of a large answer must read some of it. */
  unsent_idle: 20,

  // Tasks.

  title: 200,
  description: 10_000,
  status_note: 200,
  /** Seconds of `expect_update_within`. */
  expect_update_min: 300,
  expect_update_max: 86_400,
  tasks_per_key: 10_000,
  task_page: 500,
  task_page_default: 100,
  /** Tasks that one list page looks at when `priority` narrows it; the page may then be short. */
  task_scan: 2_000,
  history_page: 100,
  history_page_default: 50,
  /** Entries of the history of a task, and seconds within which a change of progress replaces the one before. */
  history_per_task: 200,
  history_merge: 10,

  // Questions.

  prompt: 2_000,
  option_label: 80,
  options_min: 2,
  options_max: 4,
  text_answer: 4_000,
  context: 20_000,
  question_url: 2_000,
  /** What the person adds to an answer. */
  note: 1_000,
  expires_in_min: 60,
  expires_in_max: 86_400,
  expires_in_default: 3_600,
  question_list: 100,
  /** Characters of a search, and words of it that are used. */
  search: 200,
  search_words: 8,
  /** Questions that one list page looks at when `search` narrows it; the page may then be short. */
  question_scan: 250,
  pending_questions_per_key: 20,
  /** The most minutes until a reminder of a question. */
  remind_minutes: 1_440,
  /** Questions of a key that are kept although they are no longer pending. */
  finished_questions_per_key: 1_000,
  /** Deliveries of one question: those of a page, devices and channels, and some that are gone. */
  deliveries_per_question: 100,
  /** Latest answers from which the usual time to an answer is computed; below the minimum, none is given. */
  typical_answers: 50,
  typical_answers_min: 5,
  /** Characters of a `request_id`, and seconds for which it identifies its question. */
  request_id: 100,
  request_id_retention: 86_400,
  /** Seconds for which an identical tool call joins the question of one that its client left. */
  left_ask: 120,
  /** Seconds after the end of its question in which a ticket is still good. */
  ticket_life: 86_400,

  // Permission prompts.

  /** The command, diff or arguments; each other text; what a session is granted. */
  action_text: 20_000,
  action_field: 1_000,
  action_grants: 20,
  /** Seconds that a prompt waits by default, for Codex, and the least and most that `wait` may ask for. */
  approve_wait: 590,
  approve_wait_codex: 120,
  approve_wait_min: 10,
  approve_wait_max: 600,
  /** Seconds that a prompt waits when the client accepts no stream. */
  approve_wait_json: 45,
  /** Seconds within which a hook and a permission tool ask about the same call. */
  approve_join: 2,

  // Inboxes.

  message: 4_000,
  inbox_page: 100,
  inbox_page_default: 50,
  /** Unread messages from one key to another. */
  unread_messages: 100,
  /** Unread items of a key above which changes of one task are merged into one item. */
  unread_merge: 200,
  /** Days that items are kept after they were read, and unread ones after they were made. */
  read_item_days: 7,
  unread_item_days: 30,

  // Accounts, sign-ins and keys.

  label: 80,
  keys_per_account: 100,
  /** Characters of a host name, and of an MCP client's name and version; what is longer is cut. */
  host: 253,
  client_text: 100,
  /** Seconds between two notes of when, from which host and with which client a credential was used. */
  last_used_every: 60,
  last_host_every: 1,
  last_client_every: 1,
  /** Seconds between two notes of the use of a sign-in that only holds an event stream open. */
  stream_used_every: 300,
  sessions_per_account: 50,
  /** Seconds in which a sign-in that was added has fewer rights (§4.1.6). */
  session_trial: 600,
  /** Seconds for which an ended account token is told from an unknown one (§4.1.7). */
  ended_token_retention: 365 * 86_400,
  /** Pairing codes of an account; one more ends the oldest. */
  open_pairings: 5,
  /** Invitations that wait to be used, and seconds in which each can be. */
  open_invitations: 100,
  /** Characters of a name that the administrator looks for, and accounts that one page looks at; it may then be short. */
  account_search: 100,
  account_scan: 1_000,
  invitation_life: 7 * 86_400,
  /** Characters of the code of a test as it may be sent; it has 44. */
  test_code: 64,
  /** How long the test of a channel can be answered (§19.2.10). */
  channel_test_life: 600,
  /** Characters of a pairing code as it may be sent; its two forms have 8 and 22. */
  pairing_code: 64,
  /** Seconds in which a pairing code can be used, and for which a use is remembered after that. */
  pairing_life: 300,
  pairing_kept: 3_600,
  /** Characters of a recovery code as it may be sent; without dashes it has 32. */
  recovery_code: 64,
  /** Seconds after which a used recovery code is good again if its sign-in has not been used (§5.13.5). */
  recovery_again: 30,
  /** Seconds in which an attestation challenge can be used; characters of an `attestation` (some 10,000 if genuine). */
  challenge_life: 300,
  attestation: 32_768,
  /** Characters of an `Idempotency-Key`, and seconds for which it is kept. */
  idempotency_key: 255,
  idempotency_retention: 86_400,

  // Devices and channels.

  /** Devices of an account; one more replaces the one with the oldest `updated_at`. */
  devices_per_account: 20,
  device_text: 100,
  /** Hex digits of a push token. */
  push_token: 512,
  channels_per_account: 20,
  /** Open links of an account by which it adds channels; one more ends the oldest. Seconds for which one is open. */
  channel_links: 5,
  channel_link_life: 600,
  /** Characters of the name and the user name of who opened a link. */
  link_name: 100,
  /** Characters of the name of a time zone. */
  time_zone: 64,

  // The request log.

  activity_page: 100,
  activity_page_default: 50,
  activity_per_key: 200,
  activity_retention: 7 * 86_400,

  // Waits and event streams.

  wait_max: 50,
  /** Requests of one key, or of one account, that wait at once in one process. */
  waits: 32,
  /** Seconds until a waiting request gives its client the first sign of life, and between two: some give up after 5. */
  sign_of_life: 3,
  /** Event streams of one account in one process; one more closes the oldest. */
  streams: 16,
  ping_after: 20,
  /** Bytes queued for one stream before its reader counts as too slow, and seconds that it then has to catch up. */
  stream_queue_bytes: 1024 * 1024,
  stream_catch_up: 1,
  /** Bytes queued at which a stream ends at once. */
  stream_queue_max: 32 * 1024 * 1024,

  // MCP.

  /** UTF-16 code units of the `id` of a JSON-RPC message, and of other data that its error repeats. */
  rpc_text: 255,
  /** Requests over which one call goes on waiting, each for its `wait_seconds`; clients stop at 10. */
  mcp_rounds: 8,

  // OAuth.

  /** Characters of a `client_id`, a redirect URI, a `state` and a client's name. */
  client_id: 2_000,
  redirect_uri: 2_000,
  oauth_state: 2_000,
  client_name: 80,
  /** Redirect URIs that a client registers. */
  redirect_uris: 10,
  /** Bytes of the body of a request to `/oauth`. */
  oauth_body_bytes: 8 * 1024,
  /** Bytes of a client's document, and seconds until it must have arrived. */
  client_document_bytes: 5 * 1024,
  client_document_seconds: 4,
  /** Characters of a signed authorization request, and seconds in which it can be approved. */
  authorization_request: 8_000,
  authorization_request_life: 600,
  authorization_code_life: 60,
  access_token_life: 86_400,
  /** Seconds from when the client got it. */
  refresh_token_life: 60 * 86_400,
  /** Seconds in which a used refresh token returns the same successor. */
  refresh_again: 600,
  /** Clients with access to one key; one more ends the access that was renewed longest ago. */
  grants_per_key: 20,
  /** Browsers that wait for the approval by another device: in all processes, of one address; and for how long. */
  approvals: 1_000,
  approvals_per_address: 10,
  approval_life: 600,
  /** Characters of the secret of such a browser. */
  approval_secret: 64,
  /** Wrong approval codes that an account may send to one process in a minute. */
  wrong_approval_codes: 10,
} as const;

/** A bucket of `quota` calls that refills evenly within `window` seconds; a quota of 0 turns the limit off. */
export interface Rate {
  readonly quota: number;
  readonly window: number;
}

/**
 * What all accounts of a process make Relay send to one host in an hour (§10.6.8). Each may send `first` to a host that
 * others have used up. Of more hosts than `hosts`, the oldest is no longer counted.
 */
export const ADDRESS_USES = { per_host: 600, first: 3, hosts: 10_000 } as const;

/** Downloads of an address that are served whatever others have taken: the executable and its checksum. */
export const FIRST_DOWNLOADS = 2;

/** Rate limits by the name that the `RateLimit` headers show (§10.6). */
export const RATES = {
  /** One API key: 600 a minute. */
  key: { quota: 120, window: 12 },
  /** One account token: 1,200 a minute. */
  account: { quota: 240, window: 12 },
  /** One ticket of a notification. */
  ticket: { quota: 20, window: 60 },
  /** Refusals of one address without a valid credential. */
  address: { quota: 60, window: 60 },
  /** Accounts made by one address in any hour. */
  accounts: { quota: 5, window: 3_600 },
  /** Attestation challenges for one address. */
  challenges: { quota: 20, window: 3_600 },
  /** Claims and look-ups of typed pairing codes by one address, and by one /48 of IPv6, which bounds guessing. */
  pairings: { quota: 10, window: 60 },
  pairings_block: { quota: 60, window: 60 },
  /** Tests of one channel in any hour. */
  channel_tests: { quota: 6, window: 3_600 },
  /** Webhooks set for one key in any hour; each is sent a test. */
  webhook_sets: { quota: 20, window: 3_600 },
  /** Requests that one account makes Relay send to addresses of its choice in any hour (§10.6.8). */
  address_uses: { quota: 120, window: 3_600 },
  /** Requests of one address to have an authorization approved by another device. */
  approvals: { quota: 10, window: 600 },
  /** Waits of one address for such an approval: a page makes six a minute. */
  approval_waits: { quota: 120, window: 60 },
  /** Answers of one address to tests of channels, which need no credential. */
  test_answers: { quota: 30, window: 60 },
  /** Registrations of OAuth clients by one address; refusals of the address do not count here. */
  registrations: { quota: 60, window: 60 },
  /**
   * Downloads of the server's own executable by one address, and in one process, which bounds what they take. The
   * second refuses no address its first {@link FIRST_DOWNLOADS}.
   */
  downloads: { quota: 10, window: 3_600 },
  downloads_process: { quota: 100, window: 3_600 },
  /** Refusals at `/mcp` without a credential, with which clients of one address begin a sign-in. */
  mcp_challenges: { quota: 60, window: 60 },
  /** Refusals of expired access tokens of one address; beyond these, they count under `address`. */
  expired_tokens: { quota: 60, window: 60 },
} as const satisfies Record<string, Rate>;

/** Requests to addresses that users give; seconds unless the name says otherwise (§11.6). */
export const OUTBOUND = {
  /** From the look-up of the name to the last byte of the answer. */
  seconds: 10,
  answer_bytes: 65_536,
  url_characters: 2_000,
  /** Addresses of a name that are tried, one after the other. */
  addresses: 4,
} as const;
