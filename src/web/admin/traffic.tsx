/** The last three hours of the process: requests, how long they took, and what is open. */

import type { Minute } from "./api.ts";
import { Chart } from "./chart.tsx";
import { bytes, count, evenScale, span, tenfoldScale } from "./numbers.ts";

export function Traffic({ minutes }: { minutes: readonly Minute[] }) {
  const times = minutes.map(({ at }) => at);
  const of = <Name extends keyof Minute>(name: Name) => minutes.map((minute) => minute[name]);
  return (
    <div className="grid gap-x-10 gap-y-8 lg:grid-cols-2">
      <Chart
        title="Requests a minute"
        format={count}
        times={times}
        scale={(most) => evenScale(most, 10)}
        filled
        lines={[
          { name: "all", look: "accent", values: of("requests") },
          { name: "4xx", look: "warn", values: of("client_errors") },
          { name: "5xx", look: "danger", values: of("server_errors") },
        ]}
      />
      <Chart
        title="Time to answer"
        format={span}
        times={times}
        scale={(most) => tenfoldScale(most, 0.0001)}
        lines={[
          { name: "half", look: "accent", values: of("p50") },
          { name: "99 of 100", look: "warn", values: of("p99") },
        ]}
      />
      <Chart
        title="Open"
        format={count}
        times={times}
        scale={(most) => evenScale(most, 4)}
        lines={[
          { name: "streams", look: "accent", values: of("streams") },
          { name: "waits", look: "warn", values: of("waits") },
        ]}
      />
      <Chart
        title="Memory"
        format={bytes}
        times={times}
        scale={(most) => evenScale(most, 100_000_000)}
        filled
        lines={[{ name: "resident", look: "accent", values: of("resident_bytes") }]}
      />
    </div>
  );
}
