/** Contents of the panels of the dashboard. */

import { Ago } from "../ui/ago.tsx";
import { Badge, Facts, type Tone } from "../ui/parts.tsx";
import type { Outputs } from "./api.ts";
import { Shares, Spread } from "./bars.tsx";
import { bytes, count, formatSeconds, percent, plural } from "./numbers.ts";

export function Rows({ counts }: { counts: NonNullable<Outputs["overview"]["counts"]> }) {
  const { tasks, questions } = counts;
  return (
    <div className="space-y-6">
      <Shares
        title="Tasks"
        parts={[
          { name: "to do", value: tasks.todo, color: "plain" },
          { name: "in progress", value: tasks.in_progress, color: "accent" },
          { name: "done", value: tasks.done, color: "ok" },
          { name: "cancelled", value: tasks.cancelled, color: "danger" },
        ]}
      />
      <Shares
        title="Questions"
        parts={[
          { name: "pending", value: questions.pending, color: "accent" },
          { name: "answered", value: questions.answered, color: "ok" },
          { name: "expired", value: questions.expired, color: "warn" },
          { name: "cancelled", value: questions.cancelled, color: "danger" },
        ]}
      />
      <p className="text-faint text-sm">
        Counted <Ago at={counts.counted_at} /> in {formatSeconds(counts.took)}
      </p>
    </div>
  );
}

export function Process({ figures }: { figures: Outputs["process"] }) {
  const { event_loop_lag: lag, rate_limited, activity } = figures;
  const refused = Object.entries(rate_limited).filter(([, times]) => times > 0);
  return (
    <Facts
      facts={[
        ["Version", `${figures.version}, Bun ${figures.bun}`],
        ["Process", `${figures.pid}, up ${formatSeconds(figures.uptime)}`],
        ["CPU time", `${formatSeconds(figures.cpu)} (${percent(figures.cpu / figures.uptime)})`],
        ["Memory", `${bytes(figures.resident_bytes)}, heap ${bytes(figures.heap_bytes)}`],
        [
          "Open files and sockets",
          figures.open_fds === null
            ? "Unknown"
            : `${count(figures.open_fds)}${figures.max_fds === null ? "" : ` of ${count(figures.max_fds)}`}`,
        ],
        ["Event loop lag", `p99 ${formatSeconds(lag.p99)}, max ${formatSeconds(lag.max)}`],
        ["Requests in flight", count(figures.requests_in_flight)],
        [
          "Streams",
          `${count(figures.streams.open)} for ${plural(figures.streams.accounts, "account")}`,
        ],
        [
          "Waits",
          `${count(figures.waits.open)} for ${plural(figures.waits.owners, "key or account", "keys and accounts")}`,
        ],
        [
          "Rate limited",
          refused.length === 0
            ? "None"
            : refused.map(([limit, times]) => `${limit} ${count(times)}`).join(", "),
        ],
        ["Request log", `${count(activity.queued)} queued, ${count(activity.dropped)} dropped`],
      ]}
    />
  );
}

export function StoreState({ figures }: { figures: Outputs["store"] }) {
  return (
    <div className="space-y-6">
      <Facts
        facts={[
          [
            "State",
            <Badge key="s" tone={figures.reachable ? "ok" : "danger"}>
              {figures.reachable ? "Reachable" : "Unreachable"}
            </Badge>,
          ],
          ["Kind", figures.kind === "embedded" ? "Local file" : "libSQL server"],
          ["Read latency", figures.latency === null ? "–" : formatSeconds(figures.latency)],
          ["Size", figures.bytes === null ? "–" : bytes(figures.bytes)],
          ...(figures.wal_bytes === null ? [] : [["WAL size", bytes(figures.wal_bytes)] as const]),
          ["Failed writes", count(figures.failed_batches)],
          ["Queued writes", count(figures.queued_batches)],
        ]}
      />
      <Spread title="Commit duration" of={figures.commit_seconds} format={formatSeconds} />
      <Spread title="Writes per commit" of={figures.commit_batches} format={count} />
    </div>
  );
}

export function Outbox({ events }: { events: NonNullable<Outputs["outbox"]["events"]> }) {
  return (
    <Facts
      facts={[
        ["Events", count(events.rows)],
        ["Oldest", events.oldest_at === null ? "–" : <Ago key="o" at={events.oldest_at} />],
        ["Not yet delivered here", count(events.behind)],
      ]}
    />
  );
}

const LANES: Readonly<Record<Outputs["pushes"]["lanes"][number]["state"], Tone>> = {
  open: "ok",
  paused: "warn",
  stopped: "danger",
};

const OUTCOMES = [
  ["sent", "ok", "sent"],
  ["pointless", "plain", "obsolete"],
  ["expired", "warn", "expired"],
  ["unclear", "accent", "unclear"],
  ["invalid_token", "plain", "invalid token"],
  ["refused", "danger", "refused"],
] as const;

const FURTHEST = [
  ["opened", "ok", "opened"],
  ["shown", "accent", "shown"],
  ["sent", "plain", "sent, not seen"],
  ["queued", "plain", "queued"],
  ["suppressed", "warn", "not sent"],
  ["failed", "danger", "failed"],
] as const;

