/** The view of all questions: pending ones first, then the history. */

import { CheckCheck } from "lucide-react";
import { type RefObject, Suspense, useCallback, useEffect, useMemo, useRef } from "react";
import type { Question } from "../../state/api.ts";
import { Boundary, Part } from "../../ui/boundary.tsx";
import { classes } from "../../ui/classes.ts";
import { useMisclickGuard } from "../../ui/misclick-guard.ts";
import { Badge, Empty, Heading, NotConnected, Skeleton, type Tone } from "../../ui/parts.tsx";
import { toast } from "../../ui/toast.tsx";
import { FirstAgent } from "../agents/first-agent.tsx";
import { useSession, useStore } from "../use-store.ts";
import { QuestionHistory, ReachLine, RecoveryLine } from "../views.ts";
import { keyOf } from "./answer-keys.ts";
import { RefusedAnswers } from "./kept-answers.tsx";
import { bySession, shortSession } from "./permission-words.ts";
import { QuestionCard, type SentAnswer } from "./question-card.tsx";

export function QuestionsView() {
  const pending = useStore((store) => store.pending());
  const known = useStore((store) => store.knownAt() !== null || store.versions.questions > 0);
  const offline = useStore((store) => store.connection() === "offline");
  return (
    <>
      <Heading>Questions</Heading>
      <RefusedAnswers />
      {/* Without it, the questions are shown all the same. */}
      <Boundary instead={null}>
        <Suspense>
          <RecoveryLine />
          <ReachLine />
        </Suspense>
      </Boundary>
      {pending.length > 0 ? (
        <Pending questions={pending} />
      ) : known ? (
        <Empty icon={CheckCheck} title="All caught up">
          <p>New questions from your agents will appear here.</p>
          <FirstAgent />
        </Empty>
      ) : offline ? (
        <NotConnected what="Questions" />
      ) : (
        <Skeleton label="Loading questions" />
      )}
      <Boundary>
        <Suspense>
          <QuestionHistory />
        </Suspense>
      </Boundary>
    </>
  );
}

/** The cards of pending questions, with keys to move between them. */
export function Pending({ questions }: { questions: readonly Question[] }) {
  const { store } = useSession();
  const list = useRef<HTMLUListElement>(null);
  const guardClick = useMisclickGuard(list, "to answer");
  const ranks = useRef(new Map<string, number>());
  const groups = useMemo(() => bySession(questions, ranks.current), [questions]);
  /** The questions in the order of their cards, as last rendered. */
  const shown = useRef(questions);
  /** The card that has the focus, or had it last. */
  const focused = useRef<string | null>(null);
  /** By question id: answers given here, and questions with unsent text. */
  const answered = useRef(new Map<string, SentAnswer>());
  const drafts = useRef(new Set<string>());

  const handleClosed = useCallback(
    (left: readonly Question[]) => {
      const before = shown.current;
      shown.current = left;
      const ids = new Set(left.map(({ id }) => id));
      for (const [at, { id }] of before.entries()) {
        if (ids.has(id)) continue;
        const had_focus = focused.current === id && document.activeElement === document.body;
        const ended = store.all.questions.get(id);
        const given = answered.current.get(id);
        const here = given && (!given.lost || given.answer === ended?.answer);
        const drafted = drafts.current.delete(id);
        answered.current.delete(id);
        if (!here && (had_focus || drafted)) {
          const unsent = drafted ? " What you typed is kept." : "";
          toast(`${ENDED[ended?.status ?? "cancelled"]}.${unsent}`, {
            href: `#/questions/${id}`,
            says_more: drafted,
          });
        }
        if (!had_focus) continue;
        const cards = list.current?.querySelectorAll<HTMLElement>("article");
        const next = here && cards?.[Math.min(at, cards.length - 1)];
        focused.current = null;
        // Focus the card, never one of its answers: the next key may be meant for the question that
        // is gone.
        if (next) next.focus();
        else document.querySelector<HTMLElement>("main h1")?.focus({ preventScroll: true });
      }
    },
    [store],
  );
  useEffect(() => handleClosed(groups.flat()), [groups, handleClosed]);
  // With the last question, the list itself is removed.
  useEffect(() => () => handleClosed(store.pending()), [handleClosed, store]);

  useArrivalKeys(list);

  const step = (by: number) => {
    const cards = [...(list.current?.querySelectorAll<HTMLElement>("article") ?? [])];
    const at = cards.findIndex((card) => card.contains(document.activeElement));
    const next = cards[at + by];
    next?.querySelector<HTMLElement>("[data-answer]")?.focus({ preventScroll: true });
    // Of a card that is higher than the window, its beginning.
    for (const part of [next, next?.firstElementChild]) part?.scrollIntoView({ block: "nearest" });
  };

  return (
    <ul ref={list} aria-label="Pending" className="space-y-4" onClickCapture={guardClick}>
      {groups.flatMap((group) =>
        group.map((question, at) => (
          <li
            key={question.id}
            className={classes(
              group.length > 1 && "border-accent/40 border-l-2 pl-3 sm:pl-4",
              at > 0 && "-mt-4 pt-4",
            )}
            onFocus={() => {
              focused.current = question.id;
            }}
          >
            {group.length > 1 && at === 0 && <SessionHeading group={group} />}
            <Part name="question">
              <QuestionCard
                question={question}
                step={step}
                onAnswer={(given) => {
                  if (given) answered.current.set(question.id, given);
                  else answered.current.delete(question.id);
                }}
                onDraft={(typed) => {
                  if (typed) drafts.current.add(question.id);
                  else drafts.current.delete(question.id);
                }}
              />
            </Part>
          </li>
        )),
      )}
    </ul>
  );
}

