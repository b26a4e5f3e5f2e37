/** The limits of the interface, except those of notifications (docs/interface.md §10). */

/** Lengths count Unicode code points; times are seconds unless the name says otherwise. */
export const LIMITS = {
  /** Bytes of a request body; one more is `413 body_too_large`. */
  body_bytes: 256 * 1024,
  /** Levels of a JSON body, envelopes of tRPC and MCP included; no schema has more than a few. */
  json_depth: 32,
  /** Members of an object that are validated. Every schema has far fewer, so such an object is refused anyway. */
  members: 128,
  /** Fields that a refusal names; it then stays below 8 KiB. */
  named_fields: 20,
  /**
   * Bytes of all bodies that are under way in one process, counted by what has arrived; beyond it
   * the address that holds the most gives up its oldest.
   */
  bodies_bytes: 64 * 1024 * 1024,
  /**
   * Bytes of a body that a route without a credential reads for an address above its limit: its
   * largest field is an `attestation`, of at most 32 KiB.
   */
  exhausted_body_bytes: 48 * 1024,
  /**
   * A larger body is charged to its credential before it is read, and is read and parsed in turns with
   * other heavy work (docs/interface.md 10.6.7).
   */
  large_body_bytes: 16 * 1024,
  /** Bodies under way in one process: each holds a connection and some 10 KB. */
  bodies: 4_096,
  /** Bodies under way of one address, which may be a proxy's. */
  bodies_per_address: 1_024,
  /** Seconds until a body must be there in full. */
  body_seconds: 30,
  /**
   * Bytes up to which a body is read whole, which is quicker than in chunks. Bun does not say how much of
   * it has arrived, so its declared length counts.
   */
  body_whole_bytes: 16 * 1024,
  title: 200,
  description: 10_000,
  status_note: 200,
  label: 80,
  prompt: 2_000,
  option_label: 80,
  options_min: 2,
  options_max: 4,
  text_answer: 4_000,
  /** Of a question: what the person needs to decide, a link, and what they add to their answer. */
  context: 20_000,
  question_url: 2_000,
  note: 1_000,
  /** Of a request for permission: the command, diff or arguments; each other text; what a session is granted. */
  action_text: 20_000,
  action_field: 1_000,
  action_grants: 20,
  /** Seconds that a request for permission waits: by default, at least and at most where `wait` says it. */
  approve_wait: 590,
  approve_wait_codex: 120,
  approve_wait_min: 10,
  approve_wait_max: 600,
  /** The same for a client that takes no stream, whatever else says. */
  approve_wait_json: 45,
  /** Between two comments of its stream. */
  approve_ping: 15,
  /** In which a hook and a permission tool ask the same. */
  approve_join: 2,
  message: 4_000,
  inbox_page: 100,
  inbox_page_default: 50,
  /** Unread messages from one key to another. */
  unread_messages: 100,
  /** Unread items of a key from which on changes of one task are merged into one item. */
  unread_merge: 200,
  /** Days that items are kept after they were read, and unread ones after they were made. */
  read_item_days: 7,
  unread_item_days: 30,
  /** A longer host name is cut. */
  host: 253,
  keys_per_account: 100,
  sessions_per_account: 50,
  /** One more ends the oldest open one. */
  open_pairings: 5,
  /** Characters of a pairing code as it may be sent; its two forms have 8 and 22. */
  pairing_code: 64,
  /** One more replaces the one with the oldest `updated_at`. */
  devices_per_account: 20,
  device_text: 100,
  /** Notification channels of an account. */
  channels_per_account: 20,
  /** Characters of the name of a time zone. */
  time_zone: 64,
  /** Hex digits of a push token. */
  push_token: 512,
  tasks_per_key: 10_000,
  pending_questions_per_key: 20,
  question_list: 100,
  /** Deliveries of one question: what a page, devices and channels can have, and some that are gone. */
  deliveries_per_question: 100,
  /** Latest answers from which the usual time to an answer is computed; below the minimum, none is given. */
  typical_answers: 50,
  typical_answers_min: 5,
  /** Seconds that a tool's result waits for the deliveries of its question. */
  reach_answer: 1,
  task_page: 500,
  task_page_default: 100,
  /** Tasks one page looks at when `priority` narrows it; the page may then be short. */
  task_scan: 2_000,
  /** Changes of one row under way at once in one process, four groups of commits; more wait. */
  row_changes: 1_000,
  /** Misses of one change, by changes of other processes, after which it claims the row. */
  row_misses: 3,
  wait_max: 50,
  /** Requests of one key, or of one account, that sleep at once in one process. */
  waits: 32,
  expires_in_min: 60,
  expires_in_max: 86_400,
  expires_in_default: 3_600,
  /** Event streams of one account in one process; the oldest is closed when one more opens. */
  streams: 16,
  /** Bytes queued for one stream before its reader counts as too slow. */
  stream_queue_bytes: 1024 * 1024,
  /** Seconds it has to catch up: a burst fills the queue before the socket can take any of it. */
  stream_catch_up: 1,
  /** Bytes queued at which a stream ends at once. */
  stream_queue_max: 32 * 1024 * 1024,
  ping_after: 20,
  last_used_every: 60,
  last_host_every: 1,
  last_client_every: 1,
  /** Code points of an MCP client's name and of its version; what is longer is cut. */
  client_text: 100,
  /** UTF-16 code units of the `id` of a JSON-RPC message, and of other data that its error repeats. */
  rpc_text: 255,
  /** Requests over which one MCP call goes on waiting, each for its `wait_seconds`; clients stop at 10. */
  mcp_rounds: 8,
  /** Seconds between two progress notifications of a waiting MCP call. */
  mcp_progress_every: 10,
  /** Questions of a key that are no longer pending. */
  finished_questions_per_key: 1_000,
  /** Seconds without an answer of the store until event streams and waits end: 6 in all. */
  store_silence: 4,
  /** How long events stay in the store for processes that fell behind. */
  event_retention: 300,
  /** Seconds between two reads of the newest event's number, from which a process tells the age of events. */
  event_look_every: 10,
  /**
   * Seconds from the end of all else of a deleted account to the removal of its events: longer than
   * the 6 within which every process has delivered them or has ended its streams.
   */
  deleted_events_kept: 10,
  /** Events that one step searches for those of deleted accounts: under 1 ms. */
  deleted_events_step: 2_000,
  /** Deleted accounts whose end is under way in one process; others wait for their turn. */
  deleted_accounts: 10_000,
  /** Seconds until a deleted account that has pushes to be sent is looked at again. */
  deleted_account_retry: 30,
  /** Characters of an `Idempotency-Key`, and how long it is kept. */
  idempotency_key: 255,
  idempotency_retention: 86_400,
  /** Characters of a `request_id`, and seconds for which it identifies its question. */
  request_id: 100,
  request_id_retention: 86_400,
  /** Seconds for which an identical tool call joins the question of one that its client left. */
  left_ask: 120,
  /** Seconds in which a challenge of app attestation can be used. */
  challenge_life: 300,
  /** Seconds in which a pairing code can be used, and how long a use is remembered after that. */
  pairing_life: 300,
  pairing_kept: 3_600,
  /** Seconds for which an ended account token is told from an unknown one (§4.1.7). */
  ended_token_retention: 365 * 86_400,
  /** Seconds in which a sign-in that was added may not end others, add any, or delete the account. */
  session_trial: 600,
  /** Seconds between two notes of the use of a sign-in that only holds an event stream open. */
  stream_used_every: 300,
  /** Characters of an `attestation`; a genuine one has some 10,000. */
  attestation: 32_768,
  /** Accounts of one page of the admin's list. */
  admin_page: 100,
  admin_page_default: 50,
  activity_page: 100,
  activity_page_default: 50,
  activity_per_key: 200,
  /** How long an entry of the activity log is kept. */
  activity_retention: 7 * 86_400,
  /** Entries that wait in memory for their write; beyond that the oldest are dropped. */
  activity_queue: 10_000,
  trpc_batch: 20,
  /** Requests that one turn of the event loop handles; the rest wait for the next one. */
  requests_per_turn: 128,
  /** Seconds within which the store must answer a read or a write, the wait for its turn included. */
  store_answer: 4,
  /**
   * Seconds from the arrival of a request until it is `503`, however many calls of the store it makes:
   * within 5 (docs/interface.md 11.4.1). A request that waits for something has its own time.
   */
  request_answer: 4.7,
  /** The same for what `GET /health` reads: it answers within 2 seconds. */
  health_answer: 1.5,
  /** Batches of writes that wait for their commit, and the characters of their texts together. */
  write_queue: 4_096,
  write_queue_bytes: 64 * 1024 * 1024,
  /** Seconds after a read met a fault of the file during which `GET /health` says so. */
  read_fault_rest: 10,
  /** Seconds between two log lines of one kind of store fault. */
  fault_log_every: 60,
  /** Seconds between two looks at the store's file, and between two tries of a store that cannot be written. */
  store_check_every: 1,
  /** Seconds in which a stop tries to empty the log of a file that other processes use. */
  log_emptying: 1,
  /** Bytes of JSON after which a page of a list ends, whatever its `limit`; it holds at least one record. */
  page_bytes: 1024 * 1024,
  /** Bytes of long texts that one page reads in place; longer texts are read once the page is known. */
  page_inline_text_min: 2 * 1024,
  /** Inbox items read at once: each may be 60 KiB, and a page ends by bytes. */
  inbox_stretch: 34,
  /** Tasks of one page that are marked as seen at once, so that other writes get their turn. */
  seen_stretch: 50,
  /** Bytes of answers that the calls of one tRPC batch share. */
  batch_bytes: 1024 * 1024,
  /** Bytes reserved for each query of a batch while it runs: so many of them run at once. */
  batch_query_bytes: 256 * 1024,
  /** Bytes of an answer from which on its size costs tokens, and bytes that one token pays for. */
  answer_free_bytes: 64 * 1024,
  answer_token_bytes: 64 * 1024,
  /** The same of a request body. */
  body_free_bytes: 64 * 1024,
  body_token_bytes: 64 * 1024,
  /**
   * Bytes of answers that one credential may leave unread, that one account may with all its keys and
   * tokens, and that all may in one process; beyond that, the account with the most gives up its oldest.
   */
  unsent_bytes_per_credential: 8 * 1024 * 1024,
  unsent_bytes_per_account: 64 * 1024 * 1024,
  unsent_bytes: 256 * 1024 * 1024,
  /** Seconds in which the reader of a large answer must read some of it; the same once it is given up. */
  unsent_idle: 20,
  unsent_idle_given_up: 1,
  /** Characters of a `client_id` of OAuth, of a redirect URI, of a `state` and of a client's name. */
  client_id: 2_000,
  redirect_uri: 2_000,
  oauth_state: 2_000,
  client_name: 80,
  /** Redirect URIs that a client registers. */
  redirect_uris: 10,
  /** Bytes of the body of a request to `/oauth`. */
  oauth_body_bytes: 8 * 1024,
  /** A document that describes a client: its bytes, and seconds until it must be there. */
  client_document_bytes: 5 * 1024,
  client_document_seconds: 4,
  /** Characters of a signed authorization request, and seconds in which it can be approved. */
  authorization_request: 8_000,
  authorization_request_life: 600,
  /** Seconds in which an authorization code can be used. */
  authorization_code_life: 60,
  access_token_life: 86_400,
  /** From the time its client got it. */
  refresh_token_life: 60 * 86_400,
  /** Seconds in which a refresh token that was used gives the same successor. */
  refresh_again: 600,
  /** Clients with access to one key; one more ends the access that was renewed longest ago. */
  grants_per_key: 20,
  /** Browsers that wait for the approval by another device, in all processes; of one address; how long one may. */
  approvals: 1_000,
  approvals_per_address: 10,
  approval_life: 600,
  /** Characters of the secret of a browser that waits for an approval. */
  approval_secret: 64,
  /** Wrong approval codes that an account may send in a minute, to one process. */
  wrong_approval_codes: 10,
  /**
   * Credentials that a process on a libSQL server remembers, so that it reads a row together with the
   * credential of its request.
   */
  remembered_credentials: 10_000,
  /** Seconds for which a ticket is good after the end of its question. */
  ticket_life: 86_400,
  /** Buckets of one rate limit that are kept; above it, those unused for longest are dropped. */
  rate_buckets: 50_000,
} as const;

