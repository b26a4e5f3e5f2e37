/** The view of one question, pending or ended, which links and notifications open. */

import { MessageCircleQuestion } from "lucide-react";
import { type MouseEvent, Suspense, useEffect, useRef } from "react";
import type { Question } from "../../state/api.ts";
import { ButtonLink } from "../../ui/button.tsx";
import { BackLink, Empty, Heading, NotConnected, Problem, Skeleton } from "../../ui/parts.tsx";
import { useLoaded } from "../../ui/use-loaded.ts";
import { closeQuestion, type Route } from "../route.ts";
import { useKey, useSession, useStore } from "../use-store.ts";
import { EndedQuestion } from "../views.ts";
import { RefusedAnswers } from "./kept-answers.tsx";
import { Pending } from "./questions.tsx";

interface QuestionViewProps {
  readonly id: string;
  /** The view that the question was opened from; null if that is not known. */
  readonly from: Route | null;
}

export function QuestionView({ id, from }: QuestionViewProps) {
  const { question, fault } = useQuestion(id);
  const offline = useStore((store) => store.connection() === "offline");
  const { receipts } = useSession();
  // Once it has ended, it is too late to say how far it got.
  const is_pending = question?.status === "pending";
  useEffect(() => {
    if (is_pending) receipts.add(id, "opened");
  }, [is_pending, id, receipts]);
  return (
    <>
      <Back from={from} />
      <Heading>Question</Heading>
      <RefusedAnswers />
      {question ? (
        <OneQuestion question={question} />
      ) : fault?.code === "not_found" ? (
        <Empty icon={MessageCircleQuestion} title="Question not found">
          Relay keeps the newest 1,000 ended questions of each agent. This one may be older, deleted
          with its agent, or in another account.
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

const SECTION_NAMES: Readonly<Partial<Record<Route["section"], string>>> = {
  tasks: "Tasks",
  search: "Search",
  agents: "Agents",
  account: "Account",
};

/** A link back to the view that the question was opened from. */
function Back({ from }: Pick<QuestionViewProps, "from">) {
  const key = useKey(from?.section === "agents" ? (from.id ?? "") : "");
  const { hash = "#/questions", section = "questions" } = from ?? {};
  const goBack = (event: MouseEvent) => {
    if (!from || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    closeQuestion(hash);
  };
  return (
    <BackLink href={hash} onClick={goBack}>
      {key?.label ?? SECTION_NAMES[section] ?? "Questions"}
    </BackLink>
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
        <Suspense fallback={<Skeleton rows={1} label="Loading question" />}>
          <EndedQuestion question={question} />
        </Suspense>
      )}
      {others > 0 && (
        <ButtonLink href="#/questions" className="mt-4">
          {others === 1 ? "1 other question is pending" : `${others} other questions are pending`}
        </ButtonLink>
      )}
    </>
  );
}
