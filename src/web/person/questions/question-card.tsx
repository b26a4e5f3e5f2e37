/** A pending question: who asks, the prompt, the time left, and the ways to answer. */

import { Clock, ListTodo } from "lucide-react";
import { type FocusEvent, type KeyboardEvent, Suspense, useEffect, useRef, useState } from "react";
import { createIdempotencyKey } from "../../../client/idempotency.ts";
import { after, elapsed } from "../../clock.ts";
import { type Fault, faultOf, type Question, withIdempotencyKey } from "../../state/api.ts";
import { draftOf, forgetDraft, keepDraft, noteAnswered } from "../../state/drafts.ts";
import type { GivenAnswer } from "../../state/kept-answers.ts";
import { Ago } from "../../ui/ago.tsx";
import { Part } from "../../ui/boundary.tsx";
import { classes } from "../../ui/classes.ts";
import { Cut } from "../../ui/cut.tsx";
import { MISCLICK_DELAY } from "../../ui/misclick-guard.ts";
import { Problem } from "../../ui/parts.tsx";
import { Prose } from "../../ui/prose.tsx";
import { timeLeft } from "../../ui/time.ts";
import { toast } from "../../ui/toast.tsx";
import { useNow } from "../../ui/use-now.ts";
import { useRoute } from "../route.ts";
import { useInView } from "../use-in-view.ts";
import { labelOf, useKeptAnswers, useKey, useSession, useStore, useTask } from "../use-store.ts";
import { DraftForm, Permission } from "../views.ts";
import { WriteButton } from "../write-button.tsx";
import { AnswerForm, draftName } from "./answer-form.tsx";
import { keyOf, optionOf } from "./answer-keys.ts";
import { AnswerOptions, isNoteTooLong, noteName } from "./answer-options.tsx";
import { DeliveryLine } from "./delivery-line.tsx";
import { WaitingAnswer } from "./kept-answers.tsx";
import { DENY, FORMS } from "./permission-words.ts";
import { Fallback, QuestionContext } from "./question-context.tsx";
import { Remind } from "./remind.tsx";
import { isSameText } from "./same-text.ts";
import { useDetails } from "./use-details.ts";

/** Seconds left at which the time is shown as urgent. */
const URGENT = 60;

/** Seconds in view after which a question counts as shown (§5.7.8). */
const SHOWN_AFTER = 1;

/** Lines of a prompt that are shown while other questions are pending. */
const LINES = 12;

/** An answer sent from this page; `lost` if the server did not confirm it. */
export interface SentAnswer {
  readonly answer: string;
  readonly lost: boolean;
}

/** Answers to permission prompts are never kept for later. */
const OFFLINE: Fault = {
  code: "offline",
  message:
    "You're offline, so nothing was sent: a request for permission can only be answered while connected.",
  fields: {},
};

const LONG_NOTE: Fault = {
  code: "invalid_fields",
  message: "Nothing was sent: a note can have at most 1,000 characters.",
  fields: {},
};

/** Keys that move to another card, and by how many. */
const MOVES: Readonly<Record<string, number>> = { J: 1, ArrowDown: 1, K: -1, ArrowUp: -1 };

interface CardProps {
  readonly question: Question;
  /** Moves the focus by `by` cards. */
  readonly step: (by: number) => void;
  /** Called when an answer is sent, confirmed or not; with null when the server refuses it. */
  readonly onAnswer: (given: SentAnswer | null) => void;
  /** Called with whether there is unsent text. */
  readonly onDraft: (typed: boolean) => void;
}