/** A bucket of `quota` calls that refills evenly within `window` seconds; a quota of 0 turns the limit off. */
export interface Rate {
  readonly quota: number;
  readonly window: number;
}

/**
 * What all accounts of a process make Relay send to one host in an hour (§10.6.8). Each may send `first` to a host that
 * others have used up, until twice `per_host` was sent. Of more hosts than `hosts`, the oldest is no longer counted.
 */
export const ADDRESS_USES = { per_host: 600, first: 3, hosts: 10_000 } as const;

/** Rate limits by the name that the `RateLimit` headers show (docs/interface.md 10.6). */
export const RATES = {
  /** One API key: 600 a minute. */
  key: { quota: 120, window: 12 },
  /** One account token: 1,200 a minute. */
  account: { quota: 240, window: 12 },
  /** One ticket of a notification. */
  ticket: { quota: 20, window: 60 },
  /** Refusals of one address without a valid credential. */
  address: { quota: 60, window: 60 },
  /** Accounts made by one address: at most so many in any hour. */
  accounts: { quota: 5, window: 3_600 },
  /** Attestation challenges for one address. */
  challenges: { quota: 20, window: 3_600 },
  /** Claims of pairing codes by one address, and in one process: what a guesser gets. */
  pairings: { quota: 10, window: 60 },
  pairings_process: { quota: 300, window: 60 },
  /** Tests of one channel: at most so many in any hour. */
  channel_tests: { quota: 6, window: 3_600 },
  /** Webhooks that are set for one key, each of which is sent a test: at most so many in any hour. */
  webhook_sets: { quota: 20, window: 3_600 },
  /** What one account makes Relay send to addresses of its choice: at most so much in any hour (§10.6.8). */
  address_uses: { quota: 120, window: 3_600 },
  /** Requests of one address to have an authorization approved by another device. */
  approvals: { quota: 10, window: 600 },
  /** Waits of one address for such an approval: a page makes six a minute. */
  approval_waits: { quota: 120, window: 60 },
  /** Registrations of OAuth clients by one address; refusals of the address do not count here. */
  registrations: { quota: 60, window: 60 },
  /** Refusals at `/mcp` without a credential, with which clients of one address begin a sign-in. */
  mcp_challenges: { quota: 60, window: 60 },
  /** Refusals of expired access tokens of one address that are not counted as others are. */
  expired_tokens: { quota: 60, window: 60 },
} as const satisfies Record<string, Rate>;

