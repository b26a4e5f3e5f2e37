/** Charts of all processes for the last three hours. */

import type { Minute } from "./api.ts";
import { Chart } from "./chart.tsx";
import { bytes, count, evenScale, formatSeconds, percent, tenfoldScale } from "./numbers.ts";

interface TrafficProps {
  readonly minutes: readonly Minute[];
  /** Whether to show the chart of pushes. */
  readonly pushes: boolean;
}

export function Traffic({ minutes, pushes }: TrafficProps) {
  const now = part(minutes);
  // Rates of the current, incomplete minute would always look like a drop.
  const over = part(minutes.length > 1 ? minutes.slice(0, -1) : minutes);
  return (
    <div className="grid gap-x-10 gap-y-8 lg:grid-cols-2">
      <Chart
        title="Requests per minute"
        format={count}
        times={over.times}
        scale={(most) => evenScale(most, 10)}
        filled
        lines={[
          { name: "all", color: "accent", values: over.of("requests") },
          { name: "4xx", color: "warn", values: over.of("client_errors") },
          { name: "5xx", color: "danger", values: over.of("server_errors") },
        ]}
      />
      <Chart
        title="Response time"
        format={formatSeconds}
        times={over.times}
        scale={(most) => tenfoldScale(most, 0.0001)}
        lines={[
          { name: "p50", color: "accent", values: over.of("p50") },
          { name: "p99", color: "warn", values: over.of("p99") },
        ]}
      />
      <Chart
        title="Open streams and waits"
        format={count}
        times={now.times}
        scale={(most) => evenScale(most, 4)}
        live
        lines={[
          { name: "streams", color: "accent", values: now.of("streams") },
          { name: "waits", color: "warn", values: now.of("waits") },
        ]}
      />
      <Chart
        title="Event outbox"
        format={count}
        times={now.times}
        scale={(most) => evenScale(most, 10)}
        filled
        lines={[{ name: "events", color: "accent", values: now.of("outbox_events") }]}
      />
      <Chart
        title="Store latency"
        format={formatSeconds}
        times={now.times}
        scale={(most) => tenfoldScale(most, 0.0001)}
        lines={[{ name: "read", color: "accent", values: now.of("store_read") }]}
      />
      {pushes && (
        <Chart
          title="Notifications per minute"
          format={count}
          times={over.times}
          scale={(most) => evenScale(most, 10)}
          lines={[
            { name: "accepted", color: "accent", values: over.of("pushes_accepted") },
            { name: "failed", color: "danger", values: over.of("pushes_failed") },
            { name: "queued", color: "warn", values: over.of("pushes_queued") },
          ]}
        />
      )}
      <Chart
        title="CPU"
        format={percent}
        times={over.times}
        scale={(most) => evenScale(most, 0.1)}
        filled
        lines={[{ name: "busy", color: "accent", values: over.of("cpu").map((cpu) => cpu / 60) }]}
      />
      <Chart
        title="Memory"
        format={bytes}
        times={now.times}
        scale={(most) => evenScale(most, 100_000_000)}
        filled
        live
        lines={[{ name: "resident", color: "accent", values: now.of("resident_bytes") }]}
      />
    </div>
  );
}

/** Times of the minutes, and the values of one figure for each. */
const part = (minutes: readonly Minute[]) => ({
  times: minutes.map(({ at }) => at),
  of: <Name extends keyof Minute>(name: Name) => minutes.map((minute) => minute[name]),
});
