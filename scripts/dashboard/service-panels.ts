/** Panels of notifications, the store and the process. */

import { of, type PanelPlan, perProcess, quantile, quantiles, rate, sumBy } from "./queries.ts";

export const NOTIFICATIONS: readonly PanelPlan[] = [
  {
    title: "Answers of services",
    about: "By channel and reason; `ok` was accepted.",
    unit: "ops",
    queries: [
      {
        expr: sumBy("channel, reason", rate("relay_push_answers_total")),
        legend: "{{channel}} {{reason}}",
      },
    ],
  },
  {
    title: "Late",
    about: "How long the first notification that could be sent has been due.",
    unit: "s",
    queries: [
      {
        expr: `max by (channel, lane) (${of("relay_push_overdue_seconds")})`,
        legend: "{{channel}} {{lane}}",
      },
    ],
  },
  {
    title: "Queued",
    about: "Notifications that wait, also for quiet hours, and those under way.",
    unit: "none",
    queries: [
      {
        expr: `max by (channel, lane) (${of("relay_push_queued")})`,
        legend: "{{channel}} {{lane}}",
      },
      {
        expr: sumBy("channel, lane", of("relay_push_in_flight")),
        legend: "under way {{channel}} {{lane}}",
      },
    ],
  },
  {
    title: "Oldest queued",
    about: "Age of the notification that waits longest, also for quiet hours.",
    unit: "s",
    queries: [
      {
        expr: `max by (channel, lane) (${of("relay_push_oldest_seconds")})`,
        legend: "{{channel}} {{lane}}",
      },
    ],
  },
  {
    title: "Lanes",
    about:
      "Whether each lane sends. A paused one resumes by itself; a stopped one needs a restart.",
    unit: "none",
    words: ["closed", "open"],
    queries: [
      {
        expr: `min by (channel, lane) (${of("relay_push_lane_open")})`,
        legend: "{{channel}} {{lane}}",
      },
    ],
  },
  {
    title: "Listening for answers",
    about:
      "Connections that take answers, how many of them work, and the channels that they serve.",
    unit: "none",
    queries: [
      {
        expr: sumBy("channel", of("relay_listener_connections")),
        legend: "{{channel}} connections",
      },
      { expr: sumBy("channel", of("relay_listener_working")), legend: "{{channel}} working" },
      { expr: sumBy("channel", of("relay_listener_channels")), legend: "{{channel}} channels" },
      { expr: of("relay_listener_keys"), legend: "services and topics {{instance}}" },
    ],
  },
  {
    title: "Answers from channels",
    about: "By what became of them; `unknown` are forged, foreign, too late or too many.",
    unit: "ops",
    queries: [{ expr: sumBy("outcome", rate("relay_replies_total")), legend: "{{outcome}}" }],
  },
];