export function QuestionCard({ question, step, onAnswer, onDraft }: CardProps) {
  const { api, store, receipts, keptAnswers } = useSession();
  const card = useRef<HTMLElement>(null);
  const in_view = useInView(card);
  const { id, action } = question;
  useEffect(
    () => (in_view ? after(SHOWN_AFTER, () => receipts.add(id, "shown")) : undefined),
    [in_view, id, receipts],
  );
  /** True if the view shows only this question. */
  const linked = useRoute().id === id;
  const [sending, setSending] = useState<string | null>(null);
  const [fault, setFault] = useState<Fault | null>(null);
  /** When the focus entered the card, in seconds of `elapsed`. */
  const entered = useRef(0);
  /** The last attempt: the same answer again is sent under the same key. */
  const attempt = useRef<GivenAnswer & { readonly key: string }>({ answer: "", key: "" });
  /** True if the card has been in view: its context and command are loaded from then on. */
  const [seen, setSeen] = useState(false);
  const details = useDetails(question, seen);
  /** True if the end of a permission prompt has been in view: nothing can be allowed before. */
  const [read, setRead] = useState(false);
  const locked = action !== undefined && !read;
  useEffect(() => {
    if (in_view) setSeen(true);
  }, [in_view]);
  const expired = useNow() >= question.expires_at;
  const waiting = useKeptAnswers().find((one) => one.question_id === id && one.refused === null);
  const others = useStore((one) => one.pending().length > 1);
  const [open, setOpen] = useState(false);
  // A prompt that the person is reading must not be cut when another question arrives.
  useEffect(
    () => (in_view && !others ? after(SHOWN_AFTER, () => setOpen(true)) : undefined),
    [in_view, others],
  );

  /** Keeps an answer that the server has not confirmed; false if it cannot be kept. */
  const keep = (): boolean => {
    const kept = keptAnswers.add(question, attempt.current);
    if (kept) {
      noteAnswered(id);
      forgetDraft(noteName(id));
      toast("Your answer will be sent when the server can be reached.");
    }
    return kept;
  };

  const answer = async (text: string): Promise<boolean> => {
    if (sending !== null || expired || waiting) return false;
    setFault(null);
    if (locked && text !== DENY) {
      toast(`Read the ${FORMS[action.form]} to the end first`);
      return false;
    }
    const { current: last } = attempt;
    const note = question.kind === "text" ? "" : (draftOf<string>(noteName(id))?.value ?? "");
    if (isNoteTooLong(note)) {
      setFault(LONG_NOTE);
      return false;
    }
    const given = { answer: text, ...(note.trim() !== "" && { note: note.trim() }) };
    const is_same = last.answer === text && last.note === given.note;
    attempt.current = { ...given, key: is_same ? last.key : createIdempotencyKey() };
    if (store.connection() === "offline") {
      if (action) {
        setFault(OFFLINE);
        return false;
      }
      onAnswer({ answer: text, lost: true });
      if (keep()) return true;
    }
    setSending(text);
    noteAnswered(id);
    // Called before the request, since the event may arrive before the response.
    onAnswer({ answer: text, lost: false });
    try {
      const options = withIdempotencyKey(attempt.current.key);
      const sent = { question_id: question.id, ...given };
      store.put("questions", await api.questions.answer.mutate(sent, options));
      forgetDraft(noteName(id));
      receipts.add(id, "opened");
      toast("Answer sent", { href: `#/questions/${id}` });
      return true;
    } catch (error) {
      const why = faultOf(error);
      noteAnswered(id, false);
      if (why.code !== "question_not_pending") {
        const is_lost = why.code === "repeatable";
        onAnswer(is_lost ? { answer: text, lost: true } : null);
        if (is_lost && keep()) return true;
        setFault(why);
        return false;
      }
      toast(why.message, { bad: true });
      const found = await api.questions.get.query({ question_id: question.id }).catch(() => null);
      // The person can still copy it, or send it as a message.
      const status = found?.status ?? "gone";
      if (status !== "pending") {
        if (!action) keptAnswers.add(question, attempt.current, status);
        else if (given.note !== undefined) keptAnswers.addLate(question, given.note, status);
      }
      if (found) store.put("questions", found);
      return true;
    } finally {
      setSending(null);
    }
  };

  /** Takes back an answer that waits to be sent; its text becomes a draft again. */
  const change = () => {
    keptAnswers.drop(id);
    noteAnswered(id, false);
    onAnswer(null);
    if (!waiting) return;
    const { options, draft = "" } = question;
    const is_own = !options.includes(waiting.answer) && !isSameText(waiting.answer, draft);
    if (is_own) keepDraft(draftName(id), waiting.answer);
    if (waiting.note !== undefined) keepDraft(noteName(id), waiting.note);
  };

  const onKeyDown = (event: KeyboardEvent) => {
    const target = event.target as HTMLElement;
    // Events of a dialog that the card opens come here too.
    if (target.matches("textarea, input, select") || !event.currentTarget.contains(target)) return;
    const key = keyOf(event.nativeEvent);
    const option = optionOf(question, key);
    const by = MOVES[key ?? event.key];
    const presses = event.key === "Enter" || event.key === " ";
    if (option !== undefined) {
      // A key that is held down or comes too soon was meant for the previous card.
      if (event.repeat) return;
      if (elapsed() - entered.current >= MISCLICK_DELAY) void answer(option);
      else toast("Press again to answer");
    } else if (by !== undefined) step(by);
    else if (key === "E" && !event.repeat) {
      card.current?.querySelector<HTMLElement>("[data-cut]")?.click();
    } else if (!presses || !event.repeat) return;
    event.preventDefault();
  };

  const onFocus = ({ currentTarget, relatedTarget }: FocusEvent) => {
    if (!currentTarget.contains(relatedTarget)) entered.current = elapsed();
  };

  return (
    // The key handler provides shortcuts for the buttons while the focus is in the card.
    <article
      ref={card}
      aria-labelledby={`${question.id}-prompt`}
      tabIndex={-1}
      onFocus={onFocus}
      onKeyDown={onKeyDown}
      className="card group/card relative overflow-hidden p-4 pb-7 outline-offset-0 sm:p-5 sm:pb-7"
    >
      <CardHeader question={question} expired={expired} />
      {action ? (
        <Part name={FORMS[action.form]}>
          <Suspense fallback={<p id={`${id}-prompt`}>Loading…</p>}>
            <Permission question={question} action={action} details={details} onRead={setRead} />
          </Suspense>
        </Part>
      ) : (
        <div className="mt-2 text-lg leading-snug">
          <Prose
            id={`${id}-prompt`}
            text={question.prompt}
            with_source
            around={(prompt) => (
              <Cut
                lines={others && !linked ? LINES : Number.POSITIVE_INFINITY}
                open={open}
                onOpen={setOpen}
                notice="The end isn't shown."
              >
                {prompt}
              </Cut>
            )}
          />
        </div>
      )}
      {question.task_id !== null && <TaskLink id={question.task_id} />}
      {!action && (
        <Part name="context">
          <QuestionContext question={question} details={details} />
        </Part>
      )}
      <Fallback question={question} />
      <div className="mt-4">
        {waiting ? (
          <WaitingAnswer given={waiting} onChange={change} />
        ) : question.draft !== undefined ? (
          <Suspense fallback={<p>Loading…</p>}>
            <DraftForm
              question={question}
              draft={question.draft}
              expired={expired}
              busy={sending !== null}
              onSend={answer}
              onDraft={onDraft}
            />
          </Suspense>
        ) : question.kind === "text" ? (
          <AnswerForm
            id={question.id}
            expired={expired}
            busy={sending !== null}
            onSend={answer}
            onDraft={onDraft}
          />
        ) : (
          <AnswerOptions
            question={question}
            expired={expired}
            sending={sending}
            locked={locked}
            onPick={answer}
            onDraft={onDraft}
          />
        )}
      </div>
      {fault && (
        <div className="mt-3">
          <Problem>{fault.message}</Problem>
        </div>
      )}
      <div className="mt-1 flex flex-wrap items-center gap-x-4">
        {!waiting && !expired && <Remind question={question} />}
        <WriteButton id={question.key_id} className="-ml-4 text-sm" />
      </div>
      {/* In the padding of the card, so that nothing moves when the line appears. */}
      <DeliveryLine
        id={id}
        in_view={in_view}
        className="absolute inset-x-4 bottom-1.5 leading-4 sm:inset-x-5"
      />
      <TimeBar question={question} />
    </article>
  );
}

