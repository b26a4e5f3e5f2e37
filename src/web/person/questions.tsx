/** Questions: those that wait for an answer first, then how the others ended. */

import { CheckCheck, CloudOff } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import type { Question } from "../state/api.ts";
import { settledAt } from "../state/store.ts";
import { Ago, Badge, Empty, Heading, Skeleton, type Tone } from "../ui/bits.tsx";
import { Button } from "../ui/button.tsx";
import { QuestionCard } from "./question-card.tsx";
import { labelOf, useKey, useStore } from "./use-store.ts";

/** Settled questions that are shown before one asks for more. */
const STEP = 10;

export function QuestionsView() {
  const pending = useStore((store) => store.pending());
  const settled = useStore((store) => store.settled());
  const known = useStore((store) => store.knownAt() !== null || store.versions.questions > 0);
  const offline = useStore((store) => store.link() === "offline");
  return (
    <>
      <Heading>Questions</Heading>
      {pending.length > 0 ? (
        <Pending questions={pending} />
      ) : known ? (
        <Empty icon={CheckCheck} title="Nothing waits for you">
          When an agent asks something, it is here at once.
        </Empty>
      ) : offline ? (
        <Empty icon={CloudOff} title="Nothing is known yet">
          Questions are here as soon as the server can be reached.
        </Empty>
      ) : (
        <Skeleton label="Loading questions" />
      )}
      {settled.length > 0 && <Settled questions={settled} />}
    </>
  );
}

function Pending({ questions }: { questions: readonly Question[] }) {
  const list = useRef<HTMLUListElement>(null);
  /** Which card has the focus, so that it stays in the list when that card goes. */
  const focused = useRef<{ id: string; at: number } | null>(null);

  useEffect(() => {
    const was = focused.current;
    if (!was || questions.some(({ id }) => id === was.id)) return;
    focused.current = null;
    if (document.activeElement !== document.body) return;
    const cards = list.current?.querySelectorAll<HTMLElement>("[data-question]") ?? [];
    const next = cards[Math.min(was.at, cards.length - 1)];
    focusIn(next);
  }, [questions]);

  const step = (by: number) => {
    const cards = [...(list.current?.querySelectorAll<HTMLElement>("[data-question]") ?? [])];
    const at = cards.findIndex((card) => card.contains(document.activeElement));
    focusIn(cards[at + by]);
  };

  return (
    <ul ref={list} aria-label="Pending" className="space-y-4">
      {questions.map((question, at) => (
        <li
          key={question.id}
          data-question={question.id}
          onFocus={() => {
            focused.current = { id: question.id, at };
          }}
        >
          <QuestionCard question={question} step={step} />
        </li>
      ))}
    </ul>
  );
}

function focusIn(card: HTMLElement | undefined): void {
  card?.querySelector<HTMLElement>("[data-answer]")?.focus();
}

function Settled({ questions }: { questions: readonly Question[] }) {
  const [shown, setShown] = useState(STEP);
  return (
    <section className="mt-10">
      <h2 className="mb-3 font-semibold text-faint text-sm">Settled</h2>
      <ul className="card divide-y divide-line overflow-hidden">
        {questions.slice(0, shown).map((question) => (
          <li key={question.id}>
            <Outcome question={question} />
          </li>
        ))}
      </ul>
      {questions.length > shown && (
        <Button look="quiet" className="mt-3 w-full" onClick={() => setShown(shown + 3 * STEP)}>
          Show more
        </Button>
      )}
    </section>
  );
}

const TONES: Readonly<Record<Question["status"], Tone>> = {
  pending: "accent",
  answered: "ok",
  expired: "warn",
  cancelled: "plain",
};
const WORDS: Readonly<Record<Question["status"], string>> = {
  pending: "Pending",
  answered: "Answered",
  expired: "Ran out",
  cancelled: "Withdrawn",
};

/** What was asked, and what came of it. */
export function Outcome({ question }: { question: Question }) {
  const key = useKey(question.key_id);
  return (
    <div className="px-4 py-3.5 sm:px-5">
      <p className="flex flex-wrap items-center gap-x-2 text-faint text-sm">
        <bdi className="said font-medium text-soft">{labelOf(key)}</bdi>
        <span className="ml-auto shrink-0">
          <Ago at={settledAt(question)} />
        </span>
      </p>
      <p dir="auto" className="said mt-0.5 line-clamp-3 whitespace-pre-wrap">
        {question.prompt}
      </p>
      <p className="mt-1.5 flex items-start gap-2">
        <Badge tone={TONES[question.status]}>{WORDS[question.status]}</Badge>
        {question.answer !== null && (
          <bdi dir="auto" className="said min-w-0 whitespace-pre-wrap font-medium leading-6">
            {question.answer}
          </bdi>
        )}
      </p>
    </div>
  );
}
