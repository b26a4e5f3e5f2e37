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
  /** Who answered the last looks, newest last. */
  readonly answers: readonly Answerer[];
}

/** A process. In a container each may be number 1, so its start tells it from others too. */
type Answerer = Pick<Outputs["process"], "pid" | "started_at">;

/** Looks of which it is known who answered: a minute's. */
const REMEMBERED = 12;

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
  answers: [],
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
        answers: told.process
          ? [...before.answers, told.process as Answerer].slice(-REMEMBERED)
          : before.answers,
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

/**
 * The processes that answer in turn, oldest first: one that answered before another and after it too,
 * and that other. A server that started again is none of several, as the one before it is gone.
 */
export function inTurn(answers: readonly Answerer[]): readonly Answerer[] {
  const nameOf = ({ pid, started_at }: Answerer) => `${pid} ${started_at}`;
  const names = answers.map(nameOf);
  const found = new Map<string, Answerer>();
  for (const [first, name] of names.entries()) {
    const turn = answers.slice(first, names.lastIndexOf(name) + 1);
    if (turn.every((one) => nameOf(one) === name)) continue;
    for (const one of turn) found.set(nameOf(one), one);
  }
  return [...found.values()].sort((a, b) => a.started_at - b.started_at);
}
