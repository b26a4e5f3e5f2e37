/** Polls the figures while the page is visible. */

import { useEffect, useState } from "react";
import { elapsed, every, now } from "../clock.ts";
import { type Fault, faultOf } from "../state/api.ts";
import type { AdminApi, Outputs } from "./api.ts";

const EVERY = 5;
/** Most seconds between polls while the token is refused. */
const SLOWEST = 60;

/** For everybody, and for the part for developers while it is open. */
const ALWAYS = ["health"] as const;
const NAMES = [
  ...ALWAYS,
  "overview",
  "process",
  "series",
  "store",
  "outbox",
  "pushes",
  "jobs",
] as const;
type Name = (typeof NAMES)[number];

/** Latest result of each procedure; a failure leaves the previous result in place. */
type Figures = { readonly [N in Name]?: Outputs[N] };

export interface PolledFigures {
  readonly figures: Figures;
  readonly faults: Readonly<Partial<Record<Name, Fault>>>;
  /** Why the last poll failed completely; null if any procedure succeeded. */
  readonly fault: Fault | null;
  /** When the last result arrived. */
  readonly at: number | null;
  /** The processes that answered the latest polls, newest last. */
  readonly answers: readonly RespondingProcess[];
}

/** Identifies a process. In containers each may have pid 1, so the start time is needed too. */
type RespondingProcess = Pick<Outputs["process"], "pid" | "started_at">;

/** Polls whose process is remembered: a minute of them. */
const REMEMBERED = 12;

const NOTHING: PolledFigures = { figures: {}, faults: {}, fault: null, at: null, answers: [] };

/**
 * Polls while mounted, `all` figures or only whether everything is well. A token that is refused is tried again at growing intervals: the request
 * may have lost it on the way.
 */
export function useFigures(api: AdminApi, all: boolean): PolledFigures {
  const [polled, setPolled] = useState(NOTHING);
  useEffect(() => {
    let ended = false;
    let busy = false;
    /** Polls in a row that were refused, and when the next one may begin, in seconds of `elapsed`. */
    let refusals = 0;
    let next_at = 0;
    const poll = async () => {
      if (busy || document.hidden || elapsed() < next_at) return;
      busy = true;
      const names: readonly Name[] = all ? NAMES : ALWAYS;
      const results = await Promise.allSettled(names.map((name) => api[name].query()));
      busy = false;
      if (ended) return;
      const received: Partial<Record<Name, unknown>> = {};
      const faults: Partial<Record<Name, Fault>> = {};
      results.forEach((result, i) => {
        const name = names[i]!;
        if (result.status === "fulfilled") received[name] = result.value;
        else faults[name] = faultOf(result.reason);
      });
      const is_refused = Object.values(faults).some(({ code }) => code === "unauthorized");
      refusals = is_refused ? refusals + 1 : 0;
      next_at = is_refused ? elapsed() + Math.min(SLOWEST, EVERY * 2 ** (refusals - 1)) : 0;
      const poll_fault = Object.keys(received).length === 0 ? Object.values(faults)[0]! : null;
      setPolled((before) => ({
        figures: { ...before.figures, ...received } as Figures,
        faults: poll_fault ? before.faults : faults,
        fault: poll_fault,
        at: poll_fault ? before.at : now(),
        answers: received.process
          ? [...before.answers, received.process as RespondingProcess].slice(-REMEMBERED)
          : before.answers,
      }));
    };
    void poll();
    const stop = every(EVERY, () => void poll());
    const show = () => {
      next_at = 0;
      void poll();
    };
    document.addEventListener("visibilitychange", show);
    return () => {
      ended = true;
      stop();
      document.removeEventListener("visibilitychange", show);
    };
  }, [api, all]);
  return polled;
}

/**
 * The processes that respond in turn, oldest first: those that responded both before and after
 * another one, and that other one. A restart does not count, since the previous process is gone.
 */
export function processesInTurn(
  answers: readonly RespondingProcess[],
): readonly RespondingProcess[] {
  const nameOf = ({ pid, started_at }: RespondingProcess) => `${pid} ${started_at}`;
  const names = answers.map(nameOf);
  const found = new Map<string, RespondingProcess>();
  for (const [first, name] of names.entries()) {
    const turn = answers.slice(first, names.lastIndexOf(name) + 1);
    if (turn.every((one) => nameOf(one) === name)) continue;
    for (const one of turn) found.set(nameOf(one), one);
  }
  return [...found.values()].sort((a, b) => a.started_at - b.started_at);
}