export const STORE: readonly PanelPlan[] = [
  {
    title: "Duration of commits",
    about: "A commit writes what several requests changed.",
    unit: "s",
    queries: quantiles("relay_store_commit_duration_seconds"),
  },
  perProcess("Duration of a small read", "One read, at the time of the scrape.", "s", [
    "",
    of("relay_store_read_seconds"),
  ]),
  perProcess(
    "Commits and batches",
    "Commits a second, and the changes that shared one.",
    "none",
    ["commits/s", rate("relay_store_commit_duration_seconds_count")],
    [
      "batches per commit",
      `${rate("relay_store_commit_batches_sum")} / ${rate("relay_store_commit_batches_count")}`,
    ],
    ["waiting", of("relay_store_queued_batches")],
  ),
  {
    title: "Faults",
    about: "Faults of the store by kind, and batches that were not written.",
    unit: "ops",
    queries: [
      { expr: sumBy("kind", rate("relay_store_faults_total")), legend: "{{kind}}" },
      { expr: `sum(${rate("relay_store_failed_batches_total")})`, legend: "failed batches" },
    ],
  },
  perProcess(
    "Write lock",
    "For how long another process has held the write lock of the file while writes failed.",
    "s",
    ["held", of("relay_store_write_lock_held_seconds")],
  ),
  perProcess(
    "Size",
    "The store, and the log beside its file: up to 16 MB under load.",
    "bytes",
    ["store", of("relay_store_size_bytes")],
    ["log", of("relay_store_wal_bytes")],
  ),
  perProcess(
    "Disk",
    "The disk with the store's file.",
    "bytes",
    ["free", of("relay_store_disk_free_bytes")],
    ["size", of("relay_store_disk_size_bytes")],
  ),
  {
    title: "Age of the last backup",
    about: "And the time between two automatic backups; a higher age is a fault.",
    unit: "s",
    queries: [
      {
        expr: `time() - max(${of("relay_backup_last_success_timestamp_seconds")})`,
        legend: "age",
      },
      { expr: `min(${of("relay_backup_interval_seconds")})`, legend: "between two" },
    ],
  },
  {
    title: "Backups",
    about: "Backups that each process made or failed to make in a day, and whether they fail now.",
    unit: "none",
    queries: [
      {
        expr: `sum by (result) (increase(${of("relay_backups_total")}[1d]))`,
        legend: "{{result}}",
      },
      { expr: `max(${of("relay_backup_failing")})`, legend: "fails now" },
    ],
  },
  {
    title: "Size of the last backup",
    about: "Each of those that are kept is about as large.",
    unit: "bytes",
    queries: [{ expr: `max(${of("relay_backup_size_bytes")})`, legend: "size" }],
  },
  {
    title: "Events in the store",
    about: "Kept for five minutes, for processes that fell behind.",
    unit: "none",
    queries: [{ expr: `max(${of("relay_outbox_events")})`, legend: "events" }],
  },
  {
    title: "Oldest event in the store",
    about: "About five minutes.",
    unit: "s",
    queries: [{ expr: `max(${of("relay_outbox_oldest_seconds")})`, legend: "age" }],
  },
  {
    title: "Clock",
    about: "By how much the clock of the process is ahead of what it was compared with.",
    unit: "s",
    queries: [{ expr: of("relay_clock_offset_seconds"), legend: "{{against}} {{instance}}" }],
  },
  {
    title: "Jobs",
    about: "Passes of background work a minute, by result.",
    unit: "none",
    queries: [
      {
        expr: `60 * ${sumBy("exported_job, result", rate("relay_job_runs_total"))}`,
        legend: "{{exported_job}} {{result}}",
      },
    ],
  },
  {
    title: "Duration of jobs",
    about: "99th percentile of a pass.",
    unit: "s",
    queries: [
      {
        expr: quantile(0.99, "relay_job_duration_seconds", "exported_job"),
        legend: "{{exported_job}}",
      },
    ],
  },
  {
    title: "Last success of jobs",
    about: "How long ago each job last succeeded in any process.",
    unit: "s",
    queries: [
      {
        expr: `time() - max by (exported_job) (${of("relay_job_last_success_timestamp_seconds")})`,
        legend: "{{exported_job}}",
      },
    ],
  },
];

export const PROCESS: readonly PanelPlan[] = [
  perProcess(
    "CPU",
    "Cores in use. A process has one event loop, so about one core is the most.",
    "percentunit",
    ["all", rate("process_cpu_seconds_total")],
    ["system", rate("process_cpu_system_seconds_total")],
  ),
  perProcess(
    "Memory",
    "Usual are 100 to 300 MB.",
    "bytes",
    ["resident", of("process_resident_memory_bytes")],
    ["heap", of("nodejs_heap_size_used_bytes")],
  ),
  perProcess(
    "File descriptors",
    "Each connection takes one. Without any left, new connections wait.",
    "none",
    ["open", of("process_open_fds")],
    ["limit", of("process_max_fds")],
  ),
  perProcess(
    "Restarts and shortages",
    "Within an hour: starts, how often descriptors ran out, and seconds in which the process stood still.",
    "none",
    ["starts", `changes(${of("process_start_time_seconds")}[1h])`],
    ["shortages", `increase(${of("relay_descriptor_shortages_total")}[1h])`],
    ["seconds stood still", `increase(${of("relay_standstill_seconds_total")}[1h])`],
  ),
  {
    title: "Spans of traces",
    about:
      "By what became of them. Dropped are those beyond 100 requests and 100 deliveries a second.",
    unit: "ops",
    queries: [{ expr: sumBy("result", rate("relay_trace_spans_total")), legend: "{{result}}" }],
  },
];