/** Heading of one session's requests, which are answered separately. */
function SessionHeading({ group: [first, ...others] }: { group: readonly Question[] }) {
  const session = first?.action?.session ?? "";
  return (
    <p className="said mb-2 font-semibold text-soft text-sm">
      {`${others.length + 1} requests from session `}
      <bdi className="font-mono">{shortSession(session)}</bdi>
    </p>
  );
}

/**
 * Focuses the first question when the view opens, so that its keys work, unless something else is
 * in use. Where it is not focused, as on touch screens or once the focus is lost, the keys that
 * move between questions and those that answer lead to the first one.
 */
function useArrivalKeys(list: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const enter = () => {
      if (!isFocusFree()) return null;
      const card = list.current?.querySelector<HTMLElement>("article");
      card?.focus({ preventScroll: true });
      return card ?? null;
    };
    // On touch screens, the heading keeps the focus.
    if (matchMedia("(pointer: fine)").matches) enter();
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      const key = keyOf(event);
      const moves = ["J", "K", "ArrowDown", "ArrowUp"].includes(key ?? event.key);
      const first = list.current?.querySelector("article");
      const answers = key !== null && first?.querySelector(`[data-key="${key}"]`);
      const card = moves || answers ? enter() : null;
      if (!card) return;
      event.preventDefault();
      // The question has just got the focus, so a key that answers must be pressed again.
      if (!moves) toast("Press again to answer");
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, [list]);
}

/** True if nothing is in use: the focus is nowhere, or where navigation has put it. */
function isFocusFree(): boolean {
  const { activeElement: one } = document;
  return one === null || one === document.body || one.matches("main, main h1, nav a[aria-current]");
}

/** Toast for a question that was closed while the person was working on it. */
const ENDED: Readonly<Record<Question["status"], string>> = {
  pending: "Question cancelled",
  answered: "Question answered elsewhere",
  expired: "Question expired",
  cancelled: "Question cancelled",
};

/** Names and colours of how a question stands. */
export const STATUSES: Readonly<Record<Question["status"], { name: string; tone: Tone }>> = {
  pending: { name: "Pending", tone: "accent" },
  answered: { name: "Answered", tone: "ok" },
  expired: { name: "Expired", tone: "warn" },
  cancelled: { name: "Cancelled", tone: "plain" },
};

/** The status of a question, and its answer and note if it has them; `short`: in two lines each. */
export function OutcomeLine({ question, short }: { question: Question; short?: boolean }) {
  // Lines that are cut show no breaks: they hold more of a letter than its greeting.
  const shape = short ? "line-clamp-2" : "block whitespace-pre-wrap";
  return (
    <p className="mt-1.5 flex items-start gap-2">
      <QuestionBadge question={question} />
      {question.answer !== null && (
        <span className="min-w-0 leading-6">
          <bdi dir="auto" className={classes("said font-medium", shape)}>
            {question.answer}
          </bdi>
          {question.note !== undefined && (
            <bdi dir="auto" className={classes("said text-soft text-sm", shape)}>
              {question.note}
            </bdi>
          )}
          {question.edited && <span className="block text-faint text-sm">Edited</span>}
        </span>
      )}
    </p>
  );
}

export function QuestionBadge({ question: { status, edited } }: { question: Question }) {
  const { name, tone } = STATUSES[status];
  return <Badge tone={tone}>{edited === false ? "Approved" : name}</Badge>;
}
