/** A row of a list that leads to its question: who asked what, and how it ended. */

import type { ReactNode } from "react";
import type { Question } from "../../state/api.ts";
import { closedAt } from "../../state/store.ts";
import { AgoInLink } from "../../ui/ago.tsx";
import { classes } from "../../ui/classes.ts";
import { OneLine } from "../../ui/prose.tsx";
import { labelOf, useKey } from "../use-store.ts";
import { OutcomeLine } from "./questions.tsx";

interface QuestionLinkProps {
  readonly id: string;
  readonly className?: string;
  readonly children: ReactNode;
}

/** A link to a question that is as wide as its row. It must contain no other control. */
export const QuestionLink = ({ id, className, children }: QuestionLinkProps) => (
  <a
    href={`#/questions/${id}`}
    className={classes("block -outline-offset-4 hover:bg-sunken/50", className)}
  >
    {children}
  </a>
);

/** The beginning of a prompt: Markdown in one line, but a request for permission as it is. */
export function PromptLines({ question: { action, prompt } }: { question: Question }) {
  return action ? (
    <span
      dir="ltr"
      translate="no"
      className="said line-clamp-3 whitespace-pre-wrap font-mono text-[0.8125rem]"
    >
      {prompt}
    </span>
  ) : (
    <bdi dir="auto" className="said line-clamp-3">
      <OneLine text={prompt} />
    </bdi>
  );
}

export function QuestionRow({ question }: { question: Question }) {
  const key = useKey(question.key_id);
  return (
    <QuestionLink id={question.id} className="px-4 py-3.5 sm:px-5">
      <span className="flex flex-wrap items-center gap-x-2 text-faint text-sm">
        <bdi className="said font-medium text-soft">{labelOf(key)}</bdi>
        <span className="ml-auto shrink-0">
          <AgoInLink at={closedAt(question)} />
        </span>
      </span>
      <span className="mt-0.5 block">
        <PromptLines question={question} />
      </span>
      <OutcomeLine question={question} short />
    </QuestionLink>
  );
}
