/** A question that is no longer pending: what was asked, how it ended, from where, and how far it got. */

import { Suspense, useState } from "react";
import type { Question } from "../../state/api.ts";
import { closedAt } from "../../state/store.ts";
import { Ago } from "../../ui/ago.tsx";
import { Part } from "../../ui/boundary.tsx";
import { isolated } from "../../ui/isolated.ts";
import { Prose } from "../../ui/prose.tsx";
import { ANSWERED_BY } from "../account/channels/channel-words.ts";
import { useDraft } from "../use-draft.ts";
import { useKeptAnswers, useStore } from "../use-store.ts";
import { Permission } from "../views.ts";
import { WriteButton } from "../write-button.tsx";
import { DeliveryLine } from "./delivery-line.tsx";
import { EndedDraft } from "./draft-view.tsx";
import { AgentLink, TaskLink } from "./question-card.tsx";
import { Fallback, QuestionContext } from "./question-context.tsx";
import { OutcomeLine } from "./questions.tsx";
import { LateAnswer, lateAnswer } from "./refused-answer.tsx";
import { useDetails } from "./use-details.ts";

export function EndedQuestion({ question }: { question: Question }) {
  const { id, key_id, task_id, prompt, action, status } = question;
  // Only a question that was read by itself says where its answer came from.
  const details = useDetails(question, true, { alone: status === "answered" });
  const task_exists = useStore(({ all }) => task_id !== null && all.tasks.has(task_id));
  return (
    <article aria-label={prompt} className="card p-4 sm:p-5">
      <p className="text-faint text-sm leading-6">
        <AgentLink id={key_id} />
        {", "}
        <Ago at={question.created_at} />
      </p>
      {action ? (
        <Suspense fallback={<p>Loading…</p>}>
          <Permission question={question} action={action} details={details} />
        </Suspense>
      ) : (
        <Prose text={prompt} className="mt-2 text-lg leading-snug" with_source />
      )}
      {task_id !== null && <TaskLink id={task_id} />}
      {!action && (
        <Part name="context">
          <QuestionContext question={question} details={details} />
        </Part>
      )}
      {status !== "answered" && <Fallback question={question} />}
      {!action && status !== "answered" && <Options question={question} />}
      <div className="mt-4 border-line border-t pt-3">
        <OutcomeLine question={question} />
        <EndedDraft question={question} />
        {!action && status === "answered" && <Options question={question} />}
        <p className="said mt-1.5 text-soft text-sm">
          {howItEnded(details.alone ?? question, task_exists)}
          {/* When it was cancelled is not known. */}
          {status !== "cancelled" && (
            <>
              {", "}
              <Ago at={closedAt(question)} />
            </>
          )}
        </p>
        <DeliveryLine id={id} whole className="mt-1.5" />
        {status === "expired" && !action && <AnswerLate question={question} />}
        <WriteButton id={key_id} variant="plain" className="mt-3" />
      </div>
    </article>
  );
}

/** The options that were offered, apart from the one that was chosen. */
function Options({ question: { options, answer, kind } }: { question: Question }) {
  const others = options.filter((option) => option !== answer);
  if (kind !== "choice" || others.length === 0) return null;
  return (
    <p className="said mt-1.5 text-soft text-sm">
      {answer === null ? "Options: " : "Other options: "}
      {others.map((option, at) => (
        <span key={option}>
          {at > 0 && " · "}
          <bdi dir="auto">{option}</bdi>
        </span>
      ))}
    </p>
  );
}

/** For a question that has expired: ways to send an answer to the agent as a message. */
function AnswerLate({ question }: { question: Question }) {
  const { id, options, allow_other } = question;
  // Also after one of RefusedAnswers was sent.
  useKeptAnswers();
  const [, setSent] = useState(false);
  const sent = lateAnswer(id);
  if (sent !== null) {
    return (
      <p className="mt-3 text-soft text-sm">
        {sent === "" ? (
          "You sent an answer as a message."
        ) : (
          <>
            You sent “
            <bdi dir="auto" className="said font-medium text-ink">
              {sent}
            </bdi>
            ” as a message.
          </>
        )}
      </p>
    );
  }
  return (
    <div className="mt-3 space-y-3">
      {options.length > 0 && (
        <div>
          <p className="text-soft text-sm">Send as a message:</p>
          <div className="mt-1.5 flex flex-wrap gap-2">
            {options.map((answer) => (
              <LateAnswer
                key={answer}
                question={question}
                given={{ answer }}
                why="expired"
                onSent={() => setSent(true)}
              >
                <bdi dir="auto" className="said min-w-0">
                  {answer}
                </bdi>
              </LateAnswer>
            ))}
          </div>
        </div>
      )}
      {(options.length === 0 || allow_other) && (
        <LateText question={question} onSent={() => setSent(true)} />
      )}
    </div>
  );
}

/** Characters of a message, at most: `message` of §10.1. */
const MESSAGE = 4_000;

/** A field for an answer in the person's own words, which is sent as a message. */
function LateText({ question, onSent }: { question: Question; onSent: () => void }) {
  const { value: text, set, forget } = useDraft(`late-text ${question.id}`, question.draft ?? "");
  return (
    <div>
      <textarea
        aria-label="Your answer, as a message"
        dir="auto"
        rows={2}
        maxLength={MESSAGE}
        value={text}
        onChange={({ target }) => set(target.value)}
        placeholder="Your answer"
        className="field-sizing-content max-h-80 min-h-18 w-full resize-none rounded-xl border border-edge bg-surface px-3.5 py-2.5 text-base"
      />
      <LateAnswer
        question={question}
        given={{ answer: text.trim() }}
        why="expired"
        disabled={text.trim() === ""}
        onSent={() => {
          forget();
          onSent();
        }}
        className="mt-2 w-full md:w-auto"
      >
        Send as a message
      </LateAnswer>
    </div>
  );
}

/** How a question ended and, where that is known, by whom and from where. */
function howItEnded(question: Question, task_exists: boolean): string {
  const { status, task_id, action, created_at, expires_at } = question;
  // Only the account can answer.
  if (status === "answered") return `You answered it${fromWhere(question)}`;
  if (action && created_at === expires_at)
    return "It was never asked, since this agent had too many requests: nothing was allowed";
  if (status === "expired")
    return `It expired without an answer${action ? ": nothing was allowed" : ""}`;
  if (action) return "It was decided in the agent's own terminal, or is no longer needed";
  return task_id === null || task_exists
    ? "The agent cancelled it"
    : "The agent cancelled it, or its task was deleted";
}

/** From where an answer came, with a space before it; empty if that is not known. */
function fromWhere({ answered_by, answered_from }: Question): string {
  if (answered_by) {
    const { type, label } = answered_by;
    const name = label === null ? "" : ` (${isolated(label)})`;
    return type === null
      ? ` by a channel that was deleted${name}`
      : ` by ${ANSWERED_BY[type] ?? type}${name}`;
  }
  if (!answered_from) return "";
  const { label, current, api } = answered_from;
  const device =
    label === null ? "a sign-in that has ended" : current ? "this browser" : isolated(label);
  if (api) return ` through the API, with the token of ${device}`;
  return label === null ? " in a browser that has signed out since" : ` in ${device}`;
}
