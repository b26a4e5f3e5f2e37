/** The last three hours of the process: what it did, how long that took, and what is open or waits. */

import type { Minute } from "./api.ts";
import { Chart } from "./chart.tsx";
import { bytes, count, evenScale, percent, span, tenfoldScale } from "./numbers.ts";

interface TrafficProps {
  readonly minutes: readonly Minute[];
  /** Without them there is no chart of pushes. */
  readonly pushes: boolean;
}

export function Traffic({ minutes, pushes }: TrafficProps) {
  const now = part(minutes);
  // Of a minute that is not over, what happened in it would always look like a fall.
  const over = part(minutes.length > 1 ? minutes.slice(0, -1) : minutes);
  return (
    <div className="grid gap-x-10 gap-y-8 lg:grid-cols-2">
      <Chart
        title="Requests a minute"
        format={count}
        times={over.times}
        scale={(most) => evenScale(most, 10)}
        filled
        lines={[
          { name: "all", look: "accent", values: over.of("requests") },
          { name: "4xx", look: "warn", values: over.of("client_errors") },
          { name: "5xx", look: "danger", values: over.of("server_errors") },
        ]}
      />
      <Chart
        title="Time to answer"
        format={span}
        times={over.times}
        scale={(most) => tenfoldScale(most, 0.0001)}
        lines={[
          { name: "half", look: "accent", values: over.of("p50") },
          { name: "99 of 100", look: "warn", values: over.of("p99") },
        ]}
      />
      <Chart
        title="Open"
        format={count}
        times={now.times}
        scale={(most) => evenScale(most, 4)}
        live
        lines={[
          { name: "streams", look: "accent", values: now.of("streams") },
          { name: "waits", look: "warn", values: now.of("waits") },
        ]}
      />
      <Chart
        title="Event outbox"
        format={count}
        times={now.times}
        scale={(most) => evenScale(most, 10)}
        filled
        lines={[{ name: "kept", look: "accent", values: now.of("outbox_events") }]}
      />
      <Chart
        title="Store"
        format={span}
        times={now.times}
        scale={(most) => tenfoldScale(most, 0.0001)}
        lines={[{ name: "one small read", look: "accent", values: now.of("store_read") }]}
      />
      {pushes && (
        <Chart
          title="Pushes a minute"
          format={count}
          times={over.times}
          scale={(most) => evenScale(most, 10)}
          lines={[
            { name: "accepted", look: "accent", values: over.of("pushes_accepted") },
            { name: "other answers", look: "danger", values: over.of("pushes_failed") },
            { name: "waiting", look: "warn", values: over.of("pushes_queued") },
          ]}
        />
      )}
      <Chart
        title="Processor"
        format={percent}
        times={over.times}
        scale={(most) => evenScale(most, 0.1)}
        filled
        lines={[{ name: "busy", look: "accent", values: over.of("cpu").map((cpu) => cpu / 60) }]}
      />
      <Chart
        title="Memory"
        format={bytes}
        times={now.times}
        scale={(most) => evenScale(most, 100_000_000)}
        filled
        live
        lines={[{ name: "resident", look: "accent", values: now.of("resident_bytes") }]}
      />
    </div>
  );
}

const part = (minutes: readonly Minute[]) => ({
  times: minutes.map(({ at }) => at),
  of: <Name extends keyof Minute>(name: Name) => minutes.map((minute) => minute[name]),
});