const SHOWN = 5;

export function Pushes({ figures }: { figures: Outputs["pushes"] }) {
  const { lanes, listening, answers, off, queues } = figures;
  const { outcomes_by_channel, deliveries_by_type } = figures;
  const failures = figures.failures?.slice(0, SHOWN) ?? [];
  return (
    <div className="space-y-6">
      <ul className="space-y-4">
        {lanes.map(({ channel, lane, state, reason, since, in_flight, counts }) => {
          const queue = queues?.find((one) => one.lane === lane);
          return (
            <li key={lane}>
              <p className="mb-2 flex items-center gap-3">
                <span className="min-w-0 flex-1 font-medium">
                  {channel === lane ? lane : `${channel} ${lane}`}
                </span>
                <Badge tone={LANES[state]}>{state}</Badge>
              </p>
              <Facts
                facts={[
                  ["Since", <Ago key="s" at={since} />],
                  ...(reason === null ? [] : [["Reason", reason] as const]),
                  ["In flight", count(in_flight)],
                  [
                    "Queued",
                    queue ? (
                      <span key="w">
                        {count(queue.rows)}, oldest <Ago at={queue.oldest_at} />
                      </span>
                    ) : (
                      "None"
                    ),
                  ],
                  [
                    "Responses",
                    Object.entries(counts)
                      .map(([name, times]) => `${name} ${count(times)}`)
                      .join(", ") || "None yet",
                  ],
                ]}
              />
            </li>
          );
        })}
      </ul>
      {listening.map(({ channel, connections, working, served }) => (
        <div key={channel}>
          <p className="mb-2 font-medium">{channel} replies</p>
          <Facts
            facts={[
              ["Connections", `${count(connections)}, ${count(working)} working`],
              ["Channels", count(served)],
            ]}
          />
        </div>
      ))}
      {Object.keys(answers).length > 0 && (
        <Facts
          facts={[
            [
              "Replies",
              Object.entries(answers)
                .map(([name, times]) => `${name} ${count(times)}`)
                .join(", "),
            ],
          ]}
        />
      )}
      {off.length > 0 && <p className="text-soft">Not configured: {off.join(", ")}.</p>}
      {outcomes_by_channel && outcomes_by_channel.length > 0 && (
        <div className="space-y-4">
          <h3 className="font-medium">The last deliveries (up to 500)</h3>
          {outcomes_by_channel.map(({ channel, outcomes }) => (
            <Shares
              key={channel}
              title={channel}
              parts={OUTCOMES.map(([outcome, color, name]) => ({
                name,
                color,
                value: outcomes[outcome],
              }))}
            />
          ))}
        </div>
      )}
      {deliveries_by_type && deliveries_by_type.length > 0 && (
        <div className="space-y-4">
          <h3 className="font-medium">The last deliveries of questions (up to 500)</h3>
          {deliveries_by_type.map(({ type, furthest }) => (
            <Shares
              key={type}
              title={type === "page" ? "open pages" : type}
              parts={FURTHEST.map(([one, color, name]) => ({
                name,
                color,
                value: furthest[one] ?? 0,
              }))}
            />
          ))}
        </div>
      )}
      {failures.length > 0 && (
        <div>
          <h3 id="failures" className="mb-2 font-medium">
            Latest failures
          </h3>
          <ul aria-labelledby="failures" className="space-y-1 text-sm">
            {failures.map(({ kind, outcome, reason, done_at }, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: failures have no id.
              <li key={i} className="flex flex-wrap justify-between gap-x-3">
                <span className="said">
                  {`${kind}: ${outcome.replace("_", " ")}${reason === null ? "" : `, ${reason}`}`}
                </span>
                <span className="text-faint">
                  <Ago at={done_at} />
                </span>
              </li>
            ))}
          </ul>
        </div>
      )}
    </div>
  );
}

export function Jobs({ figures: { jobs } }: { figures: Outputs["jobs"] }) {
  return (
    <ul className="grid gap-x-10 sm:grid-cols-2 xl:grid-cols-3">
      {jobs.map((job) => (
        <li key={job.name} className="border-line border-t py-2.5">
          <p className="flex items-center gap-3">
            <span className="min-w-0 flex-1 font-medium">{job.name}</span>
            {job.last_error !== null ? (
              <Badge tone="danger">{job.last_error}</Badge>
            ) : job.running ? (
              <Badge tone="accent">running</Badge>
            ) : (
              <Badge tone={job.done > 0 ? "ok" : "plain"}>
                {job.done > 0 ? "ok" : "not run yet"}
              </Badge>
            )}
          </p>
          <p className="text-faint text-sm tabular-nums">
            {job.last_at !== null && job.last_took !== null && (
              <>
                <Ago at={job.last_at} />
                {`, took ${formatSeconds(job.last_took)} · `}
              </>
            )}
            {`every ${formatSeconds(job.every)} · ${count(job.done)} done`}
            {job.failed > 0 && `, ${count(job.failed)} failed`}
          </p>
        </li>
      ))}
    </ul>
  );
}