/** Open pages; seconds unless the name says otherwise (docs/interface.md §5.7.9). */
export const PAGES = {
  /** How long the pages of a process that died count as open. */
  lease: 30,
  /** Between two renewals, and between two looks at the store's clock. */
  renew_every: 10,
  /** Changes within it are written together. */
  beat: 0.05,
  /** How long a page that closes counts as open: most of them are loading again. */
  linger: 5,
  /** Until a write that failed is tried again. */
  retry_every: 1,
  /** Accounts, and questions, that one write names. */
  step: 500,
  /** Questions that wait to be written as sent to a page; the oldest go. */
  queued: 2_000,
} as const;

/** Running out of file descriptors; seconds (docs/interface.md 11.2.3). */
export const DESCRIPTORS = {
  /** Between two probes, so the longest time that the event loop can spin before it is slowed down. */
  check_every: 0.25,
  /** Pause after each turn of the loop meanwhile: some 3 % of a core, 2 ms more for each answer. */
  pause: 0.002,
  /** Descriptors must have been free this long for the shortage to be over. */
  settle: 1,
  /** At least this long between two log lines. */
  log_every: 60,
} as const;

/** Turns of lists and large bodies on the event loop (docs/interface.md 11.2.4). */
export const HEAVY_WORK = {
  /**
   * Seconds of it until other work has its turns. Shorter slices cost ordinary lists a third of their
   * rate.
   */
  slice: 0.01,
  /** Turns of the event loop that other work then has: a request that writes takes a few. */
  pause_turns: 8,
  /** Pieces that wait in one process; one more is `503`. */
  queued: 4_096,
  /** Pages of one credential that are made at once; more wait. */
  pages_per_credential: 2,
} as const;

/** Requests to a libSQL server; seconds unless the name says otherwise (docs/interface.md 11.4.1). */
export const SERVER_STORE = {
  /** Between two looks for reads that are past their deadline. */
  sweep_every: 0.1,
  /** Reads that share one round trip. With 128, the p99 of reads over 64 connections is a fifth to a half longer. */
  reads_per_request: 32,
  /** Lists that share one: 4 pages of 1 MiB stay below the 10 MB that the server puts in an answer. */
  lists_per_request: 4,
  /** Round trips of reads under way at once; more only queue in the server, which has few cores. */
  read_requests: 4,
  /** Those of them that may be of lists. */
  list_requests: 2,
  /** Reads that wait for a round trip, some 3 s of the server's time; one more is `503`. */
  reads_queued: 16_384,
  /** A stream unused for so long is opened anew: sqld gives it up after 10. */
  stream_idle: 8,
} as const;

/** Requests to addresses that users give; seconds unless the name says otherwise (docs/interface.md §11.6). */
export const OUTBOUND = {
  /** From the look-up of the name to the last byte of the answer. */
  seconds: 10,
  answer_bytes: 65_536,
  url_characters: 2_000,
  /** Addresses of a name that are tried, one after the other. */
  addresses: 4,
} as const;
