/** The limits of notifications, webhooks and replies that a client can observe (§14, §19.4, §19.8). */

/** Limits of notifications (§14). Times are seconds unless the name says otherwise. */
export const NOTIFICATION_LIMITS = {
  payload_bytes: 4_096,
  /** Lines and characters of the prompt of a request for permission that a notification can permit. */
  action_lines: 4,
  action_characters: 200,
  /** Lines and characters of prompt, fallback and draft up to which a notification offers to approve the draft. */
  draft_lines: 10,
  draft_characters: 400,
  /** Lines of a question's context, and bytes of its context and its fallback as JSON strings. */
  context_lines: 3,
  context_bytes: 400,
  fallback_bytes: 120,
  /** Ids in the `clear` of one notification, and ids that wait for one device: the oldest are dropped. */
  clear_ids: 50,
  clear_most: 500,
  /** How long a notification may still arrive after it was due. */
  alert_life: 86_400,
  silent_life: 600,
  /** How long a `clear` is retried: until then, its alert may still arrive. */
  clear_life: 86_400,
  widget_life: 600,
  /** Until a live activity counts as stale, which is also when its notifications expire. */
  activity_life: 900,
  /** An `end` is retried for as long as a live activity can exist. */
  end_life: 28_800,
  /** How long a finished live activity stays on the screen. */
  dismissal: 600,
  /** Minimum time between two notifications of the same kind. */
  update_every: 5,
  widget_every: 60,
  passive_every: 10,
  /** Silent notifications to one device that only say that something changed. */
  silent_per_hour: 3,
  /** Notifications that wait for one device or channel. Beyond it, one about another task is not queued. */
  queued_most: 1_000,
  /** What must be left of a question's time for it to ring once more. */
  nudge_left: 120,
  /** How long after the end of `expect_update_within` an agent counts as silent. */
  silent_margin: 60,
  record_days: 7,
  /** How long the test of a channel waits for a connection before its request. */
  connection_wait: 5,
} as const;

/** Limits of webhooks (§19.4). Times are seconds unless the name says otherwise. */
export const WEBHOOK_LIMITS = {
  /** Messages that wait for one channel. A trigger has the same number. */
  queued: 1_000,
  /** Bytes of these messages, from which on the queue is full too. The same trigger has this number. */
  queued_bytes: 8 * 1024 * 1024,
  /** How long a message is retried. The same trigger has this number too. */
  message_life: 86_400,
  /** Attempts of one channel in any minute. */
  per_minute: 60,
  /** First back-off after a failed attempt. It doubles up to `backoff_most`. */
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
  /** Of those, connections of channels whose last attempt failed. */
  failing_per_host: 3,
} as const;

/** Limits of replies (§19.8). Times are seconds unless the name says otherwise. */
export const REPLY_LIMITS = {
  /** Reply topics of one subscription. */
  topics: 50,
  /** Bytes of a line of a subscription; a longer one is dropped. A message with a code has some 300. */
  line_bytes: 4_096,
  /** Bytes that a subscription may send at once, such as replies that waited, and in each further second. */
  burst_bytes: 2_097_152,
  bytes_per_second: 65_536,
  /** Replies in the person's own words and answers of tests, of an account: at once, and in each further second. */
  replies_at_once: 30,
  replies_per_second: 1,
  /**
   * Codes of an account's questions that were not handled before: at once, and in each further second. More are not
   * pressed by a person, and each costs other accounts of its subscription a wait for the store.
   */
  codes_at_once: 100,
  codes_per_second: 5,
  /** Days for which names of messages are kept after their subject ended. */
  message_days: 7,
} as const;
