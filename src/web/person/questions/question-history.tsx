/** Questions that are no longer pending, filtered by agent and by how they ended; the filter is part of the address. */

import { SearchX } from "lucide-react";
import { useEffect, useMemo, useState } from "react";
import type { Question } from "../../state/api.ts";
import { closedAt } from "../../state/store.ts";
import { Part } from "../../ui/boundary.tsx";
import { Button } from "../../ui/button.tsx";
import { Select } from "../../ui/field.tsx";
import { Empty, More, Problem } from "../../ui/parts.tsx";
import { go, useRoute } from "../route.ts";
import { CLOSED, useOlderQuestions } from "../use-older-questions.ts";
import { useKeyOptions, useStore } from "../use-store.ts";
import { QuestionRow } from "./question-row.tsx";
import { STATUSES } from "./questions.tsx";

/** Questions that are shown at first, and with each **Show more**. */
const FIRST = 10;
const STEP = 30;

interface Filter {
  readonly agent: string | null;
  readonly ended: Question["status"] | null;
}

function filterOf(query: URLSearchParams): Filter {
  return {
    agent: query.get("agent"),
    ended: CLOSED.find((status) => status === query.get("ended")) ?? null,
  };
}

export function QuestionHistory() {
  const { query } = useRoute();
  const { agent, ended } = filterOf(query);
  const held = useStore((store) => store.history());
  const live = useStore((store) => store.connection() === "live");
  const { older, has_more, busy, fault, load } = useOlderQuestions(
    agent ?? undefined,
    ended ?? undefined,
  );
  const questions = useMemo(() => {
    const all = new Map([...older, ...held].map((question) => [question.id, question]));
    return [...all.values()]
      .filter((one) => (agent ?? one.key_id) === one.key_id && (ended ?? one.status) === one.status)
      .sort((a, b) => closedAt(b) - closedAt(a));
  }, [held, older, agent, ended]);
  const [shown, setShown] = useState(FIRST);
  const is_filtered = agent !== null || ended !== null;
  // What the filter leaves of the newest questions may be nothing.
  const wants_more = is_filtered && live && questions.length < FIRST && has_more && !busy && !fault;
  // biome-ignore lint/correctness/useExhaustiveDependencies: `load` is another function at each render.
  useEffect(() => {
    if (wants_more) void load();
  }, [wants_more, agent, ended]);
  if (held.length === 0 && !is_filtered) return null;
  const showMore = () => {
    setShown(shown + STEP);
    if (questions.length < shown + STEP && has_more) void load();
  };
  return (
    <section className="mt-10">
      <h2 className="mb-3 font-semibold text-faint text-sm">History</h2>
      <Filters agent={agent} ended={ended} query={query} />
      {questions.length > 0 ? (
        <ul aria-label="History" className="card divide-y divide-line overflow-hidden">
          {questions.slice(0, shown).map((question) => (
            <li key={question.id}>
              <Part name="question">
                <QuestionRow question={question} />
              </Part>
            </li>
          ))}
        </ul>
      ) : (
        !busy &&
        !has_more && (
          <Empty icon={SearchX} title="No matching questions">
            <Button variant="quiet" onClick={() => go("questions", { replace: true })}>
              Show all questions
            </Button>
          </Empty>
        )
      )}
      {fault && <Problem>{fault.message}</Problem>}
      {(questions.length > shown || has_more) && <More busy={busy} onClick={showMore} />}
    </section>
  );
}

function Filters({ agent, ended, query }: Filter & { readonly query: URLSearchParams }) {
  const keys = useKeyOptions();
  const known = useStore((store) => store.loads() > 0);
  const gone = agent !== null && !keys.some(([id]) => id === agent);
  const set = (name: keyof Filter, value: string) => {
    const next = new URLSearchParams(query);
    if (value === "") next.delete(name);
    else next.set(name, value);
    const text = next.toString();
    go(text === "" ? "questions" : `questions?${text}`, { replace: true });
  };
  return (
    <div className="mb-3 grid gap-2 min-[17rem]:grid-cols-2">
      <Select
        quiet
        aria-label="Agent"
        value={agent ?? ""}
        onChange={({ target }) => set("agent", target.value)}
        options={[
          ["", "All agents"],
          ...(gone ? [[agent, known ? "Deleted agent" : ""] as const] : []),
          ...keys,
        ]}
      />
      <Select
        quiet
        aria-label="How it ended"
        value={ended ?? ""}
        onChange={({ target }) => set("ended", target.value)}
        options={[
          ["", "Any outcome"],
          ...CLOSED.map((status) => [status, STATUSES[status].name] as const),
        ]}
      />
    </div>
  );
}
