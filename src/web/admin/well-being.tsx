/** Whether everything is well: a sentence for each thing that can go wrong. */

import { ChevronRight, CircleAlert, CircleCheck, CircleMinus, TriangleAlert } from "lucide-react";
import { Ago } from "../ui/ago.tsx";
import { classes } from "../ui/classes.ts";
import { Skeleton } from "../ui/parts.tsx";
import type { Outputs } from "./api.ts";

type Health = Outputs["health"];
type State = Health["state"];

const SIGNS = {
  ok: { icon: CircleCheck, color: "text-ok", word: "Well" },
  warning: { icon: TriangleAlert, color: "text-warn", word: "Worth a look" },
  fault: { icon: CircleAlert, color: "text-danger", word: "Not working" },
  neutral: { icon: CircleMinus, color: "text-faint", word: "Note" },
} as const satisfies Record<State | "neutral", unknown>;

const HEADINGS = {
  ok: "Everything is well",
  warning: "Something is worth a look",
  fault: "Something doesn't work",
} as const satisfies Record<State, string>;

const ORDER: readonly State[] = ["fault", "warning", "ok"];

function Sign({ of }: { of: keyof typeof SIGNS }) {
  const { icon: Icon, color, word } = SIGNS[of];
  return (
    <>
      <Icon aria-hidden className={classes("size-5 shrink-0", color)} />
      <span className="sr-only">{`${word}: `}</span>
    </>
  );
}

export function WellBeing({ health }: { health: Health | undefined }) {
  if (!health) return <Skeleton rows={2} label="Checking whether everything is well" />;
  const checks = [...health.checks].sort(
    (one, other) => ORDER.indexOf(one.state) - ORDER.indexOf(other.state),
  );
  return (
    <section aria-label="Health" data-health={health.state} className="card min-w-0 p-5">
      <h2 className="mb-3 font-semibold text-lg">{HEADINGS[health.state]}</h2>
      <ul aria-label="Checks" className="space-y-2.5">
        {checks.map(({ name, state, text, at, neutral }) => (
          <li key={`${name} ${text}`} className="flex items-start gap-3">
            <Sign of={neutral ? "neutral" : state} />
            <span className="said min-w-0 flex-1">
              {text}
              {at !== null && (
                <span className="text-faint">
                  {" "}
                  <Ago at={at} />
                </span>
              )}
            </span>
          </li>
        ))}
      </ul>
      {health.errors.length > 1 && <Errors errors={health.errors} />}
    </section>
  );
}

/** Kinds of errors that the server keeps at most (§4.3.2). */
const KEPT = 20;

function Errors({ errors }: { errors: Health["errors"] }) {
  return (
    <details className="mt-3">
      <summary className="touch inline-flex cursor-pointer items-center gap-3 text-soft hover:text-ink">
        <ChevronRight
          aria-hidden
          className="size-5 text-faint transition-transform [details[open]_&]:rotate-90"
        />
        {`${errors.length < KEPT ? "All" : "The latest"} ${errors.length} kinds of errors since Relay started`}
      </summary>
      <ul aria-label="Errors" className="mt-2 pl-8 space-y-2 text-sm">
        {errors.map(({ text, level, times, last_at }) => (
          <li key={text} className="flex flex-wrap justify-between gap-x-4">
            <span className={classes("said", level === "error" && "text-danger")}>{text}</span>
            <span className="text-faint">
              {times > 1 && `${times} times, last `}
              <Ago at={last_at} />
            </span>
          </li>
        ))}
      </ul>
    </details>
  );
}
