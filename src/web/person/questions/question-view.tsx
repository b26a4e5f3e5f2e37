/** The view of one question, pending or ended, which links and notifications open. */

import { MessageCircleQuestion } from "lucide-react";
import { Suspense, useEffect, useRef, useState } from "react";
import type { Question } from "../../state/api.ts";
import { closedAt } from "../../state/store.ts";
import { Ago } from "../../ui/ago.tsx";
import { Part } from "../../ui/boundary.tsx";
import { ButtonLink } from "../../ui/button.tsx";
import { BackLink, Empty, Heading, NotConnected, Problem, Skeleton } from "../../ui/parts.tsx";
import { Prose } from "../../ui/prose.tsx";
import { useLoaded } from "../../ui/use-loaded.ts";
import { useKeptAnswers, useSession, useStore } from "../use-store.ts";
import { Permission } from "../views.ts";
import { DeliveryLine } from "./delivery-line.tsx";
import { EndedDraft } from "./draft-view.tsx";
import { LateAnswer, lateAnswer, RefusedAnswers } from "./kept-answers.tsx";
import { AgentLink, TaskLink } from "./question-card.tsx";
import { Fallback, QuestionContext } from "./question-context.tsx";
import { OutcomeLine, Pending } from "./questions.tsx";
import { useDetails } from "./use-details.ts";

export function QuestionView({ id }: { id: string }) {
  const { question, fault } = useQuestion(id);
  const offline = useStore((store) => store.connection() === "offline");
  const { receipts } = useSession();
  const is_found = question !== null;
  useEffect(() => {
    if (is_found) receipts.add(id, "opened");
  }, [is_found, id, receipts]);
  return (
    <>
      <BackLink href="#/questions">Questions</BackLink>
      <Heading>Question</Heading>
      <RefusedAnswers />
      {question ? (
        <OneQuestion question={question} />
      ) : fault?.code === "not_found" ? (
        <Empty icon={MessageCircleQuestion} title="Question not found">
          It may have been deleted with its agent, or belong to another account.
        </Empty>
      ) : offline ? (
        <NotConnected what="The question" />
      ) : fault ? (
        <Problem>{fault.message}</Problem>
      ) : (
        <Skeleton rows={1} label="Loading question" />
      )}
    </>
  );
}

/** The question from the store or, if it is an older one, from the server. */
function useQuestion(id: string) {
  const { api } = useSession();
  const held = useStore(({ all }) => all.questions.get(id));
  const live = useStore((store) => store.connection() === "live");
  // The question may drop out of the store, which has only the newest ones.
  const last = useRef(held);
  last.current = held ?? last.current;
  const { value, fault } = useLoaded(live && last.current === undefined ? id : null, () =>
    api.questions.get.query({ question_id: id }),
  );
  return { question: last.current ?? value, fault };
}

function OneQuestion({ question }: { question: Question }) {
  const waiting = useStore((store) => store.pending().length);
  const others = question.status === "pending" ? waiting - 1 : waiting;
  return (
    <>
      {question.status === "pending" ? (
        <Pending questions={[question]} />
      ) : (
        <Ended question={question} />
      )}
      {others > 0 && (
        <ButtonLink href="#/questions" className="mt-4">
          {others === 1 ? "1 other question is pending" : `${others} other questions are pending`}
        </ButtonLink>
      )}
    </>
  );
}

function Ended({ question }: { question: Question }) {
  const { key_id, task_id, prompt, action } = question;
  const details = useDetails(question, true);
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
      {question.status === "expired" && <Fallback question={question} />}
      <div className="mt-4 border-line border-t pt-3">
        <OutcomeLine question={question} />
        <EndedDraft question={question} />
        <p className="mt-1.5 text-soft text-sm">
          {howItEnded(question, task_exists)}
          {/* When it was cancelled is not known. */}
          {question.status !== "cancelled" && (
            <>
              {", "}
              <Ago at={closedAt(question)} />
            </>
          )}
        </p>
        <DeliveryLine id={question.id} className="mt-1.5" />
        {question.status === "expired" && !action && <AnswerLate question={question} />}
      </div>
    </article>
  );
}

/** For a question that has expired: buttons that send an option to the agent as a message. */
function AnswerLate({ question }: { question: Question }) {
  const { id, key_id, options } = question;
  // Also after one of RefusedAnswers was sent.
  useKeptAnswers();
  const [, setSent] = useState(false);
  const sent = lateAnswer(id);
  if (options.length === 0 || sent !== null) {
    return (
      <>
        {sent !== null && (
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
        )}
        <ButtonLink href={`#/agents/${key_id}/inbox`} className="mt-3">
          {sent === null ? "Write a message instead" : "Write another message"}
        </ButtonLink>
      </>
    );
  }
  return (
    <div className="mt-3">
      <p className="text-soft text-sm">Send as a message:</p>
      <div className="mt-1.5 flex flex-wrap gap-2">
        {options.map((answer) => (
          <LateAnswer
            key={answer}
            question={question}
            given={{ answer }}
            onSent={() => setSent(true)}
          >
            <bdi dir="auto" className="said min-w-0">
              {answer}
            </bdi>
          </LateAnswer>
        ))}
      </div>
      {question.allow_other && (
        <ButtonLink href={`#/agents/${key_id}/inbox`} className="mt-3">
          Write a message instead
        </ButtonLink>
      )}
    </div>
  );
}

/** How a question ended and, where that is known, by whom. */
function howItEnded({ status, task_id, action }: Question, task_exists: boolean): string {
  // Only the account can answer.
  if (status === "answered") return "You answered it";
  if (status === "expired")
    return `It expired without an answer${action ? ": nothing was allowed" : ""}`;
  if (action) return "It was decided in the agent's own terminal, or is no longer needed";
  return task_id === null || task_exists
    ? "The agent cancelled it"
    : "The agent cancelled it, or its task was deleted";
}
