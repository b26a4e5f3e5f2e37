/** Figures that are asked for again and again while somebody looks at them. */

import { useEffect, useState } from "react";
import { every, now } from "../clock.ts";
import { type Fault, faultOf } from "../state/api.ts";
import type { AdminApi, Outputs } from "./api.ts";

/** Seconds between two looks. */
const EVERY = 5;

const NAMES = ["overview", "process", "series", "store", "outbox", "pushes", "jobs"] as const;
type Name = (typeof NAMES)[number];

/** What each procedure told last; a fault stands beside what was told before it. */
type Figures = { readonly [N in Name]: Outputs[N] | null };

export interface Polled {
  readonly figures: Figures;
  readonly faults: Readonly<Partial<Record<Name, Fault>>>;
  /** Why the last look gave nothing at all; null when it gave something. */
  readonly fault: Fault | null;
  /** When something was told last. */
  readonly at: number | null;
  /** Processes that have answered. */
  readonly pids: readonly number[];
}

const NOTHING: Polled = {
  figures: {
    overview: null,
    process: null,
    series: null,
    store: null,
    outbox: null,
    pushes: null,
    jobs: null,
  },
  faults: {},
  fault: null,
  at: null,
  pids: [],
};

/** `onRefused` is called when the token is none. */
export function useFigures(api: AdminApi, onRefused: () => void): Polled {
  const [polled, setPolled] = useState(NOTHING);
  useEffect(() => {
    let ended = false;
    let busy = false;
    const look = async () => {
      if (busy || document.hidden) return;
      busy = true;
      const results = await Promise.allSettled(NAMES.map((name) => api[name].query()));
      busy = false;
      if (ended) return;
      const told: Partial<Record<Name, unknown>> = {};
      const faults: Partial<Record<Name, Fault>> = {};
      results.forEach((result, i) => {
        const name = NAMES[i]!;
        if (result.status === "fulfilled") told[name] = result.value;
        else faults[name] = faultOf(result.reason);
      });
      if (Object.values(faults).some(({ code }) => code === "unauthorized")) return onRefused();
      const alone = Object.keys(told).length === 0 ? Object.values(faults)[0]! : null;
      setPolled((before) => ({
        figures: { ...before.figures, ...told } as Figures,
        faults: alone ? before.faults : faults,
        fault: alone,
        at: alone ? before.at : now(),
        pids: pidsWith(before.pids, (told.process as Outputs["process"] | undefined)?.pid),
      }));
    };
    void look();
    const stop = every(EVERY, () => void look());
    const show = () => void look();
    document.addEventListener("visibilitychange", show);
    return () => {
      ended = true;
      stop();
      document.removeEventListener("visibilitychange", show);
    };
  }, [api, onRefused]);
  return polled;
}

function pidsWith(pids: readonly number[], pid: number | undefined): readonly number[] {
  return pid === undefined || pids.includes(pid) ? pids : [...pids, pid];
}
