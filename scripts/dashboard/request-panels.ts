/** Panels of the overview, traffic, latency, waits and streams. */

import { of, type PanelPlan, perProcess, quantile, quantiles, rate, sumBy } from "./queries.ts";

export const OVERVIEW: readonly PanelPlan[] = [
  {
    kind: "stat",
    title: "Processes",
    about: "Processes that answer, by version. Two versions are usual only during an upgrade.",
    unit: "none",
    queries: [{ expr: `count by (version) (${of("relay_build_info")})`, legend: "{{version}}" }],
  },
  {
    kind: "stat",
    title: "Store",
    about: "Whether every process can read and write the store.",
    unit: "none",
    words: ["away", "usable"],
    queries: [
      {
        expr: `min(${of("relay_store_up")} * ${of("relay_store_usable")})`,
        legend: "store",
      },
    ],
  },
  {
    kind: "stat",
    title: "Failed requests",
    about: "Part of all requests with a status from 500 on, health checks left out.",
    unit: "percentunit",
    queries: [
      {
        expr: `(sum(${rate("http_requests_total", 'status=~"5.."', 'route!~"/health.*"')}) or vector(0)) / sum(${rate("http_requests_total", 'route!~"/health.*"')})`,
        legend: "failed",
      },
    ],
  },
  {
    kind: "stat",
    title: "Late notifications",
    about: "How late the notification is that has been due for longest. 0 is usual.",
    unit: "s",
    queries: [{ expr: `max(${of("relay_push_overdue_seconds")})`, legend: "late" }],
  },
  {
    kind: "stat",
    title: "Free disk",
    about: "Free space of the disk with the store's file. Not known of a libSQL server.",
    unit: "bytes",
    queries: [{ expr: `min(${of("relay_store_disk_free_bytes")})`, legend: "free" }],
  },
  {
    kind: "stat",
    title: "Certificate expires",
    about: "The certificate that Relay itself serves; none behind a proxy.",
    unit: "dateTimeFromNow",
    queries: [
      {
        expr: `min(${of("relay_certificate_expires_timestamp_seconds")}) * 1000`,
        legend: "expires",
      },
    ],
  },
];

export const TRAFFIC: readonly PanelPlan[] = [
  {
    title: "Requests by route",
    about: "Answered requests. `unknown` are paths that Relay does not have.",
    unit: "reqps",
    queries: [
      { expr: sumBy("method, route", rate("http_requests_total")), legend: "{{method}} {{route}}" },
    ],
  },
  {
    title: "Requests by status",
    about: "429 is a limit, 503 an unavailable store or an overload, 500 a fault of Relay.",
    unit: "reqps",
    queries: [{ expr: sumBy("status", rate("http_requests_total")), legend: "{{status}}" }],
  },
  {
    title: "Refused by rate limits",
    about: "`key` and `account` are those of valid credentials, `address` of requests without one.",
    unit: "reqps",
    queries: [{ expr: sumBy("limit", rate("relay_rate_limited_total")), legend: "{{limit}}" }],
  },
  perProcess("Requests under way", "Requests without an answer yet, waits included.", "none", [
    "",
    of("http_requests_in_flight"),
  ]),
  perProcess(
    "Unread responses",
    "Large responses that their clients have not read yet. At most 256 MiB.",
    "bytes",
    ["", of("relay_unsent_answer_bytes")],
  ),
  perProcess(
    "Request log",
    "Entries that wait to be written, and dropped ones a second. None is dropped while the store works.",
    "none",
    ["waiting", of("relay_activity_queued")],
    ["dropped", rate("relay_activity_dropped_total")],
  ),
];

export const LATENCY: readonly PanelPlan[] = [
  {
    title: "Duration of requests",
    about: "Of requests that did not ask to wait.",
    unit: "s",
    queries: quantiles("http_request_duration_seconds"),
  },
  {
    title: "Slowest routes",
    about: "99th percentile of each route, the ten slowest.",
    unit: "s",
    queries: [
      {
        expr: `topk(10, ${quantile(0.99, "http_request_duration_seconds", "method, route")})`,
        legend: "{{method}} {{route}}",
      },
    ],
  },
  perProcess(
    "Event loop",
    "By how much timers of the last minute came late. Over 0.2 s the processor is too busy.",
    "s",
    ["p50", of("nodejs_eventloop_lag_p50_seconds")],
    ["p99", of("nodejs_eventloop_lag_p99_seconds")],
    ["max", of("nodejs_eventloop_lag_max_seconds")],
  ),
];

export const WAITS: readonly PanelPlan[] = [
  perProcess("Open event streams", "Pages and programs that follow changes.", "none", [
    "",
    of("relay_streams_open"),
  ]),
  perProcess("Open waits", "Requests that wait for an answer, a change or a message.", "none", [
    "",
    of("relay_waits_open"),
  ]),
  {
    title: "Duration of waits",
    about: "Up to 50 seconds; over MCP, a call may wait several times.",
    unit: "s",
    queries: quantiles("relay_wait_duration_seconds"),
  },
  {
    title: "Ended and refused",
    about:
      "Streams of accounts that opened too many (limit) or did not read (slow), and refused waits.",
    unit: "ops",
    queries: [
      { expr: sumBy("reason", rate("relay_streams_ended_total")), legend: "stream: {{reason}}" },
      { expr: `sum(${rate("relay_waits_refused_total")})`, legend: "wait refused" },
    ],
  },
  perProcess(
    "Events behind the store",
    "Events that the process has yet to deliver to its streams and waits. About 0 is usual.",
    "none",
    ["", of("relay_outbox_lag_events")],
  ),
];
