/** The limits of notifications: pushes, webhooks, ntfy and Web Push (docs/interface.md §14, §19). */

/** The numbers of pushes; seconds unless the name says otherwise (docs/interface.md 14). */
export const PUSH = {
  payload_bytes: 4_096,
  /** Lines and characters of the prompt of a request for permission that a notification can permit. */
  action_lines: 4,
  action_characters: 200,
  /** Context and fallback of a question: lines, and bytes as a JSON string. */
  context_lines: 3,
  context_bytes: 400,
  fallback_bytes: 120,
  /** Characters of a context that are read for a notification. */
  context_read: 1_000,
  /** Ids in the `clear` of one push. */
  clear_ids: 50,
  /** Ids that wait for one device; above it, the oldest are dropped. */
  clear_most: 500,
  /** How long a push may still arrive after it was due. */
  alert_life: 86_400,
  silent_life: 600,
  /** How long a `clear` is retried: until then, its alert may still arrive. */
  clear_life: 86_400,
  widget_life: 600,
  /** Until an activity counts as stale, which is also when its pushes expire. */
  activity_life: 900,
  /** An `end` is tried as long as an activity can live. */
  end_life: 28_800,
  /** How long a finished activity stays on the screen. */
  dismissal: 600,
  /** Minimum time between two pushes of the same kind. */
  update_every: 5,
  widget_every: 60,
  passive_every: 10,
  /** Silent pushes of one device that only say that something changed. */
  silent_per_hour: 3,
  /** Notifications that wait for one device or channel; a further one of a task is not queued. */
  queued_most: 1_000,
  /** How long a `clear` waits for others to share a push with; 2 at most (docs/interface.md §14.4). */
  clear_wait: 1.5,
  /** Until another process may send what this one claimed: longer than two time limits. */
  lease: 15,
  /** Leases of one lane that are watched at once, each of up to `claim` rows of {@link PUSH_BATCH}. */
  leases: 1_000,
  /** Until a request without an answer is given up. */
  time_limit: 5,
  /**
   * Requests under way at once, over all lanes that use Bun's HTTP client, and how many each of them can have
   * whatever the others do. Bun makes 256 at once in a process, of which a libSQL server takes up to 6.
   */
  in_flight: 248,
  in_flight_reserved: 16,
  /** Requests that an account may have under way in a lane for each one that it leaves to others. */
  account_share: 7,
  /** Requests made and answers handled in one turn of the event loop, over all lanes. */
  per_turn: 4,
  /** Deliveries of each urgency that a claim considers: those that have been due for longest. */
  claim_window: 100,
  /** Claims of what has been due for longest, while more is due, until one goes through the accounts. */
  claims_by_age: 2,
  /** Accounts that are looked at in one read where more than that is due. */
  accounts_per_read: 200,
  /** Outcomes within it are written together. */
  beat: 0.01,
  poll_every: 1,
  /** First back-off of a delivery. After a lost connection it doubles up to `lost_backoff_most`. */
  lost_backoff: 1,
  lost_backoff_most: 60,
  /** The pause of a lane grows up to this multiple of its first length. */
  pause_growth: 60,
  /** First back-off of a token after `TooManyRequests`; it doubles up to `token_backoff_most`. */
  token_backoff: 30,
  token_backoff_most: 3_600,
  /** The longest `Retry-After` that is obeyed. */
  hold_most: 3_600,
  /** Back-off after an error of the push service, and attempts for which a question waits less. */
  server_backoff: 900,
  sooner_tries: 2,
  /** Tokens whose back-off is kept in memory. */
  held_tokens: 10_000,
  /** How long a stop waits for what is under way. */
  stop_wait: 10,
  record_days: 7,
  /** The highest number of pending questions that a badge shows. */
  badge_most: 1_000,
  /** How long a push service keeps the test of a channel. */
  test_life: 60,
  /** How long the test of a channel waits for a connection, before its request. */
  connection_wait: 5,
  /** How long what is queued does. With the request it ends before its lease. */
  queued_connection_wait: 4,
  /** Age at which a provider token is renewed, and the least time between two that the service asks for. */
  provider_token_age: 2_700,
  provider_token_gap: 1_200,
} as const;

/** How due times are compared with the clock of the process that looks (docs/interface.md 11.5.3); seconds. */
export const DUE_TIMES = {
  /** Between two looks. */
  every: 10,
  /** By which clocks may differ. */
  tolerance: 60,
  /** The longest delay of a delivery: an hour that a service asks for, and a random part of up to an hour. */
  most: 7_260,
  /** The same of a message of a webhook: `WEBHOOK.hold_most`. */
  most_of_webhook: 3_660,
  /** Rows that one look considers, those that are due last. */
  checked: 1_000,
} as const;