function CardHeader({ question, expired }: { question: Question; expired: boolean }) {
  const key = useKey(question.key_id);
  const task = useTask(question.task_id ?? "");
  const seconds = question.expires_at - useNow();
  const host = task?.host ?? key?.last_host;
  return (
    <div className="flex items-start gap-3">
      <p className="line-clamp-3 min-w-0 flex-1 text-faint text-sm leading-6">
        <AgentLink id={question.key_id} />
        {host && (
          <>
            {" on "}
            <bdi className="said text-soft">{host}</bdi>
          </>
        )}
        {", "}
        <Ago at={question.created_at} />
      </p>
      <p
        role="timer"
        aria-label={expired ? "Expired" : `${timeLeft(seconds)} left`}
        className={classes(
          "flex shrink-0 items-center gap-1.5 font-medium text-sm tabular-nums leading-6",
          seconds <= URGENT ? "text-danger" : "text-soft",
        )}
      >
        <Clock aria-hidden className="size-4" />
        {expired ? "Expired" : timeLeft(seconds)}
      </p>
    </div>
  );
}

export function AgentLink({ id }: { id: string }) {
  const key = useKey(id);
  return (
    <a
      href={`#/agents/${id}`}
      className="said font-semibold text-[0.9375rem] text-ink hover:underline"
    >
      <bdi>{labelOf(key)}</bdi>
    </a>
  );
}

export function TaskLink({ id }: { id: string }) {
  const task = useTask(id);
  if (!task) return null;
  return (
    <a
      href={`#/tasks/${id}`}
      className="mt-2 flex min-h-6 max-w-full items-center gap-1.5 text-soft text-sm hover:underline"
    >
      <ListTodo aria-hidden className="size-4 shrink-0" />
      <bdi dir="auto" className="truncate">
        {task.title}
      </bdi>
    </a>
  );
}

/** The remaining time as a bar. */
function TimeBar({ question: { created_at, expires_at } }: { question: Question }) {
  const now = useNow();
  const part = Math.max(0, Math.min(1, (expires_at - now) / (expires_at - created_at)));
  return (
    <div aria-hidden className="absolute inset-x-0 bottom-0 h-[3px] bg-sunken">
      <div
        className={classes(
          "h-full origin-left",
          expires_at - now <= URGENT ? "bg-danger" : "bg-accent/60",
        )}
        style={{ transform: `scaleX(${part})` }}
      />
    </div>
  );
}