/**
 * Deliveries in one batch, by the kind of store: rows that are claimed, and accepted ones that are settled.
 * The SQL of a file runs on the event loop, where requests wait for it; a libSQL server is asked less often
 * for the same work.
 */
export const PUSH_BATCH = {
  embedded: { claim: 25, settle: 16 },
  server: { claim: 100, settle: 64 },
} as const;

/** The numbers of webhooks; seconds unless the name says otherwise (docs/interface.md 19.4). */
export const WEBHOOK = {
  /** Messages that wait for one channel. A trigger of migration 0023 has the same number. */
  queued: 1_000,
  /** How long a message is retried. The same trigger has it. */
  message_life: 86_400,
  /** Attempts of one channel in any minute. */
  per_minute: 60,
  /** First back-off after a failed attempt; it doubles up to `backoff_most`. */
  backoff: 5,
  backoff_most: 600,
  /** The longest `Retry-After` that is obeyed. */
  hold_most: 3_600,
  /** How long the test of a channel waits for its outcome. */
  test_wait: 10,
  /** How long the creation of a channel waits for a name server. */
  check_wait: 3,
  /** Connections to one host for all accounts, per process. */
  per_host: 4,
  /** Of those, messages of channels whose last attempt failed. */
  failing_per_host: 3,
  /** Requests of one process that wait for a connection to one host. */
  waiting_per_host: 44,
  /** Messages of one account that are under way at once, and of all accounts, per process. */
  per_account: 8,
  in_flight: 64,
  /** Of those, messages of channels whose last attempt failed: hosts that hang leave room. */
  in_flight_failing: 32,
  /** Messages that one read considers, and those of one channel among them. */
  candidates: 400,
  candidates_per_channel: 4,
  /** Until another process may send what this one claimed: longer than a request and its settling. */
  lease: 15,
  /** Leases that are watched at once. */
  leases: 1_000,
  poll_every: 1,
  /** How long a stop waits for what is under way. */
  stop_wait: 10,
  /** Accounts whose events wake the worker at once; those of others wait for the next poll. */
  known_accounts: 10_000,
} as const;

/** The numbers of ntfy; seconds unless the name says otherwise (docs/interface.md 19.5). */
export const NTFY = {
  /** Bytes of a message as a JSON string; a longer one becomes an attachment. */
  message_bytes: 4_095,
  /** The whole publish: ntfy refuses more than twice the size of a message. */
  publish_bytes: 8_000,
  /** Options of a question up to which each has a button: ntfy takes no more. */
  buttons: 3,
  /** All buttons of a publish together. */
  buttons_bytes: 4_000,
  /** The longest `Retry-After` that is obeyed. */
  hold_most: 3_600,
  /** The longest back-off after a failed attempt. */
  backoff_most: 300,
  /** Random extra wait, at most, of a delivery that is put back because its host is busy. */
  busy_spread: 5,
  /** Requests under way at once, per process; `WEBHOOK.waiting_per_host` leaves room for other hosts. */
  in_flight: 64,
  /** As of `PUSH`: an account chooses its servers, and so how long its requests take. */
  account_share: 1,
} as const;

/** The numbers of web push; seconds unless the name says otherwise (docs/interface.md 19.6). */
export const WEB_PUSH = {
  /** An encrypted message of 4,096 bytes, less its header, the tag and the delimiter (RFC 8291). */
  plaintext_bytes: 3_993,
  /** Bytes that a message is shortened to when the push service says that it is too large. */
  short_bytes: 1_500,
  /** Characters of the endpoint of a subscription. */
  endpoint_characters: 1_000,
  /** Options of a question up to which each has a button: what Chromium shows. */
  buttons: 2,
  /** The longest `TTL` of a message. */
  ttl_most: 2_419_200,
  /** Age at which the signed VAPID token is renewed; it is valid for 12 hours (RFC 8292). */
  token_age: 21_600,
  /** Origins of push services whose VAPID tokens are kept. */
  kept_tokens: 1_000,
  /** The longest `Retry-After` that is obeyed. */
  hold_most: 3_600,
  /** The longest back-off after a failed attempt. */
  backoff_most: 300,
  /** Random extra wait, at most, of a delivery that is put back because its host is busy. */
  busy_spread: 5,
  /** Requests under way at once, per process. */
  in_flight: 64,
  /** Bytes of an answer that are read; a longer one is not read to its end. */
  answer_bytes: 65_536,
} as const;
